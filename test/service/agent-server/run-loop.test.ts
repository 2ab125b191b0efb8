import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  readIfThere,
  OUTLINE_AFTER_MESSAGE,
  ID,
  type OwnWorker,
  message,
  outline,
  outputs,
  step,
  until,
} from './support/worker.ts';
import { useEmptiedWorker } from './support/shared-sandboxes.ts';

let worker: OwnWorker;

useEmptiedWorker((started) => (worker = started));

const post = (route: string, body?: unknown) =>
  worker.call('POST', `/api/conversations/${ID}/${route}`, body);

describe('a replay', () => {
  it('continues with the next turn after a message, and reports the end of the recording', async () => {
    await worker.play([
      step.say('What else?'),
      step.run('echo second'),
      step.finish('Really done.'),
    ]);
    expect((await post('events', message('More.'))).body).toEqual({
      success: true,
    });
    await until('the second turn', async () =>
      (await worker.events()).some((event) => event['tool_name'] === 'finish'),
    );
    await worker.untilStatus('finished');
    const before = await worker.events();
    expect(outline(before).slice(-10)).toEqual(['finished', ...OUTLINE_AFTER_MESSAGE]);
    await post('events', message('And now?'));
    await worker.untilStatus('error');
    const last = (await worker.events()).at(-1);
    expect(last).toMatchObject({ kind: 'ConversationErrorEvent', code: 'NoModel' });
    expect(String(last?.['detail'])).toMatch(/^The replay is at its end.*llm_model/);
  });

  it('ends in error where the recorded run did, and continues after that step', async () => {
    const failed = {
      type: 'break',
      status: 'error',
      code: 'LLMRateLimitError',
      detail: 'Too many requests',
    };
    const circling = { type: 'break', status: 'stuck', code: '', detail: '' };
    await worker.startConversation([failed, circling, step.finish('Done after all.')]);
    await worker.untilStatus('error');
    expect((await worker.events()).at(-1)).toMatchObject({
      kind: 'ConversationErrorEvent',
      code: 'LLMRateLimitError',
      detail: 'Too many requests',
    });
    await post('events', message('Again.'));
    await worker.untilStatus('stuck');
    await post('events', message('Once more.'));
    await worker.untilStatus('finished');
  });

  it('stops at the iteration limit', async () => {
    await worker.startConversation(
      [step.run('true'), step.run('true'), step.run('true'), step.finish()],
      {
        max_iterations: 2,
      },
    );
    await worker.untilStatus('error');
    expect((await worker.events()).at(-1)).toMatchObject({
      kind: 'ConversationErrorEvent',
      code: 'MaxIterationsReached',
      detail: 'Agent reached maximum iterations limit (2).',
    });
  });
});

describe('stopping a run', () => {
  it('interrupt ends the command at once and the run continues with the same step', async () => {
    await worker.startConversation([
      step.run('echo x >> count; test -e go || sleep 1000'),
      step.finish(),
    ]);
    await until('the command runs', () => readIfThere(worker, 'count'));
    expect((await post('interrupt')).body).toEqual({ success: true });
    expect(await worker.status()).toBe('paused');
    expect(outline(await worker.events()).slice(-3)).toEqual([
      'AgentErrorEvent',
      'paused',
      'InterruptEvent',
    ]);
    writeFileSync(path.join(worker.place.workspace, 'go'), '');
    await post('run');
    await worker.untilStatus('finished');
    expect(readIfThere(worker, 'count')).toBe('x\nx\n');
  });

  it('pause answers when the step has ended, and run continues after it', async () => {
    await worker.startConversation([
      step.run('echo x >> count; while ! test -e go; do sleep 0.02; done'),
      step.run('echo y >> count'),
      step.finish(),
    ]);
    await until('the command runs', () => readIfThere(worker, 'count'));
    const paused = post('pause');
    expect(await worker.status()).toBe('running');
    writeFileSync(path.join(worker.place.workspace, 'go'), '');
    expect((await paused).body).toEqual({ success: true });
    expect(await worker.status()).toBe('paused');
    expect(outline(await worker.events()).slice(-3)).toEqual([
      'TerminalObservation',
      'paused',
      'PauseEvent',
    ]);
    expect(readIfThere(worker, 'count')).toBe('x\n');
    await post('run');
    await worker.untilStatus('finished');
    expect(readIfThere(worker, 'count')).toBe('x\ny\n');
  });

  it('refuses a second run while one is in progress', async () => {
    await worker.startConversation([step.run('sleep 1000'), step.finish()]);
    const { status, body } = await post('run');
    expect({ status, body }).toEqual({
      status: 409,
      body: { detail: 'Conversation already running. Wait for completion or pause first.' },
    });
    expect((await post('events', message('also this', false))).status).toBe(200);
    await post('interrupt');
  });

  it('a run that is finished stays finished', async () => {
    await worker.play([step.finish()]);
    expect((await post('run')).body).toEqual({ success: true });
    expect(await worker.status()).toBe('finished');
  });
});

