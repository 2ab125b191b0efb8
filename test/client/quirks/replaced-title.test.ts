import { beforeEach, describe, expect, it } from 'vitest';
import {
  stateChanges,
  useLoose,
  userSays,
  useV0,
  useV1,
  V0_ID,
} from '../../support/use-scripted.ts';
import { connectTo } from '../support/client.ts';
import type { LooseOptions } from '../support/loose-server.ts';
import { SANDBOX_KEY, ID as V1_ID } from '../support/v1-server.ts';

const ID = '0123456789abcdef0123456789abcdef';
const at = useLoose();

it.each([
  ['answers 422', true],
  ['returns the record with the old title', false],
])('conv rename uses the route of V0 where the route of V1 %s', async (_, isRefused) => {
  at.serve({ v0: true });
  await at.ends(`conv new hello --no-repo --id ${ID}`, {});
  const patches = (): string[] => at.server.lines().filter((line) => line.startsWith('PATCH'));
  const overV1 = `PATCH /api/v1/app-conversations/${ID}`;
  const overV0 = `PATCH /api/conversations/${ID}`;
  at.loose.before = (asked) => {
    if (`${asked.method} ${asked.path}` !== overV1) return null;
    if (isRefused)
      return {
        status: 422,
        json: { detail: [{ loc: ['body', 'public'], msg: 'Field required' }] },
      };
    return { json: { id: ID, sandbox_id: 'sandbox-1', title: 'Old', sandbox_status: 'RUNNING' } };
  };
  await at.ends(`conv rename ${ID} First`, {});
  expect(at.loose.conversations.get(ID)?.title).toBe('First');
  expect(patches()).toEqual([overV1, overV0]);
});

it('a rename to the title that a conversation has shows nothing about a server that ignores titles', async () => {
  at.serve({ v0: true, ignores: ['title'] });
  await at.ends(`conv new hello --no-repo --id ${ID}`, {});
  const conversation = at.loose.conversations.get(ID)!;
  at.loose.before = ({ method, path, body }) => {
    if (`${method} ${path}` === `PATCH /api/conversations/${ID}`)
      conversation.title = (body as { title: string }).title;
    return null;
  };
  conversation.title = 'First';
  const server = await connectTo(at.server.url);
  try {
    expect((await server.conversations.rename(ID, 'First')).title).toBe('First');
    expect((await server.conversations.rename(ID, 'Second')).title).toBe('Second');
    expect(conversation.title).toBe('Second');
  } finally {
    await server.close();
  }
});

describe('a rename over V1', () => {
  const v1 = useV1();
  const RECORD = `PATCH /api/v1/app-conversations/${V1_ID}`;
  const SANDBOX = `PATCH /agent/api/conversations/${V1_ID}`;

  it.each<[string, string | null, number, string[], string]>([
    [
      'is followed by one in the sandbox, from which the server may copy a title',
      'Conversation 0a1b2',
      200,
      [RECORD, SANDBOX],
      '',
    ],
    [
      'says so where the sandbox refuses it',
      null,
      500,
      [RECORD, SANDBOX],
      'the title may be replaced',
    ],
    [
      'is the only one once the server has a title: one in the sandbox would recreate the record',
      'Made up',
      200,
      [RECORD],
      '',
    ],
  ])('%s', async (_, title, status, writes, err) => {
    v1.v1.addConversation({ title });
    v1.script({
      [RECORD]: ({ body }) => ({ json: v1.v1.addConversation(body as Record<string, unknown>) }),
      [SANDBOX]: { status, json: {} },
    });
    await v1.ends(`conv rename ${V1_ID} Chosen`, { writes, err });
    const [, inSandbox] = v1.server.writes();
    if (inSandbox !== undefined)
      expect([inSandbox.body, inSandbox.headers['x-session-api-key']]).toEqual([
        { title: 'Chosen' },
        SANDBOX_KEY,
      ]);
  });
});

describe('a V0 server, which may write the title back that it has read before', () => {
  const v0 = useV0();

  it.each([
    ['says so while the run is in progress', 'running', 'may replace the title'],
    ['says nothing after its end', 'finished', /^(?!.*may replace)/s],
  ])('conv new --title %s', async (_, state, err) => {
    userSays(v0.v0, 'hello');
    stateChanges(v0.v0, state);
    v0.v0.record['status'] = 'RUNNING';
    v0.script({
      [`PATCH /api/conversations/${V0_ID}`]: ({ body }) => {
        Object.assign(v0.v0.record, body);
        return { json: true };
      },
    });
    await v0.ends('conv new hello --no-repo --title Chosen --json', {
      out: { title: 'Chosen' },
      err,
    });
  });
});

