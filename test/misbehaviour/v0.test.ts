/**
 * What V0 hides: failures, old conversations, a replay it cannot read, and that it is busy
 * (interface 3, 12).
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { clockFrom } from '../../src/base/clock.ts';
import { LIMITS_MS } from '../../src/client/http/time-limits.ts';
import { idleClock, TestClock } from '../support/test-clock.ts';
import { happens, stateChanges, userSays, useV0, V0_ID } from '../support/use-scripted.ts';

const clock = idleClock(30);
const at = useV0({ clock: () => clock });

describe('a replay that the server cannot read', () => {
  it('does not delay a start for ever: its last status is printed with the exit code of a deadline', async () => {
    stateChanges(at.v0, 'loading');
    const file = await at.file('replay.json', [
      { action: 'finish', args: { final_thought: 'done' } },
    ]);
    await at.ends(`conv new --no-repo --replay ${file} --wait-timeout 60s --json`, {
      code: 124,
      out: { id: V0_ID, status: 'starting' },
      err: V0_ID,
    });
  });

  it('ends conv wait with a notice, or with the code no-events', async () => {
    stateChanges(at.v0, 'loading');
    await at.ends(`conv follow ${V0_ID} --fail-on-stall 1m --json`, {
      code: 124,
      out: /no-events/,
    });
    await at.ends(`conv result ${V0_ID}`, { code: 5 });
  });
});

describe('a V0 server that is busy with another conversation', () => {
  it('exits 10 when it does not answer, with the limit and the flag that raises it', async () => {
    at.v0.before = ({ path }) => (path.endsWith('/events') ? { silence: true } : null);
    // Long enough for what is answered, also on a busy machine.
    await at.ends(`conv show ${V0_ID} --request-timeout 3s`, {
      clock: clockFrom(() => Date.now()),
      code: 10,
      err: ['sent nothing for 3 s', 'raise --request-timeout'],
    });
  });

  it('has a longer request time-out than other servers', () => {
    expect(LIMITS_MS.requestV0).toBeGreaterThanOrEqual(120_000);
  });
});

describe('the cost', () => {
  const steps = (accumulated_cost: number): void =>
    happens(at.v0, {
      source: 'agent',
      message: '',
      action: 'think',
      args: {},
      llm_metrics: {
        accumulated_cost,
        accumulated_token_usage: { prompt_tokens: 200, completion_tokens: 40 },
      },
    });
  const shown = async (): Promise<unknown> => {
    const { cost_usd, tokens } = await at.json(`conv show ${V0_ID}`);
    return [cost_usd, tokens];
  };

  it('is the sum over all messages, also before the agent has started on the next', async () => {
    userSays(at.v0, 'one');
    steps(0.001);
    steps(0.002);
    userSays(at.v0, 'two');
    expect(await shown()).toEqual([0.002, { input: 200, output: 40 }]);
    steps(0.1 + 0.2);
    expect(await shown()).toEqual([0.3, { input: 200, output: 40 }]);
  });

  it('is in the outcome of conv wait, from the newest event with metrics', async () => {
    userSays(at.v0, 'one');
    stateChanges(at.v0, 'running');
    steps(0.001);
    steps(0.002);
    stateChanges(at.v0, 'finished');
    await at.ends(`conv wait ${V0_ID} --json`, {
      out: { type: 'outcome', status: 'finished', cost_usd: 0.002 },
    });
  });

  it('is null after the server has restarted its count, and never decreases', async () => {
    userSays(at.v0, 'one');
    steps(0.0018);
    for (const state of ['stopped', 'loading', 'awaiting_user_input']) stateChanges(at.v0, state);
    expect(await shown()).toEqual([0.0018, { input: 200, output: 40 }]);
    userSays(at.v0, 'two');
    steps(0.0009);
    expect(await shown()).toEqual([null, null]);
    userSays(at.v0, 'three');
    steps(0.0027);
    expect(await shown()).toEqual([null, null]);
  });
});

describe('an agent that was stopped while a confirmation was pending, and resumed', () => {
  const asksThenIsWoken = (): void => {
    userSays(at.v0, 'do it');
    stateChanges(at.v0, 'running');
    stateChanges(at.v0, 'awaiting_user_confirmation');
    happens(at.v0, { source: 'agent', message: '', action: 'run', args: { command: 'rm x' } });
    happens(at.v0, {
      source: 'agent',
      message: 'stopped',
      observation: 'error',
      content: 'stopped',
      extras: {},
    });
    for (const state of ['stopped', 'loading', 'awaiting_user_input']) stateChanges(at.v0, state);
  };

  it.each(['wait', 'follow'])('makes conv %s exit 8', async (verb) => {
    asksThenIsWoken();
    const { out } = await at.ends(`conv ${verb} ${V0_ID} --wait-timeout 10m --json`, { code: 8 });
    const outcome: unknown = JSON.parse(
      verb === 'wait' ? out : (out.trimEnd().split('\n').at(-1) ?? ''),
    );
    expect(outcome).toMatchObject({
      status: 'idle',
      waiting_for: 'user',
      reason: { code: 'awaiting-user' },
    });
  });

  /** The agent answers at this reading of the events. */
  const answersAt = (reading: number): void => {
    let readings = 0;
    at.v0.before = ({ path: route }) => {
      if (!route.endsWith('/events') || ++readings !== reading) return null;
      stateChanges(at.v0, 'running');
      happens(at.v0, {
        source: 'agent',
        message: 'done',
        action: 'message',
        args: { content: 'done' },
      });
      stateChanges(at.v0, 'awaiting_user_input');
      return null;
    };
  };

  it('has the outcome of the next message, not of the action before', async () => {
    asksThenIsWoken();
    userSays(at.v0, 'go on');
    stateChanges(at.v0, 'running');
    answersAt(20);
    await at.ends(`conv wait ${V0_ID} --wait-timeout 10m`, {});
  });

  it('is followed when it processes a message shortly after its status', async () => {
    asksThenIsWoken();
    userSays(at.v0, 'go on');
    stateChanges(at.v0, 'awaiting_user_input');
    answersAt(4);
    await at.ends(`conv wait ${V0_ID} --wait-timeout 10m`, {});
  });
});

