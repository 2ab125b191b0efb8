/**
 * Another title (interface 4.4), such that it stays. Seconds after it has heard of a message a genuine app server reads
 * the title that the sandbox made up, and writes it into the record as it was before: a title that the sandbox does not
 * know is overwritten (1.11.0 leaves that to the caller; the V0 route of 1.6.0 tells it), and so is one that came while
 * the two were at it.
 */
import { isAppError } from '../../errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { readAppConversation, type AppConversationRecord } from '../../protocol/v1/records.ts';
import { normalId } from '../ids.ts';
import { read, type Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import { DryRunStop, plannedRequests } from '../transport/dry-run.ts';
import { agentOf } from './agent.ts';
import { getConversation, noConversation } from './calls.ts';
import { toConversation, type WebUrl } from './records.ts';

/** The server writes its own title once; more is for one that changes every title, which is told as it is. */
const TRIES = 3;

export async function renameV1(
  links: Links,
  facts: ProbeFacts,
  webUrl: WebUrl,
  id: string,
  title: string,
): Promise<Conversation> {
  if (links.mode === 'dry-run') throw new DryRunStop(await plannedRename(links, facts, id, title));
  for (let tries = 1; ; tries++) {
    const answered = takesTitles(facts) ? await patchRecord(links, facts, id, title) : null;
    if (answered === null) await patchByV0(links, id, title);
    else if (links.local) return toConversation(answered, webUrl);
    else await tellSandbox(links, answered, title);
    const record = await getConversation(links, id);
    if (record.title === title || tries === TRIES) return toConversation(record, webUrl);
  }
}

async function plannedRename(
  links: Links,
  facts: ProbeFacts,
  id: string,
  title: string,
): Promise<DryRunStop['requests']> {
  if (!takesTitles(facts)) return await plannedRequests(() => patchByV0(links, id, title));
  const record = await plannedRequests(() => patchRecord(links, facts, id, title));
  if (links.local) return record;
  const agent = agentOf(links, await getConversation(links, id));
  return [...record, ...(agent === null ? [] : await plannedRequests(() => agent.rename(title)))];
}

/** Release 1.6.0 ignores the title at its V1 route and takes it at that of V0, which knows V1 ids too. */
function takesTitles(facts: ProbeFacts): boolean {
  return facts.features.includes('delete-conversation') || !facts.dialects.includes('v0');
}

/** Null where the server does not take it here, after all. Throws `not-found`. */
async function patchRecord(
  links: Links,
  facts: ProbeFacts,
  id: string,
  title: string,
): Promise<AppConversationRecord | null> {
  const path = `/api/v1/app-conversations/${encodeURIComponent(normalId(id))}`;
  const call = { method: 'PATCH', path, body: { title }, safe: 'idempotent', accept: [404, 405] } as const;
  const answer = await links.app.request(call);
  if (answer.status === 404) throw noConversation(id);
  if (answer.status >= 300) return null;
  const record = read(answer, (body) => readAppConversation(body));
  links.network.redaction.add(record.session_api_key);
  return record.title === title || !facts.dialects.includes('v0') ? record : null;
}

async function patchByV0(links: Links, id: string, title: string): Promise<void> {
  const path = `/api/conversations/${encodeURIComponent(normalId(id))}`;
  const answer = await links.app.request({ method: 'PATCH', path, body: { title }, safe: 'idempotent', accept: [404] });
  if (answer.status === 404) throw noConversation(id);
}

/** After the record: the sandbox has its server read the record and write it back. Nothing of it fails the rename. */
async function tellSandbox(links: Links, record: AppConversationRecord, title: string): Promise<void> {
  try {
    await agentOf(links, record)?.rename(title);
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
  }
}
