import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createTranslator,
  createV0EventReader,
  type V0Event,
} from '../../../src/service/app/v0-events.ts';
import { naiveTimestamp } from '../../../src/service/lifecycle/clock.ts';
import type { StoredEvent } from '../../../src/service/storage/conversation-state.ts';
import type { ConversationRow } from '../../../src/service/storage/conversations.ts';
import {
  eventLogFile,
  openEventLog,
  type EventLog,
} from '../../../src/service/storage/event-log.ts';
import { EventLogs } from '../../../src/service/storage/event-logs.ts';
import { conversationRow } from '../storage/support.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

function event(kind: string, members: object = {}): StoredEvent {
  return {
    id: 'event',
    timestamp: '2026-01-01T00:00:00.000000',
    source: 'agent',
    kind,
    ...members,
  };
}
const status = (value: unknown): StoredEvent =>
  event('ConversationStateUpdateEvent', { key: 'execution_status', value });
const said = (source: string, text: string): StoredEvent =>
  event('MessageEvent', { source, llm_message: { content: [{ type: 'text', text }] } });
const call = (id: string, source = 'agent'): StoredEvent =>
  event('ActionEvent', {
    id,
    source,
    tool_call_id: `call-${id}`,
    action: { kind: 'TerminalAction', command: 'ls' },
  });

function translated(...events: StoredEvent[]): V0Event[] {
  const translate = createTranslator();
  return events.flatMap((each, index) => translate(each, events[index + 1]));
}
/** The event of V0 behind the first state. */
const one = (stored: StoredEvent): V0Event | undefined => translated(stored)[1];

const named = (events: V0Event[]): unknown[] =>
  events.map(
    ({ action, observation, extras }) =>
      action ?? (extras?.agent_state as string | undefined) ?? observation,
  );

describe('a log as V0 shows it', () => {
  it('begins with the state loading, and numbers its events without a gap', () => {
    const events = translated(
      event('SystemPromptEvent'),
      event('UnknownEvent'),
      said('user', 'hi'),
    );
    expect(named(events)).toEqual(['loading', 'system', 'message']);
    expect(events.map(({ id }) => id)).toEqual([0, 1, 2]);
  });

  it('names a state only when it changes', () => {
    const events = translated(
      status('running'),
      status('running'),
      status('idle'),
      status('paused'),
      status(5),
    );
    expect(named(events)).toEqual(['loading', 'running', 'paused']);
    const full = event('ConversationStateUpdateEvent', {
      key: 'full_state',
      value: { execution_status: 'running' },
    });
    expect(named(translated(full, status('running')))).toEqual(['loading', 'running']);
  });

  it('waits for the user after an answer, and has finished after an action', () => {
    expect(
      named(translated(status('running'), said('agent', 'an answer'), status('finished'))).at(-1),
    ).toBe('awaiting_user_input');
    expect(named(translated(said('agent', 'first'), call('a'), status('finished'))).at(-1)).toBe(
      'finished',
    );
    expect(
      named(translated(said('agent', 'first'), call('a', 'user'), status('finished'))).at(-1),
    ).toBe('awaiting_user_input');
  });

  it.each([
    ['error', { code: 'LLMError', detail: 'no model' }, 'LLMError: no model'],
    ['error', { code: '', detail: 'only this' }, 'only this'],
    ['error', null, ''],
    ['stuck', null, 'AgentStuckInLoopError: Agent got stuck in a loop'],
  ])('has for %s followed by the error %j the reason %j', (word, error, reason) => {
    const events = translated(
      status(word),
      ...(error === null ? [] : [event('ConversationErrorEvent', error)]),
    );
    expect(events.at(-1)?.extras?.reason).toBe(reason);
  });

  it('connects an observation, an error and a rejection with their action, by its id or its call', () => {
    const seen = { observation: { kind: 'TerminalObservation' } };
    const events = translated(
      call('a'),
      call('b'),
      event('ObservationEvent', { action_id: 'b', ...seen }),
      event('AgentErrorEvent', { tool_call_id: 'call-a', error: 'failed' }),
      event('ObservationEvent', { action_id: 'unknown', ...seen }),
      event('UserRejectObservation', { action_id: 'a', rejection_reason: '' }),
    );
    const rejected = ['user_rejected', 'user_rejected', 'awaiting_user_input'];
    expect(named(events).slice(3)).toEqual(['run', 'error', 'run', ...rejected]);
    expect(events.slice(3).map(({ cause }) => cause)).toEqual([
      2,
      1,
      undefined,
      undefined,
      1,
      undefined,
    ]);
    expect(events.at(-2)?.content).toBe('The user rejected the action.');
  });

  it('shows the images of a message of the user, and waits for an answer to one of the agent', () => {
    const blocks = [
      { type: 'image', image_urls: ['data:,x'] },
      { type: 'text', text: 'see' },
      null,
    ];
    const [, mine, its] = translated(
      event('MessageEvent', { source: 'user', llm_message: { content: blocks } }),
      said('agent', 'seen'),
    );
    expect(mine).toMatchObject({
      source: 'user',
      args: { content: 'see', image_urls: ['data:,x'], wait_for_response: false },
    });
    expect(its).toMatchObject({
      source: 'agent',
      args: { content: 'seen', image_urls: null, wait_for_response: true },
    });
  });
});