describe('confirmation', () => {
  const always = { confirmation_policy: { kind: 'AlwaysConfirm' } };
  const respond = (body: unknown) => post('events/respond_to_confirmation', body);

  it('executes the pending action when it is accepted', async () => {
    await worker.startConversation([step.run('echo x > done'), step.finish()], always);
    await worker.untilStatus('waiting_for_confirmation');
    expect(outline(await worker.events()).slice(-2)).toEqual([
      'TerminalAction',
      'waiting_for_confirmation',
    ]);
    expect(readIfThere(worker, 'done')).toBe(null);
    expect((await respond({ accept: true })).body).toEqual({ success: true });
    await worker.untilStatus('finished');
    expect(readIfThere(worker, 'done')).toBe('x\n');
  });

  it('skips the pending action when it is rejected, and continues after it', async () => {
    await worker.startConversation([step.run('echo x > done'), step.say('Then not.')], always);
    await worker.untilStatus('waiting_for_confirmation');
    await respond({ accept: false, reason: 'not like that' });
    expect(await worker.status()).toBe('idle');
    expect((await worker.events()).at(-1)).toMatchObject({
      kind: 'UserRejectObservation',
      rejection_reason: 'not like that',
      rejection_source: 'user',
      tool_name: 'terminal',
    });
    await post('run');
    await worker.untilStatus('finished');
    expect(readIfThere(worker, 'done')).toBe(null);
  });

  it('executes no pending action because of a message, a run or a message over the socket', async () => {
    await worker.startConversation([step.run('echo x > done'), step.finish()], always);
    await worker.untilStatus('waiting_for_confirmation');
    const before = (await worker.events()).length;
    expect((await post('events', message('never mind'))).status).toBe(409);
    expect((await post('run')).status).toBe(409);
    const socket = worker.socket(`/sockets/events/${ID}`, {
      'X-Session-API-Key': 'test-session-key',
    });
    await until('the state', () => socket.frames.length === 1);
    socket.client.send(JSON.stringify(message('never mind')));
    await until('the refusal', () =>
      socket.frames.find((frame) => frame['kind'] === 'ServerErrorEvent'),
    );
    expect((await worker.events()).length).toBe(before);
    expect(await worker.status()).toBe('waiting_for_confirmation');
    expect(readIfThere(worker, 'done')).toBe(null);
    socket.client.terminate();
  });

  it('does nothing when nothing is pending', async () => {
    await worker.play([step.finish()]);
    const before = (await worker.events()).length;
    expect((await respond({ accept: true })).body).toEqual({ success: true });
    expect((await worker.events()).length).toBe(before);
    expect((await respond({ yes: 1 })).body).toMatchObject({
      detail: [{ type: 'missing', loc: ['body', 'accept'] }],
    });
  });

  it('requires a confirmation by the recorded risk under a policy for risky actions', async () => {
    const policy = { confirmation_policy: { kind: 'ConfirmRisky' } };
    await worker.startConversation(
      [
        step.run('echo low >> log', { risk: 'LOW' }),
        step.run('echo high >> log', { risk: 'HIGH' }),
        step.finish(),
      ],
      policy,
    );
    await worker.untilStatus('waiting_for_confirmation');
    expect(readIfThere(worker, 'log')).toBe('low\n');
  });
});

