import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApp, KEY, until, type TestApp } from './support.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app.close());

interface V0Event {
  id: number;
  source?: string;
  cause?: number;
  action?: string;
  observation?: string;
  content?: string;
  args?: Record<string, unknown>;
  extras?: Record<string, unknown>;
}

const post = (path: string, body?: unknown) => app.call('POST', path, body);
const get = async <Body = Record<string, unknown>>(path: string): Promise<Body> =>
  (await app.call('GET', path)).body as Body;
const at = (id: string, rest = ''): string => `/api/conversations/${id}${rest}`;

async function lastState(id: string): Promise<V0Event | undefined> {
  const { events } = await get<{ events: V0Event[] }>(at(id, '/events?reverse=true&limit=100'));
  return events.find((event) => event.observation === 'agent_state_changed');
}

function stateReached(id: string, ...states: string[]): Promise<V0Event | undefined> {
  return until(
    () => lastState(id),
    (event) => states.includes(String(event?.extras?.agent_state)),
  );
}

async function create(body: unknown): Promise<string> {
  const answer = await post('/api/conversations', body);
  expect(answer).toMatchObject({ status: 200, body: { status: 'ok', message: null, conversation_status: 'STARTING' } });
  return (answer.body as { conversation_id: string }).conversation_id;
}

const TRAJECTORY = JSON.stringify([
  { source: 'agent', action: 'run', args: { command: 'echo from the shell' } },
  { source: 'agent', action: 'write', args: { path: 'notes.txt', content: 'one\n' } },
  {
    source: 'agent',
    action: 'edit',
    args: { path: 'notes.txt', command: 'str_replace', old_str: 'one', new_str: 'two' },
  },
  { source: 'agent', action: 'read', args: { path: 'notes.txt' } },
  { source: 'agent', action: 'finish', args: { final_thought: 'Ready.' } },
]);

