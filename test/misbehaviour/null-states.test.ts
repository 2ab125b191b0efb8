/**
 * A busy sandbox shows no status for a second; a quick run is over before it is looked at
 * (interface 4.3, 12).
 */
import { describe, expect, it } from 'vitest';
import { agentMessage, finish, ID, status, userMessage } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

const at = useIdleV1();

/** The record shows these states, one with each look, then the last for ever. */
function shows(...words: (string | null)[]): void {
  const record = at.v1.addConversation({ execution_status: words[0] });
  const { before } = at.v1;
  at.v1.before = (asked) => {
    if (asked.path === '/api/v1/app-conversations') {
      record['execution_status'] = words.length > 1 ? words.shift() : words[0];
    }
    return before(asked);
  };
}
const outcome = (out: string): unknown => JSON.parse(out.trimEnd().split('\n').at(-1) ?? '');

describe('a status that is null for a short time', () => {
  it('does not end a wait', async () => {
    at.v1.agentEvents.push(userMessage('do it'), status('running'));
    shows('running', null, null, 'running', null, 'finished');
    const waiting = at.acs('conv', 'wait', ID, '--json');
    at.v1.agentEvents.push(finish('done'), status('finished'));
    const { code, out, err } = await waiting;
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'finished' });
  });

  it('does not end a follow', async () => {
    at.v1.agentEvents.push(userMessage('do it'), status('running'));
    shows('running', null, null, 'running', null, 'running', 'finished');
    const following = at.acs('conv', 'follow', ID, '--json');
    at.v1.agentEvents.push(finish('done'), status('finished'));
    const { code, out } = await following;
    expect({ code, outcome: outcome(out) }).toMatchObject({
      code: 0,
      outcome: { status: 'finished' },
    });
  });

  it('is not shown', async () => {
    shows(null, null, 'running');
    const { out } = await at.acs('conv', 'show', ID, '--json');
    expect(JSON.parse(out)).toMatchObject({ status: 'running', execution_status: 'running' });
  });
});

describe('the first status of a conversation', () => {
  it('idle does not end conv wait, because the run has not started', async () => {
    at.v1.agentEvents.push(userMessage('do it'));
    shows('idle', 'idle', 'running', 'running', 'finished');
    const waiting = at.acs('conv', 'wait', ID, '--json');
    at.v1.agentEvents.push(status('running'), finish('done'), status('finished'));
    expect(await waiting).toMatchObject({ code: 0 });
  });

  it('finished in the first read ends conv wait', async () => {
    at.v1.agentEvents.push(userMessage('do it'), finish('done'), status('finished'));
    shows('finished');
    await at.ends(`conv wait ${ID}`, {});
  });
});

describe('a sandbox in error', () => {
  const BROKEN = {
    execution_status: null,
    sandbox_status: 'ERROR',
    conversation_url: null,
    session_api_key: null,
  };

  it('for a moment does not end a conv wait that begins in that moment', async () => {
    const record = at.v1.addConversation({ execution_status: 'running' });
    const good = { ...record };
    const { before } = at.v1;
    at.v1.agentEvents.push(userMessage('do it'), status('running'));
    at.v1.appEvents.push(...at.v1.agentEvents);
    Object.assign(record, BROKEN);
    const startMs = at.clock.now();
    at.v1.before = (asked) => {
      if (at.clock.now() - startMs > 6_000 && record['sandbox_status'] === 'ERROR') {
        at.v1.agentEvents.push(finish('done'), status('finished'));
        Object.assign(record, good, { execution_status: 'finished' });
      }
      return before(asked);
    };
    await at.ends(`conv wait ${ID} --json`, { out: { status: 'finished' } });
  });

  it('that lasts ends a conv wait', async () => {
    at.v1.appEvents.push(userMessage('do it'), status('running'));
    at.v1.addConversation(BROKEN);
    await at.ends(`conv wait ${ID} --json`, {
      code: 1,
      out: { status: 'failed', reason: { code: 'sandbox-error' } },
    });
  });

  it('at the deadline of a conv wait is the outcome', async () => {
    at.v1.appEvents.push(userMessage('do it'), status('running'));
    at.v1.addConversation(BROKEN);
    const { code, err } = await at.acs('conv', 'wait', ID, '--wait-timeout', '4s');
    expect(code, err).toBe(1);
  });
});

it('a finished run stays finished when its sandbox is paused or deleted', async () => {
  const gone = { execution_status: null, conversation_url: null, session_api_key: null };
  at.v1.appEvents.push(userMessage('do it'), agentMessage('the answer'), status('finished'));
  for (const sandbox_status of ['PAUSED', 'MISSING']) {
    at.v1.addConversation({ ...gone, sandbox_status });
    expect(JSON.parse((await at.acs('conv', 'show', ID, '--json')).out)).toMatchObject({
      status: 'finished',
    });
    await at.ends(`conv wait ${ID}`, {});
    await at.ends(`conv result ${ID}`, { out: 'the answer' });
    expect((await at.acs('conv', 'events', ID)).out).toContain('the answer');
  }
});

it('an unknown status is shown unchanged and does not end conv wait', async () => {
  shows('deleting_soon');
  expect(JSON.parse((await at.acs('conv', 'show', ID, '--json')).out)).toMatchObject({
    status: 'unknown(deleting_soon)',
  });
  await at.ends(`conv wait ${ID} --wait-timeout 30s`, { code: 124 });
});
