import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readIfThere } from '../support/read-if-there.ts';
import {
  eventsOf,
  ID,
  message,
  outline,
  startConversation,
  startOwnWorker,
  statusOf,
  step,
  type OwnWorker,
  until,
  untilStatus,
} from '../support/worker.ts';

let worker: OwnWorker;

beforeEach(async () => {
  worker = await startOwnWorker();
});

afterEach(() => worker.close());

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
