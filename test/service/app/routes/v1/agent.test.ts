import { beforeAll, describe, expect, it } from 'vitest';
import { appOfSuite, conversation, ended, startedTask, until } from '../../support.ts';

const app = appOfSuite();
let id: string;
let sandboxId: string;

beforeAll(async () => {
  const task = await startedTask(app, { replay_json: 'demo' });
  id = task.app_conversation_id ?? '';
  sandboxId = (await conversation(app, id))?.sandbox_id ?? '';
  const llm = { model: 'openai/second', api_key: 'k-second' };
  await app.call('POST', '/api/v1/settings/profiles/second', { llm });
});

const change = (which: string, body: unknown, of = id) =>
  app.call('POST', `/api/v1/app-conversations/${of}/${which}`, body);

it('the model of a profile is set for a conversation at app server and agent server', async () => {
  expect(await change('switch_profile', { profile_name: 'second' })).toMatchObject({
    status: 200,
    body: { success: true },
  });
  expect(await conversation(app, id)).toMatchObject({ llm_model: 'openai/second' });
  const answer = await app.context.supervisor.send(sandboxId, { method: 'GET', path: `/api/conversations/${id}` });
  expect(JSON.parse(answer.body.toString())).toMatchObject({ agent: { llm: { model: 'openai/second' } } });
});

it('unknown profiles, conversations and agents are refused', async () => {
  expect(await change('switch_profile', { profile_name: 'nope' })).toMatchObject({
    status: 404,
    body: { detail: "Profile 'nope' not found" },
  });
  expect((await change('switch_profile', { profile_name: '' })).status).toBe(422);
  expect((await change('switch_profile', { profile_name: 'second' }, 'ab'.repeat(16))).status).toBe(404);
  expect((await change('switch_acp_model', { model: 'x' })).status).toBe(400);
});

it('the switch is refused while the sandbox is paused', async () => {
  await app.context.supervisor.pause(sandboxId);
  await until(
    () => Promise.resolve(app.store.sandboxes.get(sandboxId)),
    (row) => row?.status === 'PAUSED',
  );
  expect((await change('switch_profile', { profile_name: 'second' })).status).toBe(409);
  expect((await change('switch_acp_model', { model: 'x' })).status).toBe(409);
});

describe('messages', () => {
  it('are stored in a running conversation', async () => {
    const task = await startedTask(app, { replay_json: 'demo' });
    const id = task.app_conversation_id ?? '';
    await ended(app, id);
    const content = [{ type: 'text', text: 'and now?' }];
    expect(await app.call('POST', `/api/v1/app-conversations/${id}/send-message`, { content })).toMatchObject({
      status: 200,
      body: { success: true, sandbox_status: 'RUNNING', message: null },
    });
    expect((await app.call('POST', `/api/v1/app-conversations/${id}/send-message`, { content: [] })).status).toBe(422);
    const unknown = '00000000-0000-0000-0000-00000000000a';
    expect((await app.call('POST', `/api/v1/app-conversations/${unknown}/send-message`, { content })).status).toBe(404);
  });
});
