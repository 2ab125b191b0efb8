/**
 * Lists the V0 conversations of a server that mixes both dialects in its V0 list.
 *
 * Servers:  openhands-ai 1.6.0 and other releases that serve V0 and V1
 * Symptom:  `conv list` misses V0 conversations: the server fills the page with V1 conversations,
 *           cuts it to its length, and continues behind all of them.
 * Evidence: test/client/both/list.test.ts; recording 1.6.0.json, v0.many.list
 * Cost:     0 requests; 1 more where the server rejects the page id
 * Remove:   when servers with V0 are no longer supported
 */
import { isOfKind } from '../../../base/errors.ts';
import type { ConversationInfo } from '../../../protocol/v0/records.ts';
import { isRecord } from '../../../protocol/shape.ts';
import type { Links } from '../../shared/links.ts';
import type { Page } from '../../../domain/pages.ts';
import { listConversationsV0 } from '../calls.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const pageIdOf = (positionV0: string): string =>
  base64(JSON.stringify({ v0: positionV0, v1: '1000000000' }));

/** A page id is JSON in base64 with a position for each dialect; the part of V1 is at its end. */
export async function listOwnV0(
  links: Links,
  pageSize: number,
  page: string | null,
): Promise<Page<ConversationInfo>> {
  const { items, next } = await listConversationsV0(
    links,
    pageSize,
    page ?? pageIdOf(base64('0')),
  ).catch((error: unknown) => {
    if (page !== null || !isOfKind('server', 'usage', 'not-found')(error)) throw error;
    return listConversationsV0(links, pageSize, null);
  });
  return { items: items.filter((info) => info.conversation_version !== 'V1'), next: nextOf(next) };
}

/** Null after the last page of V0: such a server would then start with V0 again. */
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