describe('a replay', () => {
  it('executes its commands and edits, in the order of a genuine server', async () => {
    writeFileSync(path.join(worker.place.workspace, 'here.txt'), 'was here\n');
    const { status, body } = await worker.startConversation([
      step.run('cat here.txt'),
      step.create('new.txt', 'one\n'),
      step.replace('new.txt', 'one', 'two'),
      step.run('cat new.txt; exit 4'),
      step.finish('All of it is done.'),
    ]);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      id: ID,
      execution_status: 'running',
      workspace: { working_dir: worker.workingDir },
    });
    await worker.untilStatus('finished');
    const events = await worker.events();
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
    expect(
      events.map(
        (event) => (event['observation'] as { exit_code?: number } | undefined)?.exit_code,
      ),
    ).toContain(4);
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
    const events = await worker.play([step.run('true'), step.finish()]);
    const times = events.map((event) => event.timestamp);
    expect([...new Set(times)].sort()).toEqual(times);
    expect(times.every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/.test(time))).toBe(true);
    expect(JSON.stringify(events.filter((event) => event['key'] !== 'stats'))).not.toContain(
      'null',
    );
  });

  it('runs commands with an empty stdin, so that none waits for input', async () => {
    expect(await worker.outputsOf('cat; echo end')).toEqual(['end']);
  });

  it('keeps the beginning and the end of a large output with the size of the omitted part', async () => {
    const [text = ''] = await worker.outputsOf('seq 1 200000');
    expect(text.length).toBeLessThan(31_000);
    expect(text.startsWith('1\n2\n')).toBe(true);
    expect(text).toMatch(/\[\.\.\. \d+ characters of output left out \.\.\.\]/);
    expect(text.endsWith('199999\n200000')).toBe(true);
  });

  it('continues after an error of the file editor, whose message is the observation', async () => {
    await worker.play([step.replace('none.txt', 'a', 'b'), step.finish()]);
    const refused = (await worker.events()).find((event) => event.kind === 'ObservationEvent');
    expect(refused).toMatchObject({ observation: { is_error: true } });
    expect(JSON.stringify(refused)).toContain('No such file');
  });

  it('replaces file paths of the recorded workspace with those of its own', async () => {
    await worker.play([
      step.create('/workspace/project/a/b.txt', 'x'),
      step.create('/workspace/c.txt', 'y'),
      step.finish(),
    ]);
    expect(readFileSync(path.join(worker.place.workspace, 'a/b.txt'), 'utf8')).toBe('x');
    expect(readFileSync(path.join(worker.place.workspace, 'c.txt'), 'utf8')).toBe('y');
  });
});

describe('secrets of a conversation', () => {
  it('are in the environment of its commands and masked in its events', async () => {
    const secrets = {
      TOKEN: 'very-secret-value',
      OTHER: { kind: 'StaticSecret', value: 'another-1' },
    };
    const events = await worker.play(
      [step.run('echo "t=$TOKEN o=$OTHER"; echo "$TOKEN" > t.txt'), step.finish()],
      {
        secrets,
      },
    );
    expect(outputs(events)).toEqual(['t=<secret-hidden> o=<secret-hidden>']);
    expect(JSON.stringify(events)).not.toContain('very-secret-value');
    expect(readFileSync(path.join(worker.place.workspace, 't.txt'), 'utf8')).toBe(
      'very-secret-value\n',
    );
    const { body } = await worker.call('GET', `/api/conversations/${ID}`);
    expect(JSON.stringify(body)).not.toContain('very-secret-value');
    expect(body).toMatchObject({
      secret_registry: { secret_sources: { TOKEN: { value: null } } },
      agent: { agent_context: { secrets: { TOKEN: { value: null } } }, llm: { api_key: null } },
    });
  });
});
