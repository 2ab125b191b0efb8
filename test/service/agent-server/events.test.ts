import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { useEmptiedWorker } from './support/shared-worker.ts';
import {
  eventsOf,
  ID,
  outline,
  outputs,
  type OwnWorker,
  startConversation,
  step,
  untilStatus,
} from './support/worker.ts';

let worker: OwnWorker;

useEmptiedWorker((started) => (worker = started));

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
});