describe('an unknown id', () => {
  it('exits 5 when the server answers null with 200, and creates nothing', async () => {
    at.v0.before = ({ method, path: route }) =>
      method === 'GET' && route === `/api/conversations/${V0_ID}` ? { json: null } : null;
    for (const args of [
      ['show'],
      ['follow'],
      ['events'],
      ['result'],
      ['send', 'hello'],
      ['stop'],
    ]) {
      const [verb = '', ...rest] = args;
      await at.ends(['conv', verb, V0_ID, ...rest], { code: 5 });
    }
    expect(
      at.server.asked.every(
        ({ method, path: route }) => method === 'GET' && !route.includes('socket'),
      ),
    ).toBe(true);
  });
});

describe('the diff of a workspace with many new files', () => {
  const names = Array.from({ length: 150 }, (_, index) => `new-${index}.txt`);
  beforeEach(() => {
    at.v0.before = ({ path: route, query }) => {
      if (route.endsWith('/git/changes'))
        return { json: names.map((name) => ({ path: name, status: 'A' })) };
      return route.endsWith('/git/diff')
        ? { json: { original: '', modified: query.get('path') } }
        : null;
    };
  });
  // The pauses between so many requests are over at once.
  const quick = () => ({ clock: new TestClock({ movedBy: 'sleeps', startMs: Date.now() }) });

  it('conv diff on a terminal shows how many are compared, and prints nothing of it elsewhere', async () => {
    const piped = await at.ends(`conv diff ${V0_ID} --stat --json`, {
      ...quick(),
      hides: 'compar',
    });
    expect((JSON.parse(piped.out) as { items: unknown[] }).items).toHaveLength(150);
    await at.ends(`conv diff ${V0_ID} --stat`, {
      ...quick(),
      columns: 100,
      err: /\d+ of 150 files compared/,
    });
  });
});
