import { describe, expect, it } from 'vitest';
import { conversationOfEachDialect, startedTask, until } from '../../support.ts';
import { at, v0AppOfSuite } from './support.ts';

const v0 = v0AppOfSuite();

describe('a conversation of V0', () => {
  it('is listed newest first, renamed, stopped, started and deleted', async () => {
    const first = await v0.create({ replay_json: 'demo' });
    const second = await v0.create({ replay_json: 'demo', conversation_id: 'abcdef0123456789abcdef0123456789' });
    expect(second).toBe('abcdef0123456789abcdef0123456789');
    await Promise.all([v0.stateReached(first, 'finished'), v0.stateReached(second, 'finished')]);
    const page = await v0.get<{ results: { conversation_id: string }[]; next_page_id: string }>(
      '/api/conversations?limit=1',
    );
    expect(page.results.map((each) => each.conversation_id)).toEqual([second]);
    const next = await v0.get<typeof page>(`/api/conversations?limit=1&page_id=${page.next_page_id}`);
    expect(next.results.map((each) => each.conversation_id)).toEqual([first]);
    expect((await v0.app.call('GET', '/api/conversations?page_id=zzz')).status).toBe(400);
    expect((await v0.app.call('PATCH', at(first), { title: 'Renamed' })).body).toBe(true);
    expect((await v0.app.call('PATCH', at(first), { title: '' })).status).toBe(422);
    expect(await v0.get(at(first))).toMatchObject({ title: 'Renamed', status: 'RUNNING', conversation_version: 'V0' });
    const stopped = await v0.post(at(first, '/stop'));
    expect(stopped.body).toMatchObject({
      message: 'Conversation stopped successfully',
      conversation_status: 'RUNNING',
    });
    expect(await v0.get(at(first))).toMatchObject({ status: 'STOPPED', runtime_status: null, url: null });
    expect((await v0.post(at(first, '/stop'))).body).toMatchObject({ message: 'Conversation was not running' });
    expect((await v0.app.call('GET', at(first, '/git/changes'))).status).toBe(404);
    expect((await v0.post(at(first, '/events'), { action: 'message', args: { content: 'x' } })).status).toBe(409);
    expect((await v0.get<{ events: unknown[] }>(at(first, '/events?limit=1'))).events).toHaveLength(1);
    expect((await v0.post(at(first, '/start'), {})).body).toMatchObject({
      status: 'ok',
      conversation_status: 'STARTING',
    });
    await until(
      () => v0.get(at(first)),
      (info) => info.status === 'RUNNING',
    );
    expect((await v0.app.call('DELETE', at(first))).body).toBe(true);
    expect((await v0.app.call('DELETE', at(first))).body).toBe(false);
    expect((await v0.app.call('GET', at(first))).body).toBeNull();
  });

  it('that cannot start has the reason in its state and its events', async () => {
    const id = await v0.create({ replay_json: 'demo', repository: '/no/such/repository' });
    const state = await v0.stateReached(id, 'error');
    expect(state?.extras?.reason).toContain('/no/such/repository');
    expect(await v0.get(at(id))).toMatchObject({ status: 'ERROR' });
  });

  it.each([
    [{}, 'CONFIGURATION$SETTINGS_NOT_FOUND', /replay/],
    [{ initial_user_msg: 'hi' }, 'CONFIGURATION$SETTINGS_NOT_FOUND', /llm_model/],
    [{ replay_json: 'nonsense' }, 'REPLAY$INVALID', /replay cannot be used/],
  ])('is refused before it is created for %j', async (body, msg_id, message) => {
    expect(await v0.post('/api/conversations', body)).toMatchObject({
      status: 400,
      body: { status: 'error', msg_id, message: expect.stringMatching(message) },
    });
  });

  it.each(['nonsense', 'owner/name'])('is refused for the repository %s, which names no host', async (repository) => {
    expect(await v0.post('/api/conversations', { repository, replay_json: 'demo' })).toMatchObject({
      status: 401,
      body: `Unable to access repo ${repository}`,
    });
  });

  it('with a model but no replay is refused with the reason', async () => {
    await v0.post('/api/settings', { llm_model: 'openai/small', llm_api_key: 'sk' });
    expect(await v0.post('/api/conversations', { initial_user_msg: 'hi' })).toMatchObject({
      status: 400,
      body: { msg_id: 'CONFIGURATION$MODEL_NOT_SUPPORTED', message: expect.stringContaining('only replays') },
    });
    expect(await v0.post('/api/v1/app-conversations', {})).toMatchObject({ status: 400 });
  });

  it.each([
    [{ nope: 1 }, 'extra_forbidden'],
    [{ initial_user_msg: 5 }, 'string_type'],
    [{ image_urls: 'x' }, 'list_type'],
    [{ git_provider: 'nope' }, 'enum'],
    [{ suggested_task: { repo: 'a/b' } }, 'missing'],
    [{ create_microagent: {} }, 'missing'],
  ])('is refused for its shape: %j', async (body, type) => {
    expect(await v0.post('/api/conversations', body)).toMatchObject({
      status: 422,
      body: { detail: expect.arrayContaining([expect.objectContaining({ type })]) },
    });
  });
});

describe('V0 of a service that serves both dialects', () => {
  it('renames and deletes a V1 conversation', async () => {
    const { app_conversation_id: id } = await startedTask(v0.app, { replay_json: 'demo' });
    const at = `/api/conversations/${id ?? ''}`;
    expect((await v0.app.call('PATCH', at, { title: 'Renamed by V0' })).body).toBe(true);
    expect(await v0.get(`/api/v1/app-conversations?ids=${id ?? ''}`)).toMatchObject([{ title: 'Renamed by V0' }]);
    expect((await v0.app.call('DELETE', at)).body).toBe(true);
    expect(await v0.get(`/api/v1/app-conversations?ids=${id ?? ''}`)).toEqual([null]);
    expect((await v0.app.call('DELETE', at)).body).toBe(false);
  });

  it('refuses to create one with the id of a V1 conversation, also while that starts', async () => {
    const { v1 } = conversationOfEachDialect(v0.app);
    const create = (conversation_id: string) =>
      v0.app.call('POST', '/api/conversations', { replay_json: 'demo', conversation_id });
    expect((await create(v1)).status).toBe(409);
    const conversation_id = 'abcdef'.padEnd(32, '7');
    const starting = v0.app.call('POST', '/api/v1/app-conversations', { replay_json: 'demo', conversation_id });
    expect((await starting).status).toBe(200);
    expect((await create(conversation_id)).status).toBe(409);
  });
});
