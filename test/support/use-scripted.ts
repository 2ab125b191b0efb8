/** The command line at a scripted server: V1, V0, or one that accepts every request and follows only some of them (loose-server.ts). */
import { beforeEach } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { recordings, v1Server, type V1Server } from '../client/support/v1-server.ts';
import { idleClock } from './test-clock.ts';
import { useWorld, type Suite, type SuiteOptions } from './use-world.ts';
import {
  looseServer,
  type LooseOptions,
  type LooseServer,
} from '../client/support/loose-server.ts';
import { NOT_FOUND, type Asked, type Handler, type Reply } from './server.ts';

export type V1Suite = Suite & { readonly v1: V1Server };

/**
 * For the enclosing suite. Each test begins with a server without conversations and without
 * sandboxes.
 */
export function useV1({
  release,
  ...options
}: Pick<SuiteOptions, 'clock' | 'noun'> & { release?: '1.11.0' | '1.6.0' } = {}): V1Suite {
  let v1: V1Server;
  const at = useWorld({ ...options, script: (asked) => v1.handler(asked) });
  beforeEach(() => {
    v1 = v1Server(() => at.server.url, release);
    v1.sandboxes = new Map();
  });
  return Object.defineProperty(at, 'v1', { get: () => v1 }) as V1Suite;
}

/**
 * Its commands and the test share a clock that passes only while this process has nothing to do,
 * and then 30 times as fast as on the wall: a server may be 30 s late.
 */
export function useIdleV1(): V1Suite & { clock: Clock } {
  const clock = idleClock(30);
  return Object.assign(useV1({ clock: () => clock }), { clock });
}

/** For the enclosing suite. Each test begins with a conversation without events. */
export function useV0(
  options: Pick<SuiteOptions, 'clock' | 'noun'> = {},
): Suite & { readonly v0: V0Server } {
  let v0: V0Server;
  const at = useWorld({ ...options, script: (asked) => v0.handler(asked) });
  beforeEach(() => {
    v0 = createV0Server();
  });
  return Object.defineProperty(at, 'v0', { get: () => v0 }) as Suite & { readonly v0: V0Server };
}

export interface LooseSuite extends Suite {
  readonly loose: LooseServer;
  readonly clock: Clock;
  /** Replaces the server of the test. */
  serve(options: LooseOptions): void;
  /** Starts a conversation. */
  start(message: string, ...flags: string[]): Promise<{ id: string; sandbox: string }>;
  /** Starts so many conversations that share one sandbox and have ended. */
  sharing(count: number): Promise<{ ids: string[]; sandbox: string }>;
  /** The DELETE requests to paths that begin with this. */
  deletions(route: string): string[];
}

/**
 * For the enclosing suite. Each test begins with a server without conversations, of which acs knows
 * nothing.
 */
export function useLoose(options: LooseOptions = {}): LooseSuite {
  const clock = idleClock(30);
  let loose: LooseServer;
  const world = useWorld({
    clock: () => clock,
    configPer: 'test',
    script: (asked) => loose.handler(asked),
  });
  const at = Object.assign(world, {
    clock,
    serve: (changed: LooseOptions) => void (loose = looseServer(() => world.server.url, changed)),
    async start(message: string, ...flags: string[]) {
      const line = ['conv', 'new', message, '--no-repo', ...flags];
      const { id, sandbox_id } = await world.json<{ id: string; sandbox_id: string }>(line);
      return { id, sandbox: sandbox_id };
    },
    async sharing(count: number) {
      const { id, sandbox } = await at.start('hello', '--wait');
      const ids = [id];
      while (ids.length < count)
        ids.push((await at.start('hello', '--wait', '--sandbox', sandbox)).id);
      return { ids, sandbox };
    },
    deletions: (route: string) =>
      world.server.lines().filter((line) => line.startsWith(`DELETE ${route}`)),
  });
  beforeEach(() => at.serve(options));
  return Object.defineProperty(at, 'loose', { get: () => loose }) as typeof at & LooseSuite;
}

