/**
 * Lists the V0 conversations of a server that mixes both dialects in its V0 list.
 *
 * Servers:  openhands-ai 1.6.0 and other releases that serve V0 and V1
 * Symptom:  `conv list` misses V0 conversations: the server fills the page with V1 conversations, cuts it to its
 *           length, and continues behind all of them.
 * Evidence: test/servers/both/list.test.ts; recording 1.6.0.json, v0.many.list
 * Cost:     0 requests; 1 more where the server rejects the page id
 * Remove:   when servers with V0 are no longer supported
 */
import { isAppError } from '../../errors.ts';
import type { ConversationInfo } from '../../protocol/v0/records.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { Links } from '../links.ts';
import type { Page } from '../../domain/pages.ts';
import { listConversationsV0 } from '../v0/calls.ts';

const FIRST = encoded('0');
/** A position after the last V1 conversation of any server. */
const NONE_OF_V1 = '1000000000';

/**
 * The V0 conversations of a server with both dialects. It adds as many of V1 to each page as its limit allows,
 * cuts the page to the limit and continues after all of them: the omitted ones never come. So the page is requested
 * with the part of V1 at its end; its id is JSON in base64 with a position for each dialect.
 */
export async function listOwnV0(links: Links, pageSize: number, page: string | null): Promise<Page<ConversationInfo>> {
  const found = await firstOrNext(links, pageSize, page);
  return { items: found.items.filter((info) => info.conversation_version !== 'V1'), next: nextOf(found.next) };
}

async function firstOrNext(links: Links, pageSize: number, page: string | null): Promise<Page<ConversationInfo>> {
  if (page !== null) return await listConversationsV0(links, pageSize, page);
  try {
    return await listConversationsV0(links, pageSize, pageIdOf(FIRST));
  } catch (error) {
    // A release with page ids of another form.
    if (!isAppError(error) || !['server', 'usage', 'not-found'].includes(error.kind)) throw error;
    return await listConversationsV0(links, pageSize, null);
  }
}

/** Null once V0 has no more: such a server would then start with V0 again. */
function nextOf(given: string | null): string | null {
  if (given === null) return null;
  try {
    const position: unknown = JSON.parse(Buffer.from(given, 'base64').toString('utf8'));
    if (!isRecord(position) || !('v0' in position)) return given;
    return typeof position['v0'] === 'string' ? pageIdOf(position['v0']) : null;
  } catch {
    return given;
  }
}

function pageIdOf(position: string): string {
  return encoded(JSON.stringify({ v0: position, v1: NONE_OF_V1 }));
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}
