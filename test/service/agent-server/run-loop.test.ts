import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { OUTLINE_AFTER_MESSAGE } from './support/conversation-of-test.ts';
import { readIfThere } from './support/read-if-there.ts';
import { useEmptiedWorker } from './support/shared-worker.ts';
import {
  eventsOf,
  ID,
  message,
  outline,
  type OwnWorker,
  startConversation,
  statusOf,
  step,
  until,
  untilStatus,
} from './support/worker.ts';

let worker: OwnWorker;

useEmptiedWorker((started) => (worker = started));

describe('a replay', () => {
  it('continues with the next turn after a message, and reports the end of the recording', async () => {
    await startConversation(worker, [step.say('What else?'), step.run('echo second'), step.finish('Really done.')]);
    await untilStatus(worker, 'finished');
    expect((await worker.call('POST', `/api/conversations/${ID}/events`, message('More.'))).body).toEqual({
      success: true,
    });
    await until('the second turn', async () =>
      (await eventsOf(worker)).some((event) => event['tool_name'] === 'finish'),
    );
    await untilStatus(worker, 'finished');
    const before = await eventsOf(worker);
    expect(outline(before).slice(-10)).toEqual(['finished', ...OUTLINE_AFTER_MESSAGE]);
    await worker.call('POST', `/api/conversations/${ID}/events`, message('And now?'));
    await untilStatus(worker, 'error');
    const last = (await eventsOf(worker)).at(-1);
    expect(last).toMatchObject({ kind: 'ConversationErrorEvent', code: 'NoModel' });
    expect(String(last?.['detail'])).toMatch(/replay.*another server/);
  });

  it('ends in error where the recorded run did, and continues after that step', async () => {
    const failed = { type: 'break', status: 'error', code: 'LLMRateLimitError', detail: 'Too many requests' };
    const circling = { type: 'break', status: 'stuck', code: '', detail: '' };
    await startConversation(worker, [failed, circling, step.finish('Done after all.')]);
    await untilStatus(worker, 'error');
    expect((await eventsOf(worker)).at(-1)).toMatchObject({
      kind: 'ConversationErrorEvent',
      code: 'LLMRateLimitError',
      detail: 'Too many requests',
    });
    await worker.call('POST', `/api/conversations/${ID}/events`, message('Again.'));
    await untilStatus(worker, 'stuck');
    await worker.call('POST', `/api/conversations/${ID}/events`, message('Once more.'));
    await untilStatus(worker, 'finished');
  });

  it('stops at the iteration limit', async () => {
    await startConversation(worker, [step.run('true'), step.run('true'), step.run('true'), step.finish()], {
      max_iterations: 2,
    });
    await untilStatus(worker, 'error');
    expect((await eventsOf(worker)).at(-1)).toMatchObject({
      kind: 'ConversationErrorEvent',
      code: 'MaxIterationsReached',
      detail: 'Agent reached maximum iterations limit (2).',
    });
  });
});

describe('stopping a run', () => {
  it('interrupt ends the command at once and the run continues with the same step', async () => {
    await startConversation(worker, [step.run('echo x >> count; test -e go || sleep 1000'), step.finish()]);
    await until('the command runs', () => readIfThere(worker, 'count'));
    expect((await worker.call('POST', `/api/conversations/${ID}/interrupt`)).body).toEqual({ success: true });
    expect(await statusOf(worker)).toBe('paused');
    expect(outline(await eventsOf(worker)).slice(-3)).toEqual(['AgentErrorEvent', 'paused', 'InterruptEvent']);
    writeFileSync(path.join(worker.place.workspace, 'go'), '');
    await worker.call('POST', `/api/conversations/${ID}/run`);
    await untilStatus(worker, 'finished');
    expect(readIfThere(worker, 'count')).toBe('x\nx\n');
  });

  it('pause answers when the step has ended, and run continues after it', async () => {
    await startConversation(worker, [
      step.run('echo x >> count; while ! test -e go; do sleep 0.02; done'),
      step.run('echo y >> count'),
      step.finish(),
    ]);
    await until('the command runs', () => readIfThere(worker, 'count'));
    const paused = worker.call('POST', `/api/conversations/${ID}/pause`);
    expect(await statusOf(worker)).toBe('running');
    writeFileSync(path.join(worker.place.workspace, 'go'), '');
    expect((await paused).body).toEqual({ success: true });
    expect(await statusOf(worker)).toBe('paused');
    expect(outline(await eventsOf(worker)).slice(-3)).toEqual(['TerminalObservation', 'paused', 'PauseEvent']);
    expect(readIfThere(worker, 'count')).toBe('x\n');
    await worker.call('POST', `/api/conversations/${ID}/run`);
    await untilStatus(worker, 'finished');
    expect(readIfThere(worker, 'count')).toBe('x\ny\n');
  });

  it('refuses a second run while one is in progress', async () => {
    await startConversation(worker, [step.run('sleep 1000'), step.finish()]);
    const { status, body } = await worker.call('POST', `/api/conversations/${ID}/run`);
    expect({ status, body }).toEqual({
      status: 409,
      body: { detail: 'Conversation already running. Wait for completion or pause first.' },
    });
    expect((await worker.call('POST', `/api/conversations/${ID}/events`, message('also this', false))).status).toBe(
      200,
    );
    await worker.call('POST', `/api/conversations/${ID}/interrupt`);
  });

  it('a run that is finished stays finished', async () => {
    await startConversation(worker, [step.finish()]);
    await untilStatus(worker, 'finished');
    expect((await worker.call('POST', `/api/conversations/${ID}/run`)).body).toEqual({ success: true });
    expect(await statusOf(worker)).toBe('finished');
  });
});