describe('a server that stores the title it generates after the one of the user', () => {
  const MAY_REPLACE = 'may replace the title with its own; set it again: acs conv rename';
  const LINE = 'conv new hello --no-repo --title Chosen --json';
  /** The number of renames after which a read finds the title of the server. */
  let replacedAfter: number | null;
  let renames: number;

  beforeEach(() => {
    at.serve({ v0: true, lacks: ['PATCH /api/v1/app-conversations/:id'] });
    [replacedAfter, renames] = [null, 0];
    at.loose.before = ({ method, path }) => {
      const [conversation] = at.loose.conversations.values();
      if (method === 'PATCH' && path.startsWith('/api/conversations/')) renames += 1;
      if (
        method === 'GET' &&
        path === '/api/v1/app-conversations' &&
        conversation &&
        renames === replacedAfter
      )
        [conversation.title, replacedAfter] = ['Made up', null];
      return null;
    };
  });

  it.each(['', ' --wait'])(
    'conv new --title%s sets it again once when it was replaced',
    async (wait) => {
      replacedAfter = 1;
      await at.ends(LINE + wait, { out: { title: 'Chosen' }, hides: MAY_REPLACE });
      expect(at.server.writes()[0]?.body).not.toHaveProperty('title');
      expect([renames, [...at.loose.conversations.values()][0]?.title]).toEqual([2, 'Chosen']);
    },
  );

  it('conv new --title --wait sets it again also where that takes 20 s', async () => {
    replacedAfter = 1;
    const { before } = at.loose;
    let slow = 1;
    at.loose.before = (asked) => {
      const reply = before(asked);
      if (renames < 2 || slow-- < 1) return reply;
      const { handler } = at.loose;
      return at.clock.sleep(20_000).then(() => handler(asked));
    };
    await at.ends(`${LINE} --wait`, { out: { title: 'Chosen' } });
  });

  it.each(['', ' --wait'])(
    'conv new --title%s says that it may come, also after a long start',
    async (wait) => {
      const { before } = at.loose;
      let reads = 0;
      // The task is read every 2 s, and after 20 s without a change its conversation too.
      at.loose.before = (asked) => {
        if (asked.path.endsWith('/start-tasks') && ++reads < 30)
          return { json: [...at.loose.tasks.values()].map(asStarting) };
        if (asked.path === '/api/v1/app-conversations' && asked.method === 'GET' && reads < 30)
          return { json: [null] };
        return before(asked);
      };
      await at.ends(LINE + wait, { out: { title: 'Chosen' }, err: MAY_REPLACE });
    },
  );

  it('conv rename says that it may come, until it has come', async () => {
    const { id } = await at.start('hello', '--wait');
    await at.ends(`conv rename ${id} First`, { err: MAY_REPLACE });
    await at.ends(`conv rename ${id} Second`, { hides: MAY_REPLACE });
  });
});

it.each<[string, LooseOptions, string]>([
  ['before the rename', {}, 'GET /api/v1/app-conversations'],
  [
    'after a rename over V0',
    { v0: true, lacks: ['PATCH /api/v1/app-conversations/:id'] },
    'PATCH /api/conversations/:id',
  ],
])('conv new --title sets it where reads fail for 5 s %s', async (_, served, first) => {
  at.serve(served);
  let sinceMs: number | null = null;
  at.script(({ method, path }) => {
    const isFirst =
      sinceMs === null && `${method} ${path.replace(/[0-9a-f]{32}/, ':id')}` === first;
    if (isFirst) sinceMs = at.clock.now();
    const isFailing =
      sinceMs !== null && !isFirst && method === 'GET' && at.clock.now() - sinceMs < 5_000;
    return isFailing ? { status: 500, json: {} } : null;
  });
  await at.ends('conv new hello --no-repo --title Chosen --json', { out: { title: 'Chosen' } });
});

function asStarting(task: Record<string, unknown>): Record<string, unknown> {
  return { ...task, status: 'WORKING', app_conversation_id: null };
}
