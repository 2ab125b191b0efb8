/**
 * Another title (interface 4.4), such that it stays. Seconds after it has heard of the first message a genuine app
 * server reads the title that the sandbox made up, and writes it into the record as it was before: a title that the
 * sandbox does not know is overwritten (1.11.0 leaves that to the caller; the V0 route of 1.6.0 tells it), and so is one
 * that came while the two were at it. Once that has happened the sandbox is left alone: told of a title it has its
 * server write the record anew, as of now and no longer public.
 */
import { isAppError } from '../../errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { readAppConversation, type AppConversationRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { read, type Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { DryRunStop, plannedRequests } from '../transport/dry-run.ts';
import { agentOf } from './agent.ts';
import { getConversation, noConversation } from './calls.ts';
import { changeOverV1, routeOfV0 } from './change-routes.ts';
import { toConversation, type WebUrl } from './records.ts';
import { quietly } from './settled.ts';

/** The server writes its own title once; more is for one that changes every title, which is told as it is. */
const TRIES = 3;
/** What a conversation is called until its server has made up a title. */
const UNTITLED = /^Conversation [0-9a-f]{5}([0-9a-f]{27})?$/;

export async function renameV1(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  id: string,
  title: string,
): Promise<Conversation> {
  if (links.local)
    return toConversation((await patch(links, facts, id, title)) ?? (await getConversation(links, id)), webUrl);
  const before = await getConversation(links, id);
  const isUntitled = before.title === null || UNTITLED.test(before.title);
  const agent = isUntitled && facts.features.rename !== 'absent' ? agentOf(links, before) : null;
  if (links.mode === 'dry-run') throw new DryRunStop(await plannedRename(links, facts, id, title, agent));
  for (let tries = 1; ; tries++) {
    const answered = await patch(links, facts, id, title);
    if (answered !== null && !isUntitled) return toConversation(answered, webUrl);
    if (answered !== null && agent !== null) await tellSandbox(agent, title);
    const record = await recordNow(links, id, answered);
    if (!isUntitled || record.title === title || tries === TRIES) return toConversation(record, webUrl);
  }
}

/** The title has been taken: where the answer told the record, a look that fails does not make it a failure. */
async function recordNow(
  links: Links,
  id: string,
  answered: AppConversationRecord | null,
): Promise<AppConversationRecord> {
  try {
    return await getConversation(links, id);
  } catch (error) {
    const isPassing = isAppError(error) && error.kind !== 'interrupted' && error.kind !== 'not-found';
    if (answered === null || !isPassing) throw error;
    return answered;
  }
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

/** The record as the server answers with it; null where its answer tells none. Throws `not-found`. */
async function patch(
  links: Links,
  facts: ProbeFacts,
  id: string,
  title: string,
): Promise<AppConversationRecord | null> {
  const record = await patchRecord(links, facts, id, title);
  if (record === null) await patchByV0(links, facts, id, title);
  return record;
}

/** Null where the server takes no title here. Throws `not-found`. */
async function patchRecord(
  links: Links,
  facts: ProbeFacts,
  id: string,
  title: string,
): Promise<AppConversationRecord | null> {
  const isElsewhere = facts.features.rename !== 'present' && facts.dialects.includes('v0');
  // Release 1.4.0 takes only a body with `public` here, and 1.6.0 ignores the title.
  const accept = isElsewhere ? [404, 422] : [404];
  const answer = await changeOverV1(links, 'rename', id, { method: 'PATCH', body: { title }, accept });
  if (answer === null) return null;
  if (answer.status === 404) throw noConversation(id);
  if (answer.status === 422) return await notHere(links);
  const record = read(answer, (body) => readAppConversation(body));
  links.network.redaction.add(record.session_api_key);
  if (record.title !== title) return isElsewhere ? await notHere(links) : record;
  await links.features.learn('rename', 'present');
  return record;
}

async function notHere(links: Links): Promise<null> {
  await links.features.learn('rename', 'absent');
  return null;
}

async function patchByV0(links: Links, facts: ProbeFacts, id: string, title: string): Promise<void> {
  const call = { method: 'PATCH', body: { title }, safe: 'idempotent', accept: [404] } as const;
  const answer = await links.app.request({ ...call, path: routeOfV0(facts, id, 'rename a conversation') });
  if (answer.status === 404) throw noConversation(id);
}

/** After the record: the sandbox has its server read the record and write it back. Nothing of it fails the rename. */
async function tellSandbox(agent: AgentClient, title: string): Promise<void> {
  await quietly(async () => {
    await agent.rename(title);
    return null;
  });
}