describe('a conversation of V0', () => {
  it('replays a trajectory and shows actions with their observations', async () => {
    const id = await create({ replay_json: TRAJECTORY, initial_user_msg: 'Please' });
    await stateReached(id, 'finished', 'error');
    const { events, has_more } = await get<{ events: V0Event[]; has_more: boolean }>(at(id, '/events?limit=100'));
    expect(has_more).toBe(false);
    expect(events.map((event) => event.id)).toEqual(events.map((_, index) => index));
    expect(
      events.map(
        (event) =>
          event.action ??
          `${event.observation}${event.extras?.agent_state ? `:${String(event.extras.agent_state)}` : ''}`,
      ),
    ).toEqual([
      'agent_state_changed:loading',
      'system',
      'message',
      'agent_state_changed:running',
      'run',
      'run',
      'write',
      'write',
      'edit',
      'edit',
      'read',
      'read',
      'finish',
      'agent_state_changed:finished',
    ]);
    const run = events.find((event) => event.observation === 'run');
    expect(run).toMatchObject({
      cause: 4,
      content: expect.stringContaining('from the shell'),
      extras: { metadata: { exit_code: 0 } },
    });
    expect(events.find((event) => event.action === 'finish')).toMatchObject({ args: { final_thought: 'Ready.' } });
    const range = await get<{ events: V0Event[] }>(at(id, '/events?start_id=2&end_id=4'));
    expect(range.events.map((event) => event.id)).toEqual([2, 3, 4]);
    expect((await get<{ trajectory: V0Event[] }>(at(id, '/trajectory'))).trajectory).toEqual(events);
    expect(await app.call('GET', at(id, '/events?limit=101'))).toMatchObject({
      status: 400,
      body: { detail: 'Invalid limit' },
    });
  });

  it('returns, changes and accepts files of its workspace', async () => {
    const id = await create({ replay_json: TRAJECTORY });
    await stateReached(id, 'finished');
    expect(await get(at(id, '/list-files'))).toEqual(['notes.txt']);
    expect(await get(at(id, '/select-file?file=notes.txt'))).toEqual({ code: 'two\n' });
    expect((await app.call('GET', at(id, '/select-file?file=none'))).status).toBe(404);
    expect(await get(at(id, '/git/changes'))).toEqual([{ status: 'A', path: 'notes.txt' }]);
    expect(await get(at(id, '/git/diff?path=notes.txt'))).toEqual({
      original: '',
      modified: expect.stringMatching(/^two\n?$/),
    });
    const form = new Request('http://x/', { method: 'POST', body: formWith('up.txt', 'sent') });
    const answer = await app.call('POST', at(id, '/upload-files'), await form.clone().text(), {
      'X-Session-API-Key': KEY,
      'Content-Type': form.headers.get('content-type') ?? '',
    });
    expect(answer.body).toMatchObject({ uploaded_files: [expect.stringMatching(/\/up\.txt$/)], skipped_files: [] });
    expect(await get(at(id, '/select-file?file=up.txt'))).toEqual({ code: 'sent' });
    const zip = await app.call('GET', at(id, '/zip-directory'));
    expect([zip.status, zip.headers.get('content-type')]).toEqual([200, 'application/zip']);
  });

  it('is listed newest first, renamed, stopped, started and deleted', async () => {
    const first = await create({ replay_json: 'demo' });
    const second = await create({ replay_json: 'demo', conversation_id: 'abcdef0123456789abcdef0123456789' });
    expect(second).toBe('abcdef0123456789abcdef0123456789');
    await Promise.all([stateReached(first, 'finished'), stateReached(second, 'finished')]);
    const page = await get<{ results: { conversation_id: string }[]; next_page_id: string }>(
      '/api/conversations?limit=1',
    );
    expect(page.results.map((each) => each.conversation_id)).toEqual([second]);
    const next = await get<typeof page>(`/api/conversations?limit=1&page_id=${page.next_page_id}`);
    expect(next.results.map((each) => each.conversation_id)).toEqual([first]);
    expect((await app.call('GET', '/api/conversations?page_id=zzz')).status).toBe(400);
    expect((await app.call('PATCH', at(first), { title: 'Renamed' })).body).toBe(true);
    expect((await app.call('PATCH', at(first), { title: '' })).status).toBe(422);
    expect(await get(at(first))).toMatchObject({ title: 'Renamed', status: 'RUNNING', conversation_version: 'V0' });
    const stopped = await post(at(first, '/stop'));
    expect(stopped.body).toMatchObject({
      message: 'Conversation stopped successfully',
      conversation_status: 'RUNNING',
    });
    expect(await get(at(first))).toMatchObject({ status: 'STOPPED', runtime_status: null, url: null });
    expect((await post(at(first, '/stop'))).body).toMatchObject({ message: 'Conversation was not running' });
    expect((await app.call('GET', at(first, '/list-files'))).status).toBe(404);
    expect((await post(at(first, '/events'), { action: 'message', args: { content: 'x' } })).status).toBe(409);
    expect((await get<{ events: unknown[] }>(at(first, '/events?limit=1'))).events).toHaveLength(1);
    expect((await post(at(first, '/start'), {})).body).toMatchObject({ status: 'ok', conversation_status: 'STARTING' });
    await until(
      () => get(at(first)),
      (info) => info.status === 'RUNNING',
    );
    expect((await app.call('DELETE', at(first))).body).toBe(true);
    expect((await app.call('DELETE', at(first))).body).toBe(false);
    expect((await app.call('GET', at(first))).body).toBeNull();
  });

  it('that cannot start has the reason in its state and its events', async () => {
    const id = await create({ replay_json: 'demo', repository: '/no/such/repository' });
    const state = await stateReached(id, 'error');
    expect(state?.extras?.reason).toContain('/no/such/repository');
    expect(await get(at(id))).toMatchObject({ status: 'ERROR' });
  });

  it.each([
    [{}, 'CONFIGURATION$SETTINGS_NOT_FOUND', /replay/],
    [{ initial_user_msg: 'hi' }, 'CONFIGURATION$SETTINGS_NOT_FOUND', /llm_model/],
    [{ replay_json: 'nonsense' }, 'REPLAY$INVALID', /replay cannot be used/],
  ])('is refused before it is created for %j', async (body, msg_id, message) => {
    expect(await post('/api/conversations', body)).toMatchObject({
      status: 400,
      body: { status: 'error', msg_id, message: expect.stringMatching(message) },
    });
  });

  it.each(['nonsense', 'owner/name'])('is refused for the repository %s, which names no host', async (repository) => {
    expect(await post('/api/conversations', { repository, replay_json: 'demo' })).toMatchObject({
      status: 401,
      body: `Unable to access repo ${repository}`,
    });
  });

  it('with a model but no replay is refused with the reason', async () => {
    await post('/api/settings', { llm_model: 'openai/small', llm_api_key: 'sk' });
    expect(await post('/api/conversations', { initial_user_msg: 'hi' })).toMatchObject({
      status: 400,
      body: { msg_id: 'CONFIGURATION$MODEL_NOT_SUPPORTED', message: expect.stringContaining('only replays') },
    });
    expect(await post('/api/v1/app-conversations', {})).toMatchObject({ status: 400 });
  });

  it.each([
    [{ nope: 1 }, 'extra_forbidden'],
    [{ initial_user_msg: 5 }, 'string_type'],
    [{ image_urls: 'x' }, 'list_type'],
    [{ git_provider: 'nope' }, 'enum'],
    [{ suggested_task: { repo: 'a/b' } }, 'missing'],
    [{ create_microagent: {} }, 'missing'],
  ])('is refused for its shape: %j', async (body, type) => {
    expect(await post('/api/conversations', body)).toMatchObject({
      status: 422,
      body: { detail: expect.arrayContaining([expect.objectContaining({ type })]) },
    });
  });

  it('executes a command of the user, with `user` as the source of its events', async () => {
    const id = await create({ replay_json: TRAJECTORY });
    await stateReached(id, 'finished');
    const command = 'echo mine > mine.txt; echo done';
    expect((await post(at(id, '/events'), { action: 'run', args: {} })).status).toBe(400);
    expect((await post(at(id, '/events'), { action: 'run', args: { command } })).body).toEqual({ success: true });
    const events = await until(
      async () => (await get<{ events: V0Event[] }>(at(id, '/events?reverse=true&limit=2'))).events,
      ([newest]) => newest?.observation === 'run' && newest.source === 'user',
    );
    expect(events).toMatchObject([
      { source: 'user', observation: 'run', content: 'done', cause: events[1]?.id, success: true },
      { source: 'user', action: 'run', args: { command } },
    ]);
    expect(await get(at(id, '/select-file?file=mine.txt'))).toEqual({ code: 'mine\n' });
  });

  it('is not confirmed while no action is pending', async () => {
    const id = await create({ replay_json: TRAJECTORY });
    await stateReached(id, 'finished');
    const confirm = { action: 'change_agent_state', args: { agent_state: 'user_confirmed' } };
    expect((await post(at(id, '/events'), confirm)).status).toBe(409);
    expect((await post(at(id, '/events'), { nope: 1 })).status).toBe(422);
    expect((await post(at(id, '/events'), { action: 'message', args: { content: 'go on' } })).body).toEqual({
      success: true,
    });
    const state = await stateReached(id, 'error');
    expect(state?.extras?.reason).toMatch(/model/i);
  });
});

function formWith(name: string, content: string): FormData {
  const form = new FormData();
  form.append('files', new Blob([content]), name);
  return form;
}
