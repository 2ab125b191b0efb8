import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Server } from '../../../src/client/shared/server.ts';
import type { Reply } from '../../support/server.ts';
import { V0_ID as ID, useV0 } from '../../support/use-scripted.ts';
import { connectTo, failure, newConversation } from '../support/client.ts';

const at = useV0();
const POST = 'POST /api/conversations';
let server: Server;
beforeEach(async () => {
  server = await connectTo(at.server.url);
  at.server.asked.length = 0;
});
afterEach(() => server.close());

async function start(members: Parameters<typeof newConversation>[0]): Promise<void> {
  const options = { signal: new AbortController().signal, until: 'accepted' } as const;
  const running = server.conversations.start(newConversation(members), options);
  while (!(await running.next()).done) continue;
}

it('a V0 start sends every member of the interface under its name, and no member without a flag', async () => {
  const body = {
    suggested_task: { task_type: 'FAILING_CHECKS' },
    create_microagent: { repo: 'a/b' },
  };
  const same = {
    repository: 'a/b',
    git_provider: 'github',
    image_urls: ['https://x.example/y.png'],
  };
  const named = { mcp_config: { sse_servers: [] }, conversation_id: ID };
  await start({ ...same, ...named, branch: 'main', replay: '[]', instructions: 'be kind', body });
  await start({});
  expect(at.server.writes().map((asked) => asked.body)).toEqual([
    {
      ...same,
      ...named,
      ...body,
      selected_branch: 'main',
      initial_user_msg: 'do it',
      replay_json: '[]',
      conversation_instructions: 'be kind',
    },
    { initial_user_msg: 'do it' },
  ]);
});

const extra = (member: string): object => ({
  detail: [{ loc: ['body', member], msg: 'not permitted' }],
});

it.each<[Reply, string]>([
  [
    {
      status: 400,
      json: { message: 'Settings not found', msg_id: 'CONFIGURATION$SETTINGS_NOT_FOUND' },
    },
    'config',
  ],
  [{ status: 422, json: extra('conversation_id') }, 'unsupported'],
  [{ status: 422, json: extra('replay_json') }, 'usage'],
  [{ status: 401, json: 'No token for this provider' }, 'auth'],
  [{ cut: true }, 'unknown-outcome'],
])('a V0 start that got %j is reported as %s and sent once', async (reply, kind) => {
  at.script({ [POST]: reply });
  expect((await failure(start({ conversation_id: kind === 'unsupported' ? ID : null }))).kind).toBe(
    kind,
  );
  expect(at.writes()).toEqual([POST]);
});

it.each([
  { model: 'x' },
  { spec_id: 's' },
  { sandbox_id: 's' },
  { secrets: { A: 'b' } },
  { body: { processors: [] } },
  { confirm: 'always' as const },
])('a V0 start with %j is exit 12 before anything is sent', async (members) => {
  expect((await failure(start(members))).kind).toBe('unsupported');
  expect(at.server.asked).toEqual([]);
});
