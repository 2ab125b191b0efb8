/** Access to the pages of conversations (a one-time link opens a session), and their viewers. */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../lifecycle/clock.ts';

export const LINK_SECONDS = 60;
export const SESSION_SECONDS = 12 * 3600;

type ViewerState = 'waits' | 'changed' | 'left' | 'service-ends';

export type Pages = ReturnType<typeof createPages>;

export function createPages(clock: Pick<Clock, 'now'>) {
  /** Keys are hashes: a look-up compares hashes, so its time discloses nothing of a token. */
  const tokens = new Map<
    string,
    { kind: 'link' | 'session'; conversationId: string; endsAtMs: number }
  >();
  const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64');
  const create = (kind: 'link' | 'session', conversationId: string, seconds: number): string => {
    const nowMs = clock.now();
    for (const [hash, { endsAtMs }] of tokens) if (endsAtMs <= nowMs) tokens.delete(hash);
    const token = randomBytes(32).toString('base64url');
    tokens.set(hashOf(token), { kind, conversationId, endsAtMs: nowMs + seconds * 1000 });
    return token;
  };
  const has = (kind: 'link' | 'session', conversationId: string, token: string): boolean => {
    const entry = tokens.get(hashOf(token));
    const isOfPage = entry?.kind === kind && entry.conversationId === conversationId;
    return isOfPage && clock.now() < entry.endsAtMs;
  };
  return {
    ...createViewers(),
    /** The token of a link to the page of a conversation: valid once, for `LINK_SECONDS`. */
    createLink: (conversationId: string): string => create('link', conversationId, LINK_SECONDS),
    /** The token of a session; null: the link was used, has expired, or names another page. */
    openSession(conversationId: string, link: string): string | null {
      if (!has('link', conversationId, link)) return null;
      tokens.delete(hashOf(link));
      return create('session', conversationId, SESSION_SECONDS);
    },
    isAllowed: (conversationId: string, session: string | undefined): boolean =>
      session !== undefined && has('session', conversationId, session),
  };
}

function createViewers() {
  const viewers = new Set<(state: ViewerState) => void>();
  let isClosed = false;
  return {
    join() {
      let state: ViewerState = isClosed ? 'service-ends' : 'waits';
      let wake = (): void => undefined;
      const set = (next: ViewerState): void => {
        if (state === 'waits' || state === 'changed') state = next;
        wake();
      };
      viewers.add(set);
      return {
        async next(): Promise<Exclude<ViewerState, 'waits'>> {
          if (state === 'waits') await new Promise<void>((resolve) => (wake = resolve));
          if (state !== 'changed') return state as 'left' | 'service-ends';
          state = 'waits';
          return 'changed';
        },
        leave(): void {
          viewers.delete(set);
          set('left');
        },
      };
    },
    notify(): void {
      for (const set of viewers) set('changed');
    },
    viewers: (): number => viewers.size,
    close(): void {
      isClosed = true;
      for (const set of viewers) set('service-ends');
    },
  };
}
