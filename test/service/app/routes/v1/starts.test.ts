import { describe, expect, it } from 'vitest';
import { appOfSuite, ended, startedTask, trajectory } from '../../support.ts';

const app = appOfSuite();
const { get, post } = app;

const CONVERSATIONS = '/api/v1/app-conversations';

describe('a start over V1', () => {
  it('omits secrets and the replay in its answers', async () => {
    const secrets = { API_TOKEN: 'very-secret-value' };
    const task = await startedTask(app, { replay_json: trajectory('printf "%s" "$API_TOKEN" | wc -c'), secrets });
    expect(task.request).toMatchObject({ secrets: { API_TOKEN: '**********' } });
    expect(task.request.replay_json).toMatch(/^sha256:[0-9a-f]{64}$/);
    const id = task.app_conversation_id ?? '';
    await ended(app, id);
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
});
