/**
 * Who may read the page of a conversation: a one-time link opens a session in one browser, and a session allows the
 * page of that conversation alone. Both are random, and kept in memory as hashes: a restart of the service ends them.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../lifecycle/clock.ts';

export const LINK_SECONDS = 60;
export const SESSION_SECONDS = 12 * 3600;

/** The oldest are dropped. */
const MOST_LINKS = 100;
const MOST_SESSIONS = 1000;

export interface PageAccess {
  /** The token of a link to the page of a conversation: valid once, for `LINK_SECONDS`. */
  createLink(conversationId: string): string;
  /** The token of a new session, for that of a link; null: it was used, is too old, or is of another conversation. */
  openSession(conversationId: string, link: string): string | null;
  isAllowed(conversationId: string, session: string | undefined): boolean;
}

export function createPageAccess(clock: Pick<Clock, 'now'>): PageAccess {
  const links = createTokens(clock, LINK_SECONDS, MOST_LINKS);
  const sessions = createTokens(clock, SESSION_SECONDS, MOST_SESSIONS);
  return {
    createLink: (id) => links.create(id),
    openSession(id, link) {
      if (!links.isFor(id, link)) return null;
      links.remove(link);
      return sessions.create(id);
    },
    isAllowed: (id, session) => session !== undefined && sessions.isFor(id, session),
  };
}

interface Tokens {
  create(conversationId: string): string;
  isFor(conversationId: string, token: string): boolean;
  remove(token: string): void;
}

function createTokens(clock: Pick<Clock, 'now'>, seconds: number, most: number): Tokens {
  /** By hash, oldest first. A look-up compares hashes, so its time discloses nothing of a token. */
  const known = new Map<string, { conversationId: string; endsAtMs: number }>();
  return {
    create(conversationId) {
      for (const [hash, { endsAtMs }] of known) if (endsAtMs <= clock.now()) known.delete(hash);
      const [oldest] = known.keys();
      if (known.size >= most && oldest !== undefined) known.delete(oldest);
      const token = randomBytes(32).toString('base64url');
      known.set(hashOf(token), { conversationId, endsAtMs: clock.now() + seconds * 1000 });
      return token;
    },
    isFor(conversationId, token) {
      const found = known.get(hashOf(token));
      return found !== undefined && found.conversationId === conversationId && clock.now() < found.endsAtMs;
    },
    remove(token) {
      known.delete(hashOf(token));
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
