/** The tools as a model calls them, at a worker. */
import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import { useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import { ID, type OwnWorker, readIfThere } from '../../agent-server/support/worker.ts';
import { call, FINISH, ofKind, run, useEndpoint } from './endpoint.ts';

let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
const endpoint = useEndpoint();

async function start(more: object = {}, llm: object = {}): Promise<void> {
  await worker.startConversation(null, { agent: endpoint.agent(llm), ...more });
}

const read = (name: string): string | null => readIfThere(worker, name);

async function eventsAt(status = 'finished'): Promise<StoredEvent[]> {
  await worker.untilStatus(status);
  return worker.events();
}

function results(events: StoredEvent[]): unknown[] {
  return ofKind(events, 'ObservationEvent').map((event) => {
    const { content } = event['observation'] as { content: { text: string }[] };
    return content[0]?.text;
  });
}

describe('a wrong call', () => {
  const WRONG: [what: string, name: string, input: string | object, error: RegExp][] = [
    ['arguments that are no JSON', 'terminal', '{"command": "l', /JSON/],
    ['arguments that are a list', 'terminal', '[]', /Wrong arguments for terminal: /],
    ['a missing argument', 'terminal', {}, /Wrong arguments for terminal: .*command/],
    ['an argument of another type', 'terminal', { command: 7 }, /command: .*string/],
    [
      'an unknown command of the editor',
      'file_editor',
      { command: 'delete', path: 'a' },
      /command: /,
    ],
    ['an unknown tool', 'browser', { url: 'http://a' }, /browser/],
    ['a name of a member of every object', 'constructor', {}, /constructor/],
  ];

  it.each(WRONG)(
    'with %s is answered with an error, after which the model goes on',
    async (_what, name, input, error) => {
      endpoint.reply(call([name, input]), call(FINISH));
      await start();
      const events = await eventsAt();
      const [wrong] = ofKind(events, 'AgentErrorEvent');
      expect(wrong).toMatchObject({
        tool_name: name,
        tool_call_id: events.find(({ kind }) => kind === 'ActionEvent')?.['tool_call_id'],
      });
      expect(wrong?.['error']).toMatch(error);
      expect(endpoint.newest('tool')?.content).toBe(wrong?.['error']);
    },
  );
});

describe('the tools', () => {
  it('terminal keeps the directory until a reset, and ends a command at its timeout', async () => {
    endpoint.reply(
      call(run('mkdir sub; cd sub; pwd')),
      call(run('pwd')),
      call(run('pwd', { reset: 'true' })),
      call(run('echo begun; sleep 600', { timeout: '1' })),
      call(FINISH),
    );
    await start();
    const events = await eventsAt();
    const [inSub, again, reset, timed] = results(events);
    expect(again).toBe(inSub);
    expect(`${String(reset)}/sub`).toBe(inSub);
    expect(timed).toBe('begun');
    expect(endpoint.newest('tool')?.content).toMatch(/begun[^]*ran longer/);
  });

  it('terminal returns the exit code to the model', async () => {
    endpoint.reply(call(run('exit 3')), call(FINISH));
    await start();
    await eventsAt();
    expect(endpoint.newest('tool')?.content).toMatch(/exit code 3/);
  });

  it('file_editor creates, changes and shows a file, and undoes a change', async () => {
    const edit = (members: object): [string, object] => [
      'file_editor',
      { path: 'a.txt', security_risk: 'LOW', ...members },
    ];
    endpoint.reply(
      call(edit({ command: 'create', file_text: 'one\n' })),
      call(edit({ command: 'str_replace', old_str: 'one', new_str: 'two' })),
      call(edit({ command: 'insert', insert_line: '1', new_str: 'three' })),
      call(edit({ command: 'undo_edit' })),
      call(edit({ command: 'view', view_range: '[1, 1]' })),
      call(FINISH),
    );
    await start();
    const events = await eventsAt();
    expect(ofKind(events, 'AgentErrorEvent')).toEqual([]);
    expect(read('a.txt')).toBe('two\n');
    expect(endpoint.newest('tool')?.content).toContain('two');
  });

  it('think notes a thought, finish ends the run with its message', async () => {
    endpoint.reply(
      call(['think', { thought: 'First look.' }]),
      call(['finish', { message: 'It is done.' }]),
    );
    await start();
    const events = await eventsAt();
    expect(results(events)).toEqual(['Your thought has been logged.', 'It is done.']);
    const { body } = await worker.call('GET', `/api/conversations/${ID}/agent_final_response`);
    expect(body).toEqual({ response: 'It is done.' });
  });
});

it('the actions of calls have the members that openhands-sdk permits', async () => {
  const edit = { command: 'create', path: 'a.txt', file_text: 'x\n', security_risk: 'LOW' };
  endpoint.reply(
    call(run('true')),
    call(['file_editor', edit]),
    call(['task_tracker', { command: 'view' }]),
    call(FINISH),
  );
  await start();
  const actions = ofKind(await eventsAt(), 'ActionEvent').map(({ action }) =>
    Object.keys(action as object).sort(),
  );
  expect(actions).toEqual([
    ['command', 'is_input', 'kind', 'reset'],
    ['command', 'file_text', 'kind', 'path'],
    ['command', 'kind', 'task_list'],
    ['kind', 'message'],
  ]);
});
