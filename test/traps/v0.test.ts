/** What V0 hides: failures, old conversations, a replay it cannot read, and that it is busy (interface 3, 12). */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { V0_TIMEOUT_MS } from '../../src/servers/v0/calls.ts';
import { fakeTrap, type FakeTrap, REAL_TIME } from './support/trap.ts';
import { createV0Server, happens, stateChanges, userSays, V0_ID, type V0Server } from './support/v0.ts';

let server: V0Server;
let trap: FakeTrap;

beforeEach(async () => {
  server = createV0Server();
  trap = await fakeTrap((asked) => server.handler(asked));
});
afterEach(() => trap.close());

describe('a replay that the server cannot read', () => {
  const replay = async (): Promise<string> => {
    const file = path.join(trap.dir, 'replay.json');
    await writeFile(file, JSON.stringify([{ action: 'finish', args: { final_thought: 'done' } }]));
    return file;
  };

  it('does not delay a start for ever: the error names the step that hangs, and how to stop it', async () => {
    stateChanges(server, 'loading');
    const { code, out, err } = await trap.acs(
      'conv',
      'new',
      '--no-repo',
      '--replay',
      await replay(),
      '--start-timeout',
      '60s',
      '--json',
    );
    expect(code).toBe(124);
    expect(JSON.parse(out)).toMatchObject({ id: V0_ID, status: 'starting' });
    expect(err).toContain('a V0 server that cannot read a replay reports no error and keeps loading');
    expect(err).toContain(`acs conv stop ${V0_ID}`);
  });

  it('ends conv wait with a notice, or with the code no-events', async () => {
    stateChanges(server, 'loading');
    const { code, out } = await trap.acs('conv', 'follow', V0_ID, '--fail-on-stall', '1m', '--json');
    expect(code).toBe(124);
    expect(out).toContain('no-events');
    expect(await trap.acs('conv', 'result', V0_ID)).toMatchObject({ code: 5 });
  });
});

describe('a V0 server that is busy with another conversation', () => {
  it('exits 10 when it does not answer, with the limit and the flag that raises it', async () => {
    trap.fake.handler = (asked) => (asked.path.endsWith('/events') ? { silence: true } : server.handler(asked));
    // Long enough for what is answered, also on a busy machine.
    const { code, err } = await trap.invoke({
      args: ['conv', 'show', V0_ID, '--request-timeout', '3s'],
      clock: REAL_TIME,
    });
    expect(code).toBe(10);
    expect(err).toContain('sent nothing for 3 s');
    expect(err).toContain('raise --request-timeout');
  });

  it('has a longer request time-out than other servers', () => {
    expect(V0_TIMEOUT_MS).toBeGreaterThanOrEqual(120_000);
  });
});

