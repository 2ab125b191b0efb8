import { onTestFinished } from 'vitest';
import type { FollowItem, FollowOptions } from '../../../src/runs/follow-source.ts';
import type { Server } from '../../../src/client/shared/server.ts';
import { until } from '../../support/until.ts';
import { ID } from './v1-world.ts';

export interface Follower {
  /** `MessageEvent: hello`, `=running`, `!notice`. */
  lines(): string[];
  /** Resolves when the condition holds for the lines so far. */
  until(condition: (lines: string[]) => boolean): Promise<void>;
  ended: Promise<void>;
}

/** Follows the conversation of the V1 server until the end of the test, and keeps what it gets. */
export function following(server: Server, options: Partial<FollowOptions> = {}): Follower {
  const stop = new AbortController();
  const items: FollowItem[] = [];
  const lines = (): string[] => items.map(line);
  const run = async (): Promise<void> => {
    for await (const item of server.conversations.follow(ID, { signal: stop.signal, ...options })) {
      items.push(item);
    }
  };
  const ended = run();
  ended.catch(() => undefined);
  onTestFinished(async () => {
    stop.abort(new Error('test is over'));
    await ended.catch(() => undefined);
  });
  return {
    lines,
    ended,
    async until(condition) {
      let end: { error?: unknown } | null = null;
      ended.then(
        () => (end = {}),
        (error: unknown) => (end = { error }),
      );
      await until(() => {
        if (condition(lines())) return true;
        if (end !== null) throw end.error ?? new Error(`ended before: ${lines().join(' | ')}`);
        return false;
      });
    },
  };
}

function line(item: FollowItem): string {
  if (item.type === 'event') return `${item.event.kind}: ${item.event.text}`;
  if (item.type === 'notice') return `!${item.text}`;
  return `=${item.conversation.status}${item.conversation.reason === null ? '' : ` (${item.conversation.reason.code})`}`;
}