describe('confirmation', () => {
  const always = { confirmation_policy: { kind: 'AlwaysConfirm' } };
  const respond = (body: unknown) =>
    worker.call('POST', `/api/conversations/${ID}/events/respond_to_confirmation`, body);

  it('executes the pending action when it is accepted', async () => {
    await startConversation(worker, [step.run('echo x > done'), step.finish()], always);
    await untilStatus(worker, 'waiting_for_confirmation');
    expect(outline(await eventsOf(worker)).slice(-2)).toEqual(['TerminalAction', 'waiting_for_confirmation']);
    expect(readIfThere(worker, 'done')).toBe(null);
    expect((await respond({ accept: true })).body).toEqual({ success: true });
    await untilStatus(worker, 'finished');
    expect(readIfThere(worker, 'done')).toBe('x\n');
  });

  it('skips the pending action when it is rejected, and continues after it', async () => {
    await startConversation(worker, [step.run('echo x > done'), step.say('Then not.')], always);
    await untilStatus(worker, 'waiting_for_confirmation');
    await respond({ accept: false, reason: 'not like that' });
    expect(await statusOf(worker)).toBe('idle');
    expect((await eventsOf(worker)).at(-1)).toMatchObject({
      kind: 'UserRejectObservation',
      rejection_reason: 'not like that',
      rejection_source: 'user',
      tool_name: 'terminal',
    });
    await worker.call('POST', `/api/conversations/${ID}/run`);
    await untilStatus(worker, 'finished');
    expect(readIfThere(worker, 'done')).toBe(null);
  });

  it('executes no pending action because of a message, a run or a message over the socket', async () => {
    await startConversation(worker, [step.run('echo x > done'), step.finish()], always);
    await untilStatus(worker, 'waiting_for_confirmation');
    const before = (await eventsOf(worker)).length;
    expect((await worker.call('POST', `/api/conversations/${ID}/events`, message('never mind'))).status).toBe(409);
    expect((await worker.call('POST', `/api/conversations/${ID}/run`)).status).toBe(409);
    const socket = worker.socket(`/sockets/events/${ID}`, { 'X-Session-API-Key': 'test-session-key' });
    await until('the state', () => socket.frames.length === 1);
    socket.client.send(JSON.stringify(message('never mind')));
    await until('the refusal', () => socket.frames.find((frame) => frame['kind'] === 'ServerErrorEvent'));
    expect((await eventsOf(worker)).length).toBe(before);
    expect(await statusOf(worker)).toBe('waiting_for_confirmation');
    expect(readIfThere(worker, 'done')).toBe(null);
    socket.client.terminate();
  });

  it('does nothing when nothing is pending', async () => {
    await startConversation(worker, [step.finish()]);
    await untilStatus(worker, 'finished');
    const before = (await eventsOf(worker)).length;
    expect((await respond({ accept: true })).body).toEqual({ success: true });
    expect((await eventsOf(worker)).length).toBe(before);
    expect((await respond({ yes: 1 })).body).toEqual({
      detail: [{ type: 'missing', loc: ['body', 'accept'], msg: 'Field required', input: { yes: 1 } }],
    });
  });

  it('requires a confirmation by the recorded risk under a policy for risky actions', async () => {
    const policy = { confirmation_policy: { kind: 'ConfirmRisky' } };
    await startConversation(
      worker,
      [step.run('echo low >> log', { risk: 'LOW' }), step.run('echo high >> log', { risk: 'HIGH' }), step.finish()],
      policy,
    );
    await untilStatus(worker, 'waiting_for_confirmation');
    expect(readIfThere(worker, 'log')).toBe('low\n');
  });
});