describe('a condensation', () => {
  it('is an action with its summary, as is its request', () => {
    const made = event('Condensation', {
      source: 'environment',
      summary: 'Did ls.',
      summary_offset: 1,
    });
    expect(translated(event('CondensationRequest'), made).slice(1)).toMatchObject([
      { action: 'condensation_request' },
      {
        action: 'condensation',
        message: 'Summary: Did ls.',
        args: { summary: 'Did ls.', summary_offset: 1 },
      },
    ]);
  });
});

const action = (members: object, more: object = {}) =>
  one(event('ActionEvent', { action: members, ...more }));

/** Of a file, as an action or an observation. */
const file = (kind: string, command: string, more: object = {}) => ({
  kind,
  command,
  path: '/a',
  ...more,
});

describe('an action of V1 in V0', () => {
  const EDIT = 'FileEditorAction';
  const replaced = { old_str: 'x', new_str: '' };
  it.each<[object, string, object]>([
    [
      { kind: 'TerminalAction', command: 'ls', is_input: true },
      'run',
      { command: 'ls', is_input: true },
    ],
    [{ kind: 'ExecuteBashAction', command: 'ls' }, 'run', { command: 'ls', is_input: false }],
    [file(EDIT, 'create', { file_text: 'x' }), 'write', { path: '/a', content: 'x' }],
    [file(EDIT, 'view'), 'read', { path: '/a', start: 0, end: -1 }],
    [file(EDIT, 'view', { view_range: [3, 9] }), 'read', { path: '/a', start: 2, end: 9 }],
    [
      file(EDIT, 'str_replace', replaced),
      'edit',
      { command: 'str_replace', ...replaced, insert_line: null },
    ],
    [{ kind: 'FinishAction', message: 'Done' }, 'finish', { final_thought: 'Done', outputs: {} }],
    [{ kind: 'ThinkAction', thought: 'Hm' }, 'think', { thought: 'Hm' }],
    [
      { kind: 'MCPToolAction', data: { a: 1 } },
      'call_tool_mcp',
      { name: 'MCPToolAction', arguments: { a: 1 } },
    ],
    [
      { kind: 'TaskTrackerAction', command: 'plan', task_list: [{ title: 'a' }] },
      'task_tracking',
      { command: 'plan', task_list: [{ title: 'a' }] },
    ],
    [{ kind: 'OtherAction', a: 1 }, 'call_tool_mcp', { name: 'OtherAction', arguments: { a: 1 } }],
  ])('%j is %s', (members, name, args) => {
    expect(action(members)).toMatchObject({ source: 'agent', action: name, args });
  });

  it('has its thought and its risk', () => {
    const thought = [
      { type: 'text', text: 'first' },
      { type: 'image' },
      { type: 'text', text: 'second' },
    ];
    for (const [security_risk, risk] of Object.entries({
      HIGH: 2,
      LOW: 0,
      UNKNOWN: -1,
      other: -1,
    })) {
      const { args } =
        action({ kind: 'TerminalAction', command: 'ls' }, { thought, security_risk }) ?? {};
      expect(args).toMatchObject({ thought: 'first\nsecond', security_risk: risk });
    }
  });

  it('of the user has no call of a tool', () => {
    const call = {
      action: { kind: 'TerminalAction', command: 'ls' },
      tool_name: 'terminal',
      tool_call_id: 'c1',
    };
    expect(one(event('ActionEvent', { ...call, source: 'user' }))).not.toHaveProperty(
      'tool_call_metadata',
    );
    expect(one(event('ActionEvent', call))?.tool_call_metadata).toEqual({
      function_name: 'terminal',
      tool_call_id: 'c1',
      model_response: null,
      total_calls_in_response: 1,
    });
  });

  it('has the name of its tool, also without an action: a call that cannot be executed', () => {
    const named = {
      action: 'call_tool_mcp',
      message: 'Calling the tool fetch',
      args: { name: 'fetch' },
    };
    expect(action({ kind: 'MCPToolAction', data: {} }, { tool_name: 'fetch' })).toMatchObject(
      named,
    );
    expect(one(event('ActionEvent', { tool_name: 'fetch' }))).toMatchObject(named);
  });

  it('with members of other types has empty texts', () => {
    for (const members of [null, [], 'text', { kind: 'TerminalAction', command: ['ls'] }]) {
      expect(action(members as object)).toMatchObject({
        source: 'agent',
        action: expect.any(String) as string,
      });
    }
  });
});

