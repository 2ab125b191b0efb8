import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FollowItem, FollowOptions } from '../../../src/runs/follow-source.ts';
import type { Server } from '../../../src/servers/server.ts';
import { until } from '../../support/until.ts';
import { connectTo } from '../support/connect.ts';
import { createV1World, ID, SANDBOX_KEY, type V1World } from '../support/v1-world.ts';

let world: V1World;

let server: Server;

beforeEach(async () => {
  world = await createV1World();
  server = await connectTo(world.fake.url, { signal: new AbortController().signal });
  world.addConversation();
});

afterEach(async () => {
  await server.close();
  await world.close();
});

interface Follower {
  items: FollowItem[];
  /** `MessageEvent: hello`, `=running`, `!notice`. */
  lines(): string[];
  /** Resolves when the condition holds for the lines so far. */
  until(condition: (lines: string[]) => boolean): Promise<void>;
  stop(): Promise<void>;
  ended: Promise<void>;
}

function following(options: Partial<FollowOptions> = {}): Follower {
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
  return {
    items,
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
    async stop() {
      stop.abort(new Error('test is over'));
      await ended.catch(() => undefined);
    },
  };
}

function line(item: FollowItem): string {
  if (item.type === 'event') return `${item.event.kind}: ${item.event.text}`;
  if (item.type === 'notice') return `!${item.text}`;
  return `=${item.conversation.status}${item.conversation.reason === null ? '' : ` (${item.conversation.reason.code})`}`;
}

describe('following', () => {
  it('sends the key of the sandbox in the header of the socket, not in its URL', async () => {
    const seen: unknown[] = [];
    world.fake.acceptSocket = (path, headers) =>
      seen.push(path, headers['x-session-api-key'], headers.authorization) > 0;
    const follower = following();
    await follower.until((lines) => lines.includes('=running'));
    expect(seen).toEqual([`/agent/sockets/events/${ID}`, SANDBOX_KEY, undefined]);
    await follower.stop();
  });

  it('falls back to the key in the query only when the header is refused', async () => {
    const paths: string[] = [];
    world.fake.acceptSocket = (path) => {
      paths.push(path);
      return path.includes('session_api_key=');
    };
    const follower = following();
    await follower.until(() => world.fake.sockets.length === 1);
    expect(paths.slice(0, 2).join()).not.toContain(SANDBOX_KEY);
    expect(paths).toHaveLength(3);
    await follower.stop();
  });

  it('keeps the key in the header after it has worked once, however often it fails later', async () => {
    const paths: string[] = [];
    world.fake.acceptSocket = (path) => paths.push(path) === 1;
    const follower = following();
    await follower.until((lines) => lines.includes('=running') && world.fake.sockets.length === 1);
    world.fake.sockets[0]?.terminate();
    await follower.until(() => paths.length >= 6);
    expect(paths.join()).not.toContain(SANDBOX_KEY);
    await follower.stop();
  });
});
