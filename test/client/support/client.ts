/** The client under test: a connection, a transport, a follower, and the failure that a promise rejects with. */
import { afterEach, beforeEach, onTestFinished } from 'vitest';
import { connect } from '../../../src/client/connect.ts';
import type { Server } from '../../../src/client/shared/server.ts';
import type { ConnectOptions } from '../../../src/client/probe.ts';
import { TestClock, until } from '../../support/test-clock.ts';
import { AppError, isAppError } from '../../../src/base/errors.ts';
import type { NewConversation } from '../../../src/domain/new-conversation.ts';
import { startFake, type Asked, type FakeServer, type Reply } from '../../support/server.ts';
import { createV1World, ID, type V1World } from './v1-server.ts';
import type { Call } from '../../../src/client/http/call.ts';
import { Network } from '../../../src/client/http/network.ts';
import { Redaction } from '../../../src/client/http/redaction.ts';
import { Pace } from '../../../src/client/http/time-limits.ts';
import { Transport, type TransportOptions } from '../../../src/client/http/transport.ts';
import { KEY } from '../../support/use-world.ts';
import type { FollowItem, FollowOptions } from '../../../src/runs/follow-source.ts';

/**
 * Pauses are over at once, and the time moves on by them alone: results depend neither on them nor
 * on the machine.
 */
export function quickClock(): TestClock {
  return new TestClock({ movedBy: 'sleeps', startMs: Date.now() });
}

export function connectTo(baseUrl: string, options: Partial<ConnectOptions> = {}): Promise<Server> {
  return connect({
    baseUrl,
    key: 'app-key-0123456789',
    local: false,
    env: {},
    clock: quickClock(),
    signal: new AbortController().signal,
    mode: 'live',
    ...options,
  });
}

// The AppError a promise rejects with; anything else fails the test.

export async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!isAppError(error)) throw error ?? new Error('nothing was thrown');
  return error;
}

// A start with a message and nothing else, changed by the members.

export function newConversation(members: Partial<NewConversation> = {}): NewConversation {
  return {
    api: 'auto',
    message: 'do it',
    image_urls: [],
    repository: null,
    branch: null,
    git_provider: null,
    model: null,
    spec_id: null,
    sandbox_id: null,
    instructions: null,
    mcp_config: null,
    replay: null,
    conversation_id: null,
    secrets: {},
    confirm: null,
    body: {},
    ...members,
  };
}

export interface ConnectedV1 {
  readonly world: V1World;
  readonly server: Server;
  /** Closes the connection and makes another one. */
  reconnect(options: Partial<ConnectOptions>): Promise<void>;
  /** Answers these routes, leaves the others alone. */
  on(routes: Record<string, (asked: Asked) => Reply | null>): void;
}

/**
 * Call it at the top of a test file, which it gives its hooks. The options are read before each
 * test.
 */
export function connectedV1(options: () => Partial<ConnectOptions> = () => ({})): ConnectedV1 {
  let world: V1World;
  let server: Server;
  beforeEach(async () => {
    world = await createV1World();
    server = await connectTo(world.fake.url, options());
    world.fake.asked.length = 0;
  });
  afterEach(async () => {
    await server.close();
    await world.close();
  });
  return {
    get world() {
      return world;
    },
    get server() {
      return server;
    },
    async reconnect(changed) {
      await server.close();
      server = await connectTo(world.fake.url, changed);
    },
    on(routes) {
      world.before = (asked) => routes[`${asked.method} ${asked.path}`]?.(asked) ?? null;
    },
  };
}

/** A port without a listener that the system does not assign. */
export const NOBODY = '127.0.0.1:1';
export const READ: Call = { method: 'GET', path: '/', safe: 'read' };
export const ONCE: Call = { method: 'POST', path: '/', safe: 'once' };

export interface Transports {
  /** It answers `{"ok":true}` until the test sets another answer. */
  readonly fake: FakeServer;
  readonly clock: ReturnType<typeof quickClock>;
  /** A transport to that server with its key. */
  transport(options?: Partial<TransportOptions>): Transport;
}

/** Call it at the top of a test file, which it gives its hooks. */
export function useTransports(): Transports {
  let fake: FakeServer;
  let network: Network;
  let clock: ReturnType<typeof quickClock>;
  beforeEach(async () => {
    fake = await startFake(() => ({ json: { ok: true } }));
    network = new Network({ env: {}, connectTimeoutMs: 5_000, redaction: new Redaction([KEY]) });
    clock = quickClock();
  });
  afterEach(async () => {
    network.close();
    await fake.close();
  });
  return {
    get fake() {
      return fake;
    },
    get clock() {
      return clock;
    },
    transport: (options = {}) =>
      new Transport({
        network,
        baseUrl: fake.url,
        headers: { 'x-session-api-key': KEY },
        pace: new Pace(() => null, clock),
        clock,
        signal: new AbortController().signal,
        mode: 'live',
        refused: ({ status, request }) =>
          Promise.resolve(new AppError('auth', `refused ${status}`, { status, request })),
        ...options,
      }),
  };
}

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
  if (item.type === 'partial') return `~${item.text()}`;
  return `=${item.conversation.status}${item.conversation.reason === null ? '' : ` (${item.conversation.reason.code})`}`;
}
