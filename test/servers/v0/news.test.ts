import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeTrap, type FakeTrap } from '../../traps/support/trap.ts';
import { createV0Server, happens, stateChanges, userSays, V0_ID, type V0Server } from '../../traps/support/v0.ts';

let server: V0Server;
let trap: FakeTrap;

beforeEach(async () => {
  server = createV0Server();
  trap = await fakeTrap((asked) => server.handler(asked));
});
afterEach(() => trap.close());

describe('a failure that only the state of the agent reports', () => {
  it.each([
    ['STATUS$ERROR_LLM_AUTHENTICATION', 'ERROR_LLM_AUTHENTICATION', 'error llm authentication'],
    [
      'RuntimeError: Agent reached maximum iteration. Current iteration: 3, max iteration: 3',
      'error',
      'RuntimeError: Agent reached maximum iteration. Current iteration: 3, max iteration: 3',
    ],
  ])('%s is reported with its reason although the record has RUNNING', async (reason, code, text) => {
    stateChanges(server, 'loading');
    userSays(server, 'do it');
    stateChanges(server, 'running');
    stateChanges(server, 'error', reason);
    expect(server.record).toMatchObject({ status: 'RUNNING', runtime_status: 'STATUS$RUNTIME_STARTED' });
    for (const args of [
      ['wait', V0_ID, '--json'],
      ['show', V0_ID, '--exit-status', '--json'],
    ]) {
      const ended = await trap.acs('conv', ...args);
      expect(ended.code).toBe(1);
      expect(JSON.parse(ended.out)).toMatchObject({ status: 'failed', reason: { code, text } });
    }
    expect(await trap.acs('conv', 'follow', V0_ID)).toMatchObject({ code: 1 });
  });

  it('of an earlier message is not the outcome of the newest', async () => {
    userSays(server, 'first');
    stateChanges(server, 'error', 'STATUS$ERROR_LLM_AUTHENTICATION');
    userSays(server, 'second');
    stateChanges(server, 'running');
    const { out } = await trap.acs('conv', 'show', V0_ID, '--json');
    expect(JSON.parse(out)).toMatchObject({ status: 'running', reason: null });
  });
});

describe('an answer in text', () => {
  it('ends a run whose agent state is awaiting user input', async () => {
    userSays(server, 'do it');
    stateChanges(server, 'running');
    happens(server, { source: 'agent', message: 'the answer', action: 'message', args: { content: 'the answer' } });
    stateChanges(server, 'awaiting_user_input');
    expect(await trap.acs('conv', 'wait', V0_ID)).toMatchObject({ code: 0 });
    expect(await trap.acs('conv', 'result', V0_ID)).toMatchObject({ code: 0, out: 'the answer' });
  });
});