const content = [{ type: 'text', text: 'the content' }];
const observation = (members: object) =>
  one(event('ObservationEvent', { observation: { content, ...members } }));

describe('an observation of V1 in V0', () => {
  const EDIT = 'FileEditorObservation';
  const changed = { old_content: 'o', new_content: 'n' };
  it.each<[object, object]>([
    [
      { kind: 'TerminalObservation', command: 'ls', exit_code: 0, metadata: { username: 'u' } },
      {
        observation: 'run',
        success: true,
        extras: { command: 'ls', metadata: { username: 'u', exit_code: 0 } },
      },
    ],
    [
      { kind: 'ExecuteBashObservation', command: 'ls', exit_code: 3 },
      { observation: 'run', success: false, message: 'Command `ls` executed with exit code 3.' },
    ],
    [
      {
        kind: 'TerminalObservation',
        command: 'sleep 9',
        exit_code: null,
        metadata: { exit_code: 0 },
      },
      { success: false, extras: { metadata: { exit_code: -1 } } },
    ],
    [file(EDIT, 'view'), { observation: 'read', extras: { path: '/a' } }],
    [file(EDIT, 'create'), { observation: 'write' }],
    [
      file(EDIT, 'insert', changed),
      { observation: 'edit', extras: { prev_exist: true, ...changed } },
    ],
    [file(EDIT, 'view', { is_error: true }), { observation: 'error', success: false }],
    [
      { kind: 'ThinkObservation' },
      { observation: 'think', content: 'Your thought has been logged.' },
    ],
    [
      { kind: 'TaskTrackerObservation', command: 'view', task_list: [] },
      {
        observation: 'task_tracking',
        content: 'the content',
        extras: { command: 'view', task_list: [] },
      },
    ],
    [
      { kind: 'MCPToolObservation' },
      { observation: 'mcp', extras: { name: 'MCPToolObservation' } },
    ],
    [
      file('MCPToolObservation', '', { is_error: true }),
      { observation: 'error', content: 'the content' },
    ],
  ])('%j has %j', (members, expected) => {
    expect(observation(members)).toMatchObject({ source: 'agent', ...expected });
  });

  it('of the end of a run is none', () => {
    expect(observation({ kind: 'FinishObservation' })).toBeUndefined();
  });
});