export interface ScriptedRun {
  at: V1Suite;
  posted: Asked[];
  /** Answers what is posted. */
  reply: (asked: Asked) => Reply;
  /** The run has this status in its record and in its sandbox, and these events. */
  stands(word: string, ...events: Record<string, unknown>[]): void;
  /** A reply after which the run goes on. */
  took(): Reply;
  /** As a server answers that still has a run. */
  refused: Reply;
}

export function useScriptedRun(options: Parameters<typeof useV1>[0] = {}): ScriptedRun {
  const at = useV1({ noun: 'conv', ...options });
  const run: ScriptedRun = {
    at,
    posted: [],
    reply: () => ({ json: { success: true } }),
    stands(word, ...events) {
      at.v1.addConversation({ execution_status: word });
      at.v1.agentState['execution_status'] = word;
      at.v1.agentEvents = events;
    },
    took() {
      at.v1.agentState['execution_status'] = 'running';
      return { json: { success: true } };
    },
    refused: {
      status: 409,
      json: { detail: 'Conversation already running. Wait for completion or pause first.' },
    },
  };
  beforeEach(() => {
    run.posted = [];
    run.reply = () => ({ json: { success: true } });
    at.v1.before = (asked) => {
      if (asked.method !== 'POST') return null;
      run.posted.push(asked);
      return run.reply(asked);
    };
  });
  return run;
}

// A V0 server in the shapes of release 1.6.0, with one conversation that a test moves by hand.

export const older = recordings('1.6.0');
export const V0_ID = 'c3722f6b04ea4a4b8883a7dd7563356d';

export interface V0Server {
  record: Record<string, unknown>;
  events: Record<string, unknown>[];
  /** What the list shows. */
  listed: Record<string, unknown>[];
  /** Called before the routes; null: the routes answer. */
  before: (asked: Asked) => Reply | Promise<Reply> | null;
  handler: Handler;
}

export function createV0Server(): V0Server {
  const server: V0Server = {
    record: {
      ...(older.body('v0.error.401.record') as Record<string, unknown>),
      conversation_id: V0_ID,
      url: `/api/conversations/${V0_ID}`,
    },
    events: [],
    listed: [],
    before: () => null,
    handler: (asked) => server.before(asked) ?? answer(server, asked),
  };
  server.listed = [server.record];
  return server;
}

function answer({ record, events, listed }: V0Server, { method, path, query }: Asked): Reply {
  switch (`${method} ${path}`) {
    case 'GET /api/options/config':
      return older.reply('probe.options-config');
    case 'GET /api/conversations':
      return { json: { results: listed, next_page_id: null } };
    case 'POST /api/conversations':
      return {
        json: {
          status: 'ok',
          conversation_id: V0_ID,
          message: null,
          conversation_status: 'STARTING',
        },
      };
    case `GET /api/conversations/${V0_ID}`:
      return { json: record };
    case `GET /api/conversations/${V0_ID}/events`: {
      const start = Number(query.get('start_id') ?? 0);
      const end = Number(query.get('end_id') ?? Infinity);
      const limit = Number(query.get('limit') ?? 20);
      const found = events.filter(({ id }) => Number(id) >= start && Number(id) <= end);
      if (query.get('reverse') === 'true') found.reverse();
      return { json: { events: found.slice(0, limit), has_more: found.length > limit } };
    }
    default:
      return NOT_FOUND;
  }
}

/** Its number is its place among the events. */
export function happens(server: V0Server, members: Record<string, unknown>): void {
  const id = server.events.length;
  server.events.push({
    id,
    timestamp: `2026-11-21T10:30:${String(id % 60).padStart(2, '0')}.000000`,
    ...members,
  });
}

export function stateChanges(server: V0Server, agent_state: string, reason = ''): void {
  happens(server, {
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state, reason },
  });
}

export function userSays(server: V0Server, content: string): void {
  happens(server, {
    source: 'user',
    message: content,
    action: 'message',
    args: { content, image_urls: [] },
  });
}
