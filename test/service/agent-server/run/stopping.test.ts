import { writeFileSync } from 'node:fs';
import path from 'node:path';
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
