import { beforeAll, describe, expect, it } from 'vitest';
import {
  appOfEachTest,
  appOfSuite,
  conversationOfEachDialect,
  expectAnswers,
  startedTask,
  until,
} from '../support.ts';

const V0 = '/api/conversations';

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

const app = appOfEachTest();
const { get, post } = app;
const at = (id: string, rest = ''): string => `${V0}/${id}${rest}`;
const message = (content: string) => ({ action: 'message', args: { content } });

async function create(body: unknown): Promise<string> {
  const answer = await post(V0, body);
  const accepted = { status: 'ok', message: null, conversation_status: 'STARTING' };
  expect(answer).toMatchObject({ status: 200, body: accepted });
  return (answer.body as { conversation_id: string }).conversation_id;
}

const events = async (id: string, query: string): Promise<V0Event[]> =>
  (await get<{ events: V0Event[] }>(at(id, `/events?${query}`))).events;

/** The event of the last state, once it is this one. */
function stateReached(id: string, state: string): Promise<V0Event | undefined> {
  return until(
    async () =>
      (await events(id, 'reverse=true&limit=100')).find(
        ({ observation }) => observation === 'agent_state_changed',
      ),
    (event) => event?.extras?.agent_state === state,
  );
}

describe('a conversation of V0', () => {
  it('is listed newest first, renamed, stopped, started and deleted', async () => {
    const first = await create({ replay_json: 'demo' });
    const second = await create({
      replay_json: 'demo',
      conversation_id: 'abcdef0123456789abcdef0123456789',
    });
    expect(second).toBe('abcdef0123456789abcdef0123456789');
    await Promise.all([stateReached(first, 'finished'), stateReached(second, 'finished')]);
    const { results, next_page_id } = await get<{ results: unknown[]; next_page_id: string }>(
      `${V0}?limit=1`,
    );
    expect(results).toMatchObject([{ conversation_id: second }]);
    const notRunning = { message: 'Conversation was not running' };
    await expectAnswers(app, [
      [
        `${V0}?limit=1&page_id=${next_page_id}`,
        undefined,
        200,
        { results: [{ conversation_id: first }] },
      ],
      [`${V0}?page_id=zzz`, undefined, 400],
      [`${V0}?page_id=${Buffer.from('{"v0":null}').toString('base64')}`, undefined, 400],
      [`PATCH ${at(first)}`, { title: 'Renamed' }, 200, true],
      [`PATCH ${at(first)}`, { title: '' }, 422],
      [
        at(first),
        undefined,
        200,
        { title: 'Renamed', status: 'RUNNING', conversation_version: 'V0' },
      ],
      [
        `POST ${at(first, '/stop')}`,
        undefined,
        200,
        { message: 'Conversation stopped successfully' },
      ],
      [at(first), undefined, 200, { status: 'STOPPED', runtime_status: null, url: null }],
      [`POST ${at(first, '/stop')}`, undefined, 200, notRunning],
      [at(first, '/git/changes'), undefined, 404],
      [`POST ${at(first, '/events')}`, message('x'), 409],
      [`POST ${at(first, '/start')}`, {}, 200, { status: 'ok', conversation_status: 'STARTING' }],
    ]);
    await until(
      () => get(at(first)),
      (info) => info.status === 'RUNNING',
    );
    await expectAnswers(app, [
      [`DELETE ${at(first)}`, undefined, 200, true],
      [`DELETE ${at(first)}`, undefined, 200, false],
      [at(first), undefined, 200, null],
      [`POST ${at(first, '/start')}`, {}, 404],
      [`POST ${at(first, '/stop')}`, undefined, 200, notRunning],
      [`PATCH ${at(first)}`, { title: 'x' }, 404, { msg_id: 'CONVERSATION$NOT_FOUND' }],
      [at('a..b'), undefined, 400],
    ]);
  });

  it('that cannot start has the reason in its state and its events', async () => {
    const id = await create({ replay_json: 'demo', repository: '/no/such/repository' });
    expect((await stateReached(id, 'error'))?.extras?.reason).toContain('/no/such/repository');
    await expectAnswers(app, [
      [at(id), undefined, 200, { status: 'ERROR' }],
      [
        `POST ${at(id, '/start')}`,
        {},
        409,
        { message: expect.stringContaining('/no/such/repository') as string },
      ],
    ]);
  });

  it('shows actions with their observations, the files and changes of its workspace, and takes commands', async () => {
    const replay_json = JSON.stringify([
      { source: 'agent', action: 'run', args: { command: 'echo from the shell' } },
      { source: 'agent', action: 'write', args: { path: 'notes.txt', content: 'two\n' } },
      { source: 'agent', action: 'finish', args: { final_thought: 'Ready.' } },
    ]);
    const id = await create({ replay_json, initial_user_msg: 'Please' });
    await stateReached(id, 'finished');
    const all = await events(id, 'limit=100');
    expect(all.map((each) => each.action ?? each.extras?.agent_state ?? each.observation)).toEqual(
      'loading system message running run run write write finish finished'.split(' '),
    );
    expect(all.find(({ observation }) => observation === 'run')).toMatchObject({
      cause: 4,
      content: 'from the shell',
    });
    expect((await events(id, 'start_id=2&end_id=4')).map((each) => each.id)).toEqual([2, 3, 4]);
    const command = 'echo mine > mine.txt; echo done';
    const confirm = { action: 'change_agent_state', args: { agent_state: 'user_confirmed' } };
    await expectAnswers(app, [
      [at(id, '/events?limit=101'), undefined, 400, { detail: 'Invalid limit' }],
      [at(id, '/select-file?file=notes.txt'), undefined, 200, { code: 'two\n' }],
      [at(id, '/select-file?file=none'), undefined, 404],
      [at(id, '/git/changes'), undefined, 200, [{ status: 'A', path: 'notes.txt' }]],
      [
        at(id, '/git/diff?path=notes.txt'),
        undefined,
        200,
        { original: '', modified: expect.stringMatching(/^two\n?$/) },
      ],
      [`POST ${at(id, '/events')}`, confirm, 409],
      [
        `POST ${at(id, '/events')}`,
        { action: 'change_agent_state', args: { agent_state: 'x' } },
        400,
      ],
      [`POST ${at(id, '/events')}`, { action: 'think', args: {} }, 400],
      [`POST ${at(id, '/events')}`, { nope: 1 }, 422],
      [`POST ${at(id, '/events')}`, { action: 'run', args: {} }, 400],
      [`POST ${at(id, '/events')}`, { action: 'run', args: { command } }, 200, { success: true }],
    ]);
    const last = await until(
      () => events(id, 'reverse=true&limit=2'),
      ([newest]) => newest?.observation === 'run' && newest.source === 'user',
    );
    expect(last).toMatchObject([
      { source: 'user', observation: 'run', content: 'done', cause: last[1]?.id, success: true },
      { source: 'user', action: 'run', args: { command } },
    ]);
    await expectAnswers(app, [
      [at(id, '/select-file?file=mine.txt'), undefined, 200, { code: 'mine\n' }],
      [`POST ${at(id, '/events')}`, message('go on'), 200, { success: true }],
    ]);
    expect((await stateReached(id, 'error'))?.extras?.reason).toMatch(/model/i);
  });
});

