import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  eventsOf,
  ID,
  message,
  outline,
  outputs,
  startConversation,
  startOwnWorker,
  statusOf,
  step,
  type OwnWorker,
  until,
  untilStatus,
} from './support/worker.ts';

let worker: OwnWorker;

beforeEach(async () => {
  worker = await startOwnWorker();
});

afterEach(() => worker.close());

describe('a replay', () => {
  it('executes its commands and edits, in the order of a genuine server', async () => {
    writeFileSync(path.join(worker.place.workspace, 'here.txt'), 'was here\n');
    const { status, body } = await startConversation(worker, [
      step.run('cat here.txt'),
      step.create('new.txt', 'one\n'),
      step.replace('new.txt', 'one', 'two'),
      step.run('cat new.txt; exit 4'),
      step.finish('All of it is done.'),
    ]);
    expect(status).toBe(201);
    expect(body).toMatchObject({ id: ID, execution_status: 'running', workspace: { working_dir: worker.workingDir } });
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    expect(outline(events)).toEqual([
      'SystemPromptEvent',
      'MessageEvent',
      'last_user_message_id',
      'running',
      'stats',
      'TerminalAction',
      'TerminalObservation',
      'FileEditorAction',
      'FileEditorObservation',
      'FileEditorAction',
      'FileEditorObservation',
      'TerminalAction',
      'TerminalObservation',
      'FinishAction',
      'FinishObservation',
      'finished',
    ]);
    expect(outputs(events)).toEqual(['was here', 'two']);
    expect(events.map((event) => (event['observation'] as { exit_code?: number } | undefined)?.exit_code)).toContain(4);
    expect(events[10]).toMatchObject({
      source: 'environment',
      tool_name: 'file_editor',
      action_id: events[9]?.id,
      observation: {
        command: 'str_replace',
        prev_exist: true,
        old_content: 'one\n',
        new_content: 'two\n',
        is_error: false,
      },
    });
    expect(readFileSync(path.join(worker.place.workspace, 'new.txt'), 'utf8')).toBe('two\n');
    const answer = await worker.call('GET', `/api/conversations/${ID}/agent_final_response`);
    expect(answer.body).toEqual({ response: 'All of it is done.' });
  });

  it('writes increasing times, without a zone, and no member that is null', async () => {
    await startConversation(worker, [step.run('true'), step.finish()]);
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    const times = events.map((event) => event.timestamp);
    expect([...new Set(times)].sort()).toEqual(times);
    expect(times.every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/.test(time))).toBe(true);
    expect(JSON.stringify(events.filter((event) => event['key'] !== 'stats'))).not.toContain('null');
  });

  it('keeps directory and environment from one command to the next', async () => {
    await startConversation(worker, [
      step.run('mkdir deep && cd deep && export WORD="two words" && other=lost'),
      step.run('basename "$PWD"; echo "$WORD"; echo "[$other]"'),
      step.run('exit 3'),
      step.run('basename "$PWD"'),
      step.run('pwd', { reset: true }),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    const [, second, , fourth, fifth] = outputs(await eventsOf(worker));
    expect(second).toBe('deep\ntwo words\n[]');
    expect(fourth).toBe('deep');
    expect(fifth).toBe(worker.workingDir);
  });

  it('runs commands with an empty stdin, so that none waits for input', async () => {
    await startConversation(worker, [step.run('cat; echo end'), step.finish()]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['end']);
  });

  it('ends a command at its timeout with every process it started', async () => {
    const tick = 'while :; do echo x >> ticks; sleep 0.02; done';
    await startConversation(worker, [
      step.run(`echo begin; setsid sh -c '${tick}' & sleep 1000`, { timeout_seconds: 4 }),
      step.run('a=$(wc -c < ticks); sleep 0.2; b=$(wc -c < ticks); test "$a" -gt 0 && test "$a" = "$b" && echo none'),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    expect(outputs(events)).toEqual(['begin', 'none']);
    expect(events.find((event) => event.kind === 'ObservationEvent')).toMatchObject({
      observation: { exit_code: -1, timeout: true },
    });
  });

  it('does not wait for background processes of a command', async () => {
    await startConversation(worker, [step.run('sleep 1000 & echo started'), step.finish()]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['started']);
  });

  it('keeps the beginning and the end of a large output with the size of the omitted part', async () => {
    await startConversation(worker, [step.run('seq 1 200000'), step.finish()]);
    await untilStatus(worker, 'finished');
    const [text = ''] = outputs(await eventsOf(worker));
    expect(text.length).toBeLessThan(31_000);
    expect(text.startsWith('1\n2\n')).toBe(true);
    expect(text).toMatch(/\[\.\.\. \d+ characters of output left out \.\.\.\]/);
    expect(text.endsWith('199999\n200000')).toBe(true);
  });

  it('shows invalid UTF-8 as replacement characters', async () => {
    await startConversation(worker, [step.run(String.raw`printf 'a\377b'`), step.finish()]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['a\uFFFDb']);
  });

  it('continues after an error of the file editor, whose message is the observation', async () => {
    await startConversation(worker, [step.replace('none.txt', 'a', 'b'), step.finish()]);
    await untilStatus(worker, 'finished');
    const refused = (await eventsOf(worker)).find((event) => event.kind === 'ObservationEvent');
    expect(refused).toMatchObject({ observation: { is_error: true } });
    expect(JSON.stringify(refused)).toContain('No such file');
  });

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
    expect(outline(before).slice(-10)).toEqual([
      'finished',
      'idle',
      'MessageEvent',
      'last_user_message_id',
      'running',
      'TerminalAction',
      'TerminalObservation',
      'FinishAction',
      'FinishObservation',
      'finished',
    ]);
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

  it('replaces file paths of the recorded workspace with those of its own', async () => {
    await startConversation(worker, [
      step.create('/workspace/project/a/b.txt', 'x'),
      step.create('/workspace/c.txt', 'y'),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    expect(readFileSync(path.join(worker.place.workspace, 'a/b.txt'), 'utf8')).toBe('x');
    expect(readFileSync(path.join(worker.place.workspace, 'c.txt'), 'utf8')).toBe('y');
  });
});

describe('secrets of a conversation', () => {
  it('are in the environment of its commands and masked in its events', async () => {
    const secrets = { TOKEN: 'very-secret-value', OTHER: { kind: 'StaticSecret', value: 'another-one' } };
    await startConversation(worker, [step.run('echo "t=$TOKEN o=$OTHER"; echo "$TOKEN" > t.txt'), step.finish()], {
      secrets,
    });
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    expect(outputs(events)).toEqual(['t=<secret-hidden> o=<secret-hidden>']);
    expect(JSON.stringify(events)).not.toContain('very-secret-value');
    expect(readFileSync(path.join(worker.place.workspace, 't.txt'), 'utf8')).toBe('very-secret-value\n');
    const { body } = await worker.call('GET', `/api/conversations/${ID}`);
    expect(JSON.stringify(body)).not.toContain('very-secret-value');
    expect(body).toMatchObject({ secret_registry: { secret_sources: { TOKEN: { value: null } } } });
  });
});

describe('stopping a run', () => {
  it('interrupt ends the command at once and the run continues with the same step', async () => {
    await startConversation(worker, [step.run('echo x >> count; test -e go || sleep 1000'), step.finish()]);
    await until('the command runs', () => readIfThere('count'));
    expect((await worker.call('POST', `/api/conversations/${ID}/interrupt`)).body).toEqual({ success: true });
    expect(await statusOf(worker)).toBe('paused');
    expect(outline(await eventsOf(worker)).slice(-3)).toEqual(['AgentErrorEvent', 'paused', 'InterruptEvent']);
    writeFileSync(path.join(worker.place.workspace, 'go'), '');
    await worker.call('POST', `/api/conversations/${ID}/run`);
    await untilStatus(worker, 'finished');
    expect(readIfThere('count')).toBe('x\nx\n');
  });

  it('pause answers when the step has ended, and run continues after it', async () => {
    await startConversation(worker, [
      step.run('echo x >> count; while ! test -e go; do sleep 0.02; done'),
      step.run('echo y >> count'),
      step.finish(),
    ]);
    await until('the command runs', () => readIfThere('count'));
    const paused = worker.call('POST', `/api/conversations/${ID}/pause`);
    expect(await statusOf(worker)).toBe('running');
    writeFileSync(path.join(worker.place.workspace, 'go'), '');
    expect((await paused).body).toEqual({ success: true });
    expect(await statusOf(worker)).toBe('paused');
    expect(outline(await eventsOf(worker)).slice(-3)).toEqual(['TerminalObservation', 'paused', 'PauseEvent']);
    expect(readIfThere('count')).toBe('x\n');
    await worker.call('POST', `/api/conversations/${ID}/run`);
    await untilStatus(worker, 'finished');
    expect(readIfThere('count')).toBe('x\ny\n');
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
    expect(readIfThere('done')).toBe(null);
    expect((await respond({ accept: true })).body).toEqual({ success: true });
    await untilStatus(worker, 'finished');
    expect(readIfThere('done')).toBe('x\n');
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
    expect(readIfThere('done')).toBe(null);
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
    expect(readIfThere('done')).toBe(null);
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
    expect(readIfThere('log')).toBe('low\n');
  });
});

function readIfThere(name: string): string | null {
  try {
    return readFileSync(path.join(worker.place.workspace, name), 'utf8');
  } catch {
    return null;
  }
}
