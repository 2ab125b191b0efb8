import { describe, expect, it } from 'vitest';
import { connectedV0, ID } from '../support/connected-v0.ts';
import { failure } from '../support/failure.ts';
import type { Reply } from '../support/fake-server.ts';
import { newConversation } from '../support/new-conversation.ts';

const v0 = connectedV0();

describe('starting over V0', () => {
  const post = (reply: Reply): void => {
    v0.world.before = ({ method, path }) => (method === 'POST' && path === '/api/conversations' ? reply : null);
  };
  const start = async (members: Parameters<typeof newConversation>[0]): Promise<string> => {
    const running = v0.server.conversations.start(newConversation(members), {
      signal: new AbortController().signal,
      until: 'started',
    });
    for (;;) {
      const next = await running.next();
      if (next.done) return next.value.id;
    }
  };

  it('sends every member of the interface under its name, and no member without a flag', async () => {
    post({ json: { status: 'ok', conversation_id: ID, message: null } });
    const suggested_task = {
      git_provider: 'github',
      task_type: 'FAILING_CHECKS',
      repo: 'a/b',
      issue_number: 3,
      title: 't',
    };
    await start({
      repository: 'a/b',
      branch: 'main',
      git_provider: 'github',
      image_urls: ['https://x.example/y.png'],
      replay: '[]',
      suggested_task,
      microagent: { repo: 'a/b' },
      instructions: 'be kind',
      mcp_config: { sse_servers: [] },
      conversation_id: ID,
    });
    expect(v0.fake.asked.find(({ method }) => method === 'POST')?.body).toEqual({
      repository: 'a/b',
      git_provider: 'github',
      selected_branch: 'main',
      initial_user_msg: 'do it',
      image_urls: ['https://x.example/y.png'],
      replay_json: '[]',
      suggested_task,
      create_microagent: { repo: 'a/b' },
      conversation_instructions: 'be kind',
      mcp_config: { sse_servers: [] },
      conversation_id: ID,
    });
    v0.fake.asked.length = 0;
    await start({});
    expect(v0.fake.asked.find(({ method }) => method === 'POST')?.body).toEqual({ initial_user_msg: 'do it' });
  });

  it.each([
    [
      {
        status: 400,
        json: { status: 'error', message: 'Settings not found', msg_id: 'CONFIGURATION$SETTINGS_NOT_FOUND' },
      },
      'config',
    ],
    [
      { status: 422, json: { detail: [{ loc: ['body', 'conversation_id'], msg: 'Extra inputs are not permitted' }] } },
      'unsupported',
    ],
    [{ status: 422, json: { detail: [{ loc: ['body', 'replay_json'], msg: 'no JSON' }] } }, 'usage'],
    [{ status: 401, json: 'No token for this provider' }, 'auth'],
    [{ cut: true }, 'unknown-outcome'],
  ] as [Reply, string][])('reports a start that got %j as %s', async (reply, kind) => {
    post(reply);
    const error = await failure(start({ conversation_id: kind === 'unsupported' ? ID : null }));
    expect(error.kind).toBe(kind);
    expect(v0.fake.lines().filter((line) => line === 'POST /api/conversations')).toHaveLength(1);
  });

  it('refuses flags that V0 does not support before anything is sent', async () => {
    for (const members of [
      { model: 'x' },
      { spec_id: 's' },
      { sandbox_id: 's' },
      { secrets: { A: 'b' } },
      { confirm: 'always' as const },
    ]) {
      expect((await failure(start(members))).kind).toBe('unsupported');
    }
    expect(v0.fake.asked).toEqual([]);
  });
});
