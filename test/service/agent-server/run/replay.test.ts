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
