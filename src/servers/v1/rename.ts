/** Renames a V1 conversation (interface 4.4). */
import type { Conversation } from '../../domain/conversation.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { renameOverV0 } from '../change-routes.ts';
import type { Links, WebUrl } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { renameOverV1, type TitleChange } from '../quirks/ignored-title.ts';
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
  const before = await getConversation(links, id);
  const change = { from: before.title, to: title };
  const send = (): Promise<AppConversationRecord | null> => patch(links, facts, id, change);
  if (!mayGetTitle(before)) return toConversation((await send()) ?? (await getConversation(links, id)), webUrl);
  const agent = facts.features.rename === 'absent' ? null : agentOf(links, before);
  if (links.mode === 'dry-run') throw new DryRunStop(await plannedRename(links, facts, id, change, agent));
  return toConversation(await renameUntilKept(links, id, title, agent, send), webUrl);
}

async function plannedRename(
  links: Links,
  facts: ProbeFacts,
  id: string,
  change: TitleChange,
  agent: AgentClient | null,
): Promise<DryRunStop['requests']> {
  const record = await plannedRequests(() => patch(links, facts, id, change));
  return [...record, ...(agent === null ? [] : await plannedRequests(() => agent.rename(change.to)))];
}

/** The record from the answer; null where the answer has none. Throws `not-found`. */
async function patch(
  links: Links,
  facts: ProbeFacts,
  id: string,
  change: TitleChange,
): Promise<AppConversationRecord | null> {
  const record = await renameOverV1(links, facts, id, change);
  if (record === null) await renameOverV0(links, facts, id, change.to, () => isThereV1(links, id));
  return record;
}
