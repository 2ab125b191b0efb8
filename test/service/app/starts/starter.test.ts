import { describe, expect, it } from 'vitest';
import {
  appOfSuite,
  conversation,
  countEvents,
  ended,
  type Shown,
  startedTask,
  type Task,
  trajectory,
  until,
} from '../support.ts';

const app = appOfSuite();
const { get, post } = app;

const CONVERSATIONS = '/api/v1/app-conversations';

describe('a start over V1', () => {
  it('answers at once with a task, and ends with a conversation that has run', async () => {
    const created = (await post(CONVERSATIONS, { replay_json: trajectory('echo hello > made.txt'), title: 'Mine' }))
      .body as Task;
    expect(created).toMatchObject({ status: 'WORKING', app_conversation_id: null, request: { title: 'Mine' } });
    const task = await until(
      async () => (await get<Task[]>(`${CONVERSATIONS}/start-tasks?ids=${created.id}`))[0] as Task,
      (each) => each.status === 'READY' || each.status === 'ERROR',
    );
    expect(task).toMatchObject({ status: 'READY', detail: null });
    const id = task.app_conversation_id ?? '';
    expect(await ended(app, id)).toMatchObject({
      id,
      sandbox_id: task.sandbox_id,
      sandbox_status: 'RUNNING',
      execution_status: 'finished',
      conversation_url: `${task.agent_server_url}/api/conversations/${id}`,
    });
    const { items } = await get<{ items: { kind: string }[] }>(`/api/v1/conversation/${id}/events/search`);
    expect(items.map((event) => event.kind)).toEqual(
      expect.arrayContaining(['MessageEvent', 'ActionEvent', 'ObservationEvent']),
    );
    expect(await countEvents(app, id)).toBe(items.length);
    expect(await get(`${CONVERSATIONS}/${id}/file?file_path=made.txt`)).toBe('hello\n');
    expect((await app.call('GET', `${CONVERSATIONS}/${id}/download`)).headers.get('content-type')).toBe(
      'application/zip',
    );
  });

  it('without a message waits for one, or for a run request when the replay has no message', async () => {
    const replay_json = JSON.stringify([{ action: 'finish', args: { final_thought: 'Done.' } }]);
    const begun: [object, (id: string) => Promise<unknown>][] = [
      [{ initial_message: { role: 'user', content: [] } }, () => Promise.resolve()],
      [
        {},
        async (id) => {
          expect(await conversation(app, id)).toMatchObject({ execution_status: 'idle' });
          expect(await countEvents(app, id)).toBe(0);
          const content = [{ type: 'text', text: 'Begin' }];
          return post(`${CONVERSATIONS}/${id}/send-message`, { role: 'user', content });
        },
      ],
      [
        {},
        async (id) => {
          const { conversation_url: url, session_api_key: key } = (await conversation(app, id)) as Shown;
          const headers = { 'X-Session-API-Key': String(key) };
          return fetch(`${String(url)}/run`, { method: 'POST', headers });
        },
      ],
    ];
    for (const [more, begin] of begun) {
      const { app_conversation_id: id } = await startedTask(app, { replay_json, ...more });
      await begin(id ?? '');
      expect(await ended(app, id ?? '')).toMatchObject({ execution_status: 'finished' });
    }
  });

  it('with the id of an existing conversation returns that one, and sends nothing again', async () => {
    const conversation_id = '9e453669-fcc1-4778-99fa-163865b6f70b';
    const body = { conversation_id, replay_json: trajectory('true') };
    const [first, second] = await Promise.all([startedTask(app, body), startedTask(app, body)]);
    const id = conversation_id.replaceAll('-', '');
    expect([first.app_conversation_id, second.app_conversation_id]).toEqual([id, id]);
    expect(second.sandbox_id).toBe(first.sandbox_id);
    await ended(app, id);
    expect(await countEvents(app, id, '&kind__eq=MessageEvent')).toBe(1);
    const { items } = await get<{ items: Task[] }>(
      `${CONVERSATIONS}/start-tasks/search?conversation_id__eq=${conversation_id}`,
    );
    expect(items).toHaveLength(2);
  });

  it('in an unknown sandbox, or from an unknown repository, ends in an error that names it', async () => {
    expect(await startedTask(app, { replay_json: 'demo', sandbox_id: 'nope' })).toMatchObject({
      status: 'ERROR',
      detail: '500: Sandbox not found: nope',
    });
    expect(await startedTask(app, { replay_json: 'demo', selected_repository: '/no/such/folder' })).toMatchObject({
      status: 'ERROR',
      detail: expect.stringContaining('/no/such/folder'),
    });
  });
});
