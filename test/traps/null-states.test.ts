/** A busy sandbox shows no status for a second; a quick run is over before it is looked at (interface 4.3, 12). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentMessage, finish, ID, status, userMessage } from '../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

/** The record shows these states, one with each look, then the last for ever. */
function shows(...words: (string | null)[]): void {
  const record = trap.addConversation({ execution_status: words[0] });
  const { before } = trap;
  trap.before = (asked) => {
    if (asked.path === '/api/v1/app-conversations') {
      record['execution_status'] = words.length > 1 ? words.shift() : words[0];
    }
    return before(asked);
  };
}
const outcome = (out: string): unknown => JSON.parse(out.trimEnd().split('\n').at(-1) ?? '');

describe('a status that is null for a short time', () => {
  it('does not end a wait', async () => {
    trap.agentEvents.push(userMessage('do it'), status('running'));
    shows('running', null, null, 'running', null, 'finished');
    const waiting = trap.acs('conv', 'wait', ID, '--json');
    trap.agentEvents.push(finish('done'), status('finished'));
    const { code, out, err } = await waiting;
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'finished' });
  });

  it('does not end a follow', async () => {
    trap.agentEvents.push(userMessage('do it'), status('running'));
    shows('running', null, null, 'running', null, 'running', 'finished');
    const following = trap.acs('conv', 'follow', ID, '--json');
    trap.agentEvents.push(finish('done'), status('finished'));
    const { code, out } = await following;
    expect({ code, outcome: outcome(out) }).toMatchObject({ code: 0, outcome: { status: 'finished' } });
  });

  it('is not shown', async () => {
    shows(null, null, 'running');
    const { out } = await trap.acs('conv', 'show', ID, '--json');
    expect(JSON.parse(out)).toMatchObject({ status: 'running', execution_status: 'running' });
  });
});

describe('the first status of a conversation', () => {
  it('idle does not end conv wait, because the run has not started', async () => {
    trap.agentEvents.push(userMessage('do it'));
    shows('idle', 'idle', 'running', 'running', 'finished');
    const waiting = trap.acs('conv', 'wait', ID, '--json');
    trap.agentEvents.push(status('running'), finish('done'), status('finished'));
    expect(await waiting).toMatchObject({ code: 0 });
  });

  it('finished in the first read ends conv wait', async () => {
    trap.agentEvents.push(userMessage('do it'), finish('done'), status('finished'));
    shows('finished');
    expect(await trap.acs('conv', 'wait', ID)).toMatchObject({ code: 0 });
  });
});

describe('a sandbox in error', () => {
  const BROKEN = { execution_status: null, sandbox_status: 'ERROR', conversation_url: null, session_api_key: null };

  it('for a moment does not end a conv wait that begins in that moment', async () => {
    const record = trap.addConversation({ execution_status: 'running' });
    const good = { ...record };
    const { before } = trap;
    trap.agentEvents.push(userMessage('do it'), status('running'));
    trap.appEvents.push(...trap.agentEvents);
    Object.assign(record, BROKEN);
    const startMs = trap.clock.now();
    trap.before = (asked) => {
      if (trap.clock.now() - startMs > 6_000 && record['sandbox_status'] === 'ERROR') {
        trap.agentEvents.push(finish('done'), status('finished'));
        Object.assign(record, good, { execution_status: 'finished' });
      }
      return before(asked);
    };
    const { code, out, err } = await trap.acs('conv', 'wait', ID, '--json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'finished' });
  });

  it('that lasts ends a conv wait', async () => {
    trap.appEvents.push(userMessage('do it'), status('running'));
    trap.addConversation(BROKEN);
    const { code, out, err } = await trap.acs('conv', 'wait', ID, '--json');
    expect(code, err).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ status: 'failed', reason: { code: 'sandbox-error' } });
  });

  it('at the deadline of a conv wait is the outcome', async () => {
    trap.appEvents.push(userMessage('do it'), status('running'));
    trap.addConversation(BROKEN);
    const { code, err } = await trap.acs('conv', 'wait', ID, '--wait-timeout', '4s');
    expect(code, err).toBe(1);
  });
});

it('a finished run stays finished when its sandbox is paused or deleted', async () => {
  const gone = { execution_status: null, conversation_url: null, session_api_key: null };
  trap.appEvents.push(userMessage('do it'), agentMessage('the answer'), status('finished'));
  for (const sandbox_status of ['PAUSED', 'MISSING']) {
    trap.addConversation({ ...gone, sandbox_status });
    expect(JSON.parse((await trap.acs('conv', 'show', ID, '--json')).out)).toMatchObject({ status: 'finished' });
    expect(await trap.acs('conv', 'wait', ID)).toMatchObject({ code: 0 });
    expect(await trap.acs('conv', 'result', ID)).toMatchObject({ code: 0, out: 'the answer' });
    expect((await trap.acs('conv', 'events', ID)).out).toContain('the answer');
  }
});

it('an unknown status is shown unchanged and does not end conv wait', async () => {
  shows('deleting_soon');
  expect(JSON.parse((await trap.acs('conv', 'show', ID, '--json')).out)).toMatchObject({
    status: 'unknown(deleting_soon)',
  });
  expect(await trap.acs('conv', 'wait', ID, '--wait-timeout', '30s')).toMatchObject({ code: 124 });
});
