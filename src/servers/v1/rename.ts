/** Renames a V1 conversation (interface 4.4). */
import type { Conversation } from '../../domain/conversation.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { renameOverV0 } from '../change-routes.ts';
import type { Links, WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { renameOverV1 } from '../quirks/ignored-title.ts';
import { mayGetTitle, renameUntilKept } from '../quirks/overwritten-title-v1.ts';
import { DryRunStop, plannedRequests } from '../transport/dry-run.ts';
import { agentOf } from './agent.ts';
import { getConversation, isThereV1 } from './calls.ts';
import { toConversation } from './records.ts';

export async function renameV1(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  id: string,
  title: string,
): Promise<Conversation> {
  const send = (): Promise<AppConversationRecord | null> => patch(links, facts, id, title);
  const before = await getConversation(links, id);
  if (!mayGetTitle(before)) return toConversation((await send()) ?? (await getConversation(links, id)), webUrl);
  const agent = facts.features.rename === 'absent' ? null : agentOf(links, before);
  if (links.mode === 'dry-run') throw new DryRunStop(await plannedRename(links, facts, id, title, agent));
  return toConversation(await renameUntilKept(links, id, title, agent, send), webUrl);
}

async function plannedRename(
  links: Links,
  facts: ProbeFacts,
  id: string,
  title: string,
  agent: AgentClient | null,
): Promise<DryRunStop['requests']> {
  const record = await plannedRequests(() => patch(links, facts, id, title));
  return [...record, ...(agent === null ? [] : await plannedRequests(() => agent.rename(title)))];
}

/** The record from the answer; null where the answer has none. Throws `not-found`. */
async function patch(
  links: Links,
  facts: ProbeFacts,
  id: string,
  title: string,
): Promise<AppConversationRecord | null> {
  const record = await renameOverV1(links, facts, id, title);
  if (record === null) await renameOverV0(links, facts, id, title, () => isThereV1(links, id));
  return record;
}