describe('V0 and a conversation of V1', () => {
  it('renames and deletes it', async () => {
    const { app_conversation_id } = await startedTask(app, { replay_json: 'demo' });
    const id = app_conversation_id ?? '';
    const v1 = `/api/v1/app-conversations?ids=${id}`;
    await expectAnswers(app, [
      [`PATCH ${at(id)}`, { title: 'Renamed by V0' }, 200, true],
      [v1, undefined, 200, [{ title: 'Renamed by V0' }]],
      [`DELETE ${at(id)}`, undefined, 200, true],
      [v1, undefined, 200, [null]],
      [`DELETE ${at(id)}`, undefined, 200, false],
    ]);
  });

  it('refuses to create one with its id, also while it starts', async () => {
    const { v1 } = conversationOfEachDialect(app);
    const starting = 'abcdef'.padEnd(32, '7');
    await expectAnswers(app, [
      [`POST ${V0}`, { replay_json: 'demo', conversation_id: v1 }, 409],
      ['POST /api/v1/app-conversations', { replay_json: 'demo', conversation_id: starting }, 200],
      [`POST ${V0}`, { replay_json: 'demo', conversation_id: starting }, 409],
    ]);
  });

  describe('beside one of its own', () => {
    const both = appOfSuite();
    let ids: ReturnType<typeof conversationOfEachDialect>;
    beforeAll(() => {
      ids = conversationOfEachDialect(both);
    });

    it('lists both, newest first, and continues where a page ended, in either dialect', async () => {
      const of = (id: string, conversation_version: string) => ({
        conversation_id: id,
        conversation_version,
      });
      const [v0, v1] = [of(ids.v0, 'V0'), of(ids.v1, 'V1')];
      const pageId = (position: object) => Buffer.from(JSON.stringify(position)).toString('base64');
      // Behind the time of the last conversation of the page.
      const next = pageId({ v0: null, v1: both.store.conversations.get(ids.v0)?.created_at });
      const offset = pageId({ v0: Buffer.from('0').toString('base64'), v1: '1000000000' });
      await expectAnswers(both, [
        [V0, undefined, 200, { results: [v0, v1], next_page_id: null }],
        [`${V0}?limit=1`, undefined, 200, { results: [v0], next_page_id: next }],
        [`${V0}?limit=1&page_id=${next}`, undefined, 200, { results: [v1], next_page_id: null }],
        [`${V0}?page_id=${offset}`, undefined, 200, { results: [v0], next_page_id: null }],
      ]);
    });

    it('returns its record, but neither its events nor its sandbox', async () => {
      const detail = `Conversation ${ids.v1} not found`;
      await expectAnswers(both, [
        [
          at(ids.v1),
          undefined,
          200,
          { conversation_id: ids.v1, conversation_version: 'V1', status: 'RUNNING' },
        ],
        [at(ids.v1, '/events'), undefined, 404, { detail }],
        [at(ids.v1, '/git/changes'), undefined, 404, { detail }],
        [`POST ${at(ids.v1, '/events')}`, message('hi'), 404],
        [`POST ${at(ids.v1, '/start')}`, {}, 404],
        [
          `POST ${at(ids.v1, '/stop')}`,
          undefined,
          200,
          { message: 'Conversation was not running' },
        ],
      ]);
      expect(await both.get(at(ids.v1))).not.toHaveProperty('local_agent_state');
    });

    it('has the sandbox and the status of the run in its own record, for V1 and for lists', async () => {
      const own = {
        sandbox_id: null,
        local_sandbox_id: ids.sandbox,
        local_agent_state: 'finished',
      };
      await expectAnswers(both, [[at(ids.v0), undefined, 200, { ...own, status: 'RUNNING' }]]);
    });
  });
});