describe('the cost', () => {
  const steps = (accumulated_cost: number): void =>
    happens(server, {
      source: 'agent',
      message: '',
      action: 'think',
      args: {},
      llm_metrics: { accumulated_cost, accumulated_token_usage: { prompt_tokens: 200, completion_tokens: 40 } },
    });
  const shown = async (): Promise<unknown> => {
    const { cost_usd, tokens } = JSON.parse((await trap.acs('conv', 'show', V0_ID, '--json')).out) as {
      cost_usd: unknown;
      tokens: unknown;
    };
    return [cost_usd, tokens];
  };

  it('is the sum over all messages, also before the agent has started on the next', async () => {
    userSays(server, 'one');
    steps(0.001);
    steps(0.002);
    userSays(server, 'two');
    expect(await shown()).toEqual([0.002, { input: 200, output: 40 }]);
    steps(0.003);
    expect(await shown()).toEqual([0.003, { input: 200, output: 40 }]);
  });

  it('is in the outcome of conv wait, from the newest event with metrics', async () => {
    userSays(server, 'one');
    stateChanges(server, 'running');
    steps(0.001);
    steps(0.002);
    stateChanges(server, 'finished');
    const { code, out, err } = await trap.acs('conv', 'wait', V0_ID, '--json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ type: 'outcome', status: 'finished', cost_usd: 0.002 });
  });

  it('is null after the server has restarted its count, and never decreases', async () => {
    userSays(server, 'one');
    steps(0.0018);
    for (const state of ['stopped', 'loading', 'awaiting_user_input']) stateChanges(server, state);
    expect(await shown()).toEqual([0.0018, { input: 200, output: 40 }]);
    userSays(server, 'two');
    steps(0.0009);
    expect(await shown()).toEqual([null, null]);
    userSays(server, 'three');
    steps(0.0027);
    expect(await shown()).toEqual([null, null]);
  });
});

describe('an agent that was stopped while a confirmation was pending, and resumed', () => {
  const asksThenIsWoken = (): void => {
    userSays(server, 'do it');
    stateChanges(server, 'running');
    stateChanges(server, 'awaiting_user_confirmation');
    happens(server, { source: 'agent', message: '', action: 'run', args: { command: 'rm x' } });
    happens(server, { source: 'agent', message: 'stopped', observation: 'error', content: 'stopped', extras: {} });
    for (const state of ['stopped', 'loading', 'awaiting_user_input']) stateChanges(server, state);
  };

  it.each(['wait', 'follow'])('makes conv %s exit 8', async (verb) => {
    asksThenIsWoken();
    const { code, out, err } = await trap.acs('conv', verb, V0_ID, '--wait-timeout', '10m', '--json');
    expect(code, err).toBe(8);
    const outcome: unknown = JSON.parse(verb === 'wait' ? out : (out.trimEnd().split('\n').at(-1) ?? ''));
    expect(outcome).toMatchObject({ status: 'idle', waiting_for: 'user', reason: { code: 'awaiting-user' } });
  });

  /** The agent answers at this reading of the events. */
  const answersAt = (reading: number): void => {
    let readings = 0;
    server.before = ({ path: route }) => {
      if (!route.endsWith('/events') || ++readings !== reading) return null;
      stateChanges(server, 'running');
      happens(server, { source: 'agent', message: 'done', action: 'message', args: { content: 'done' } });
      stateChanges(server, 'awaiting_user_input');
      return null;
    };
  };

  it('has the outcome of the next message, not of the action before', async () => {
    asksThenIsWoken();
    userSays(server, 'go on');
    stateChanges(server, 'running');
    answersAt(20);
    expect(await trap.acs('conv', 'wait', V0_ID, '--wait-timeout', '10m')).toMatchObject({ code: 0 });
  });

  it('is followed when it processes a message shortly after its status', async () => {
    asksThenIsWoken();
    userSays(server, 'go on');
    stateChanges(server, 'awaiting_user_input');
    answersAt(4);
    expect(await trap.acs('conv', 'wait', V0_ID, '--wait-timeout', '10m')).toMatchObject({ code: 0 });
  });
});

describe('an unknown id', () => {
  it('exits 5 when the server answers null with 200, and creates nothing', async () => {
    server.before = ({ method, path: route }) =>
      method === 'GET' && route === `/api/conversations/${V0_ID}` ? { json: null } : null;
    for (const args of [['show'], ['follow'], ['events'], ['result'], ['send', 'hello'], ['stop']]) {
      const [verb = '', ...rest] = args;
      expect(await trap.acs('conv', verb, V0_ID, ...rest)).toMatchObject({ code: 5 });
    }
    expect(trap.fake.asked.every(({ method, path: route }) => method === 'GET' && !route.includes('socket'))).toBe(
      true,
    );
  });
});

describe('the diff of a workspace with many new files', () => {
  const names = Array.from({ length: 150 }, (_, index) => `new-${index}.txt`);
  beforeEach(() => {
    server.before = ({ path: route, query }) => {
      if (route.endsWith('/git/changes')) return { json: names.map((name) => ({ path: name, status: 'A' })) };
      return route.endsWith('/git/diff') ? { json: { original: '', modified: query.get('path') } } : null;
    };
  });
  const diff = (flags: string[], columns?: number) =>
    trap.invoke({ args: ['conv', 'diff', V0_ID, '--stat', ...flags], ...(columns === undefined ? {} : { columns }) });

  it('conv diff in a pipe prints one notice before it compares them', async () => {
    const { code, out, err } = await diff(['--json']);
    expect([code, (JSON.parse(out) as { items: unknown[] }).items]).toMatchObject([0, { length: names.length }]);
    const notices = err.split('\n').filter((line) => line.includes('150 files'));
    expect(notices).toEqual(['{"notice":"comparing 150 files, each with a request of its own"}']);
  });

  it('conv diff on a terminal shows how many are compared and how long the rest takes', async () => {
    const { code, err } = await diff([], 100);
    expect(code).toBe(0);
    expect(err).toMatch(/\d+ of 150 files compared, about \d+s left/);
  });
});
