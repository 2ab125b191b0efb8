import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  conversation,
  countEvents,
  createTestApp,
  startedTask,
  until,
  type Shown,
  type Task,
  type TestApp,
} from '../support.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app.close());

const CONVERSATIONS = '/api/v1/app-conversations';
const post = (path: string, body?: unknown) => app.call('POST', path, body);
const get = async <Body = Record<string, unknown>>(path: string): Promise<Body> =>
  (await app.call('GET', path)).body as Body;

/** A trajectory of V0 that runs one command and finishes. */
function trajectory(command: string, end = 'All done.'): string {
  return JSON.stringify([
    { id: 0, source: 'user', action: 'message', args: { content: 'Please work' } },
    { id: 1, source: 'agent', action: 'run', args: { command } },
    { id: 2, source: 'agent', action: 'finish', args: { final_thought: end } },
  ]);
}

async function finished(id: string): Promise<Shown> {
  const shown = await until(
    () => conversation(app, id),
    (each) => each?.execution_status === 'finished' || each?.execution_status === 'error',
  );
  return shown as Shown;
}

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
    expect(await finished(id)).toMatchObject({
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
      expect(await finished(id ?? '')).toMatchObject({ execution_status: 'finished' });
    }
  });

  it('with the id of an existing conversation returns that one, and sends nothing again', async () => {
    const conversation_id = '9e453669-fcc1-4778-99fa-163865b6f70b';
    const body = { conversation_id, replay_json: trajectory('true') };
    const [first, second] = await Promise.all([startedTask(app, body), startedTask(app, body)]);
    const id = conversation_id.replaceAll('-', '');
    expect([first.app_conversation_id, second.app_conversation_id]).toEqual([id, id]);
    expect(second.sandbox_id).toBe(first.sandbox_id);
    await finished(id);
    expect(await countEvents(app, id, '&kind__eq=MessageEvent')).toBe(1);
    const { items } = await get<{ items: Task[] }>(
      `${CONVERSATIONS}/start-tasks/search?conversation_id__eq=${conversation_id}`,
    );
    expect(items).toHaveLength(2);
  });

  it('omits secrets and the replay in its answers', async () => {
    const secrets = { API_TOKEN: 'very-secret-value' };
    const task = await startedTask(app, { replay_json: trajectory('printf "%s" "$API_TOKEN" | wc -c'), secrets });
    expect(task.request).toMatchObject({ secrets: { API_TOKEN: '**********' } });
    expect(task.request.replay_json).toMatch(/^sha256:[0-9a-f]{64}$/);
    const id = task.app_conversation_id ?? '';
    await finished(id);
    const events = JSON.stringify(await get(`/api/v1/conversation/${id}/events/search`));
    expect(events).toContain(String(secrets.API_TOKEN.length));
    expect(events).not.toContain(secrets.API_TOKEN);
  });

  it.each([
    [{}, 400, /replay.*llm_model/s],
    [{ initial_message: { role: 'user', content: [{ type: 'text', text: 'hi' }] } }, 400, /replay/],
    [{ replay_json: 'nonsense' }, 422, /replay cannot be used/],
    [{ replay_json: '[]' }, 422, /replay cannot be used/],
    [{ replay_json: 'demo', selected_branch: 'a..b' }, 422, /branch/],
    [{ replay_json: 'demo', sandbox_spec_id: 'nope' }, 422, /spec/],
    [{ replay_json: 'demo', parent_conversation_id: '00000000-0000-0000-0000-00000000000a' }, 400, /Parent/],
    [{ replay_json: 'demo', trigger: 'nope' }, 422, /Input should be/],
    [
      { replay_json: 'demo', initial_message: { role: 'user', content: [{ type: 'text', text: 'x', nope: 1 }] } },
      422,
      /Extra inputs/,
    ],
  ])('refuses %j before the task is created', async (body, status, words) => {
    const before = await get(`${CONVERSATIONS}/start-tasks/search`);
    const answer = await post(CONVERSATIONS, body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([status, expect.stringMatching(words)]);
    expect(await get(`${CONVERSATIONS}/start-tasks/search`)).toEqual(before);
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

describe('messages', () => {
  it('are stored in a running conversation', async () => {
    const task = await startedTask(app, { replay_json: trajectory('true') });
    const id = task.app_conversation_id ?? '';
    await finished(id);
    const content = [{ type: 'text', text: 'and now?' }];
    expect(await post(`${CONVERSATIONS}/${id}/send-message`, { content })).toMatchObject({
      status: 200,
      body: { success: true, sandbox_status: 'RUNNING', message: null },
    });
    expect((await post(`${CONVERSATIONS}/${id}/send-message`, { content: [] })).status).toBe(422);
    const unknown = '00000000-0000-0000-0000-00000000000a';
    expect((await post(`${CONVERSATIONS}/${unknown}/send-message`, { content })).status).toBe(404);
  });
});

describe('conversations', () => {
  it('are searched, counted, renamed and deleted with their sandbox', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const id = task.app_conversation_id ?? '';
    await finished(id);
    expect((await conversation(app, id))?.title).toBe('Show what you can do.');
    await app.call('PATCH', `${CONVERSATIONS}/${id}`, { title: 'Renamed by hand' });
    const message = { content: [{ type: 'text', text: 'and now?' }] };
    await post(`${CONVERSATIONS}/${id}/send-message`, message);
    await until(
      () => conversation(app, id),
      (each) => each?.execution_status === 'error',
    );
    const found = await get<{ items: Shown[] }>(`${CONVERSATIONS}/search?title__contains=renamed&limit=1`);
    expect(found).toMatchObject({ items: [{ id, title: 'Renamed by hand' }], next_page_id: null });
    expect(await get(`${CONVERSATIONS}/count?title__contains=renamed`)).toBe(1);
    expect(await get(`${CONVERSATIONS}/count?created_at__lt=2020-01-01T00:00:00Z`)).toBe(0);
    expect((await app.call('PATCH', `${CONVERSATIONS}/${id}`, { selected_repository: 'nonsense' })).status).toBe(422);
    expect((await app.call('GET', `${CONVERSATIONS}/search?limit=101`)).status).toBe(422);
    expect((await app.call('GET', CONVERSATIONS)).status).toBe(422);
    expect((await app.call('GET', `${CONVERSATIONS}?ids=nope`)).status).toBe(400);
    expect((await app.call('GET', `${CONVERSATIONS}/${id}`)).status).toBe(405);
    expect((await app.call('DELETE', `${CONVERSATIONS}/${id}`)).body).toEqual({ success: true });
    expect(await conversation(app, id)).toBeNull();
    expect((await app.call('DELETE', `${CONVERSATIONS}/${id}`)).status).toBe(404);
    await until(
      () => get<unknown[]>(`/api/v1/sandboxes?id=${task.sandbox_id}`),
      ([sandbox]) => sandbox === null,
    );
  });
});