const folder = folderOfEachTest();
let logs: EventLogs;
const written: EventLog[] = [];
beforeEach(() => {
  logs = new EventLogs(folder.path);
});
afterEach(() => {
  logs.close();
  for (const log of written.splice(0)) log.close();
});

const row = (more: Partial<ConversationRow> = {}): ConversationRow =>
  conversationRow({
    id: 'a'.repeat(32),
    dialect: 'V0',
    sandbox_id: 's',
    created_at: '2026-01-01T00:00:00.000000Z',
    ...more,
  });

function logOf({ id, sandbox_id }: ConversationRow): EventLog {
  const eventsDir = path.join(folder.path, sandbox_id ?? '');
  mkdirSync(eventsDir, { recursive: true });
  const log = openEventLog(eventLogFile(eventsDir, id));
  written.push(log);
  return log;
}

function logged(index: number, kind = 'MessageEvent', more: object = {}): StoredEvent {
  const llm_message = { content: [{ type: 'text', text: `text ${index}` }] };
  return {
    id: `event-${index}`,
    timestamp: naiveTimestamp(index),
    source: 'user',
    kind,
    llm_message,
    ...more,
  };
}

describe('the events of a conversation of V0', () => {
  it('are read on from where the last read ended, over several pages', () => {
    const read = createV0EventReader(logs);
    const log = logOf(row());
    const fill = (from: number, to: number) => {
      for (let index = from; index < to; index++) log.append(logged(index));
    };
    fill(0, 1001);
    const first = [...read(row())];
    expect(first).toHaveLength(1002);
    fill(1001, 1003);
    const all = read(row());
    expect(all.slice(0, first.length)).toEqual(first);
    expect(all.map(({ id }) => id)).toEqual(Array.from({ length: 1004 }, (_, id) => id));
    expect(all.at(-1)?.args?.content).toBe('text 1002');
  });

  it('have the reason of a failure whose reason is on the next page', () => {
    const log = logOf(row());
    for (let index = 0; index < 499; index++) log.append(logged(index));
    log.append(
      logged(499, 'ConversationStateUpdateEvent', { key: 'execution_status', value: 'error' }),
    );
    log.append(logged(500, 'ConversationErrorEvent', { code: 'E', detail: 'why' }));
    expect(createV0EventReader(logs)(row()).at(-1)?.extras).toEqual({
      agent_state: 'error',
      reason: 'E: why',
    });
  });

  it('begin again when the conversation has another sandbox, and when many others were read', () => {
    const read = createV0EventReader(logs);
    logOf(row()).append(logged(1));
    expect(read(row()).at(-1)?.args?.content).toBe('text 1');
    logOf(row({ sandbox_id: 'other' })).append(logged(2));
    expect(read(row({ sandbox_id: 'other' })).map((each) => each.args?.content)).toEqual([
      undefined,
      'text 2',
    ]);
    for (let other = 0; other < 20; other++)
      read(row({ id: other.toString(16).padStart(32, '0') }));
    expect(read(row()).map((each) => each.args?.content)).toEqual([undefined, 'text 1']);
  });

  it('of one without a log are none, and of one that did not start are its states', () => {
    const read = createV0EventReader(logs);
    expect(read(row())).toEqual([]);
    const states = (more: Partial<ConversationRow>): unknown[] =>
      read(row(more)).map(({ id, timestamp, extras }) => [id, timestamp, extras]);
    const at = '2026-01-01T00:00:00.000000';
    const loading = [0, at, { agent_state: 'loading', reason: '' }];
    expect(states({ start_state: 'starting' })).toEqual([loading]);
    expect(states({ start_state: 'failed', start_detail: 'no repository' })).toEqual([
      loading,
      [1, at, { agent_state: 'error', reason: 'no repository' }],
    ]);
  });
});
