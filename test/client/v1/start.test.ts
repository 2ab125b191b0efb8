import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { idleClock, TestClock } from '../../support/test-clock.ts';
import type { Asked, Reply } from '../../support/server.ts';
import { useV1 } from '../../support/use-scripted.ts';
import {
  event,
  finish,
  OTHER_ID,
  recordings,
  SANDBOX_KEY,
  status,
  userMessage,
} from '../support/v1-server.ts';

const at = useV1({ noun: 'conv' });
const POST = 'POST /api/v1/app-conversations';
const TASKS = '/api/v1/app-conversations/start-tasks';
const RECORDED = (recordings('1.11.0').body('tasks.get') as Record<string, unknown>[])[0] ?? {};
const line = 'new hello --no-repo --json';

/** The id that the last start was sent with. */
let sentId: string;
/** Answers first. */
let answer: (asked: Asked) => Reply | null;

type Task = Record<string, unknown>;
const ready = (): Task => {
  at.v1.addConversation({ id: sentId });
  return { status: 'READY', app_conversation_id: sentId };
};

/**
 * The server takes each start, whose task has the first of these states at the first read, and so
 * on.
 */
function takes(...states: (Task | (() => Task))[]): void {
  at.v1.before = (asked) => {
    if (`${asked.method} ${asked.path}` === POST) {
      const request = asked.body as { conversation_id: string };
      sentId = request.conversation_id.replaceAll('-', '');
      // The answer to the start carries a zone, the task that is read does not; both are UTC.
      const now = new Date().toISOString();
      const times = { created_at: now.replace('Z', ''), updated_at: now.replace('Z', '') };
      const task = { ...RECORDED, ...times, id: OTHER_ID, app_conversation_id: null, request };
      at.v1.tasks.set(OTHER_ID, task);
      return answer(asked) ?? { json: { ...task, status: 'WORKING', created_at: now } };
    }
    if (asked.path === TASKS && at.v1.tasks.has(OTHER_ID)) {
      const state = states.length > 1 ? states.shift() : states[0];
      const members = typeof state === 'function' ? state() : state;
      at.v1.tasks.set(OTHER_ID, { ...at.v1.tasks.get(OTHER_ID), ...members });
    }
    return answer(asked);
  };
}

const answers = (routes: Record<string, Reply | (() => Reply | null)>): void => {
  answer = ({ method, path }) => {
    const reply = routes[`${method} ${path}`] ?? null;
    return typeof reply === 'function' ? reply() : reply;
  };
};

beforeEach(() => {
  sentId = '';
  answer = () => null;
  takes(ready);
});

describe('conv new', () => {
  it.each([
    ['Sandbox not found: nope', '500: Sandbox not found: nope'],
    ['acs settings get', ''],
  ])('exits 1 with %s when the start task fails with "%s"', async (err, detail) => {
    takes({ status: 'ERROR', detail });
    await at.ends(line, { code: 1, err: ['the conversation did not start', err] });
  });

  it.each<[number, string, number, unknown]>([
    [
      2,
      'git_provider: Input should be a provider',
      422,
      [{ loc: ['body', 'git_provider'], msg: 'Input should be a provider' }],
    ],
    [3, 'no model', 400, 'no model'],
  ])('exits %i with %s when the server answers %i', async (code, err, httpStatus, detail) => {
    const msg_id = code === 3 ? 'CONFIGURATION$SETTINGS_NOT_FOUND' : undefined;
    answers({ [POST]: { status: httpStatus, json: { detail, msg_id } } });
    await at.ends(line, { code, err, writes: [POST] });
  });

  it.each([
    ['a microagent', 'create_microagent', { create_microagent: { repo: 'a/b' } }],
    [
      'a member that the document of the server does not list',
      'brand_new',
      { agent_type: 'plan', brand_new: [] },
    ],
  ])('exits 12 before it sends %s', async (_, err, body) => {
    const members = { initial_message: {}, conversation_id: {}, agent_type: {} };
    const post = {
      requestBody: { content: { 'application/json': { schema: { properties: members } } } },
    };
    at.script({
      '/openapi.json': { json: { info: {}, paths: { '/api/v1/app-conversations': { post } } } },
    });
    const name = await at.file('body.json', body);
    const env = { ACS_CONFIG_DIR: `${at.dir}/document` };
    const { err: text } = await at.ends(`${line} --body ${name}`, {
      code: 12,
      err,
      writes: [],
      env,
    });
    expect(text).not.toContain('agent_type');
  });

  it('finds a start whose answer was lost by its id, and sends it once', async () => {
    answers({
      [POST]() {
        at.v1.tasks.set(OTHER_ID, { ...at.v1.tasks.get(OTHER_ID), ...ready() });
        return { cut: true };
      },
    });
    const { id } = await at.json<{ id: string }>('new hello --no-repo');
    expect([id, at.writes()]).toEqual([sentId, [POST]]);
  });

  it('repeats a lost start only after the server has honoured an id, into a given sandbox, with the same id', async () => {
    at.v1.addSandbox('sb1');
    const config = { env: { ACS_CONFIG_DIR: `${at.dir}/no-echo` } };
    const ids: string[] = [];
    const cutFirst = (): void => {
      ids.length = 0;
      answers({
        [POST]() {
          if (ids.push(sentId) > 1) return null;
          at.v1.tasks.clear();
          return { cut: true };
        },
      });
    };
    cutFirst();
    await at.ends(`${line} --sandbox sb1`, { code: 11, err: 'look with acs conv list', ...config });
    expect(ids).toHaveLength(1);
    answers({});
    await at.ends(line, config);
    cutFirst();
    await at.ends(`${line} --sandbox sb1`, config);
    expect(ids).toEqual([ids[0], ids[0]]);
  });

  it('sets the confirmation policy, with the key of the sandbox, before the agent sees the message', async () => {
    answer = ({ method, path }) =>
      method === 'POST' && path.startsWith('/agent/') ? { json: { success: true } } : null;
    await at.ends(`${line} --confirm always`, {});
    const [start, ...others] = at.server.writes();
    expect(start?.body).not.toHaveProperty('initial_message');
    expect(others.map(({ path, body }) => [path.split('/').at(-1), body])).toEqual([
      ['confirmation_policy', { policy: { kind: 'AlwaysConfirm' } }],
      ['events', { role: 'user', content: [{ type: 'text', text: 'hello' }], run: true }],
    ]);
    for (const { headers } of others)
      expect([headers['x-session-api-key'], headers.authorization]).toEqual([
        SANDBOX_KEY,
        undefined,
      ]);
  });

  it('--dry-run prints the first request, that of the sandbox, and no secret', async () => {
    await at.ends(`${line} --spec image --secret TOKEN --dry-run`, {
      env: { TOKEN: 'very-secret' },
      out: {
        requests: [
          { method: 'POST', url: `${at.server.url}/api/v1/sandboxes?sandbox_spec_id=image` },
        ],
      },
      writes: [],
      hides: 'very-secret',
    });
  });
});

describe('a start task', () => {
  it('without an end makes conv new exit 124, and each of its ids shows the start', async () => {
    takes({ status: 'STARTING_CONVERSATION' });
    await at.ends(`${line} --wait-timeout 45s`, {
      code: 124,
      err: `acs conv show ${OTHER_ID}`,
      clock: idleClock(30),
    });
    for (const id of [OTHER_ID, sentId, '@last'])
      await at.ends(`show ${id} --json`, { out: { status: 'starting' } });
    await at.ends(`show ${OTHER_ID} --exit-status`, { code: 6 });
    await at.ends(`follow ${OTHER_ID} --wait-timeout 20s`, { code: 124, clock: idleClock(30) });
  });

  it('without progress is replaced by its conversation once the conversation runs', async () => {
    takes(() => ({ status: 'STARTING_CONVERSATION', ...(ready() && {}) }));
    await at.ends(line, { out: { status: 'running', start_task_id: OTHER_ID } });
  });

  it('that the server no longer has ends the start with 9 at the first read', async () => {
    takes(() => {
      at.v1.tasks.clear();
      return {};
    });
    answers({ [`GET ${TASKS}`]: { json: [null] } });
    await at.ends(line, { code: 9, err: `no longer has the start task ${OTHER_ID}` });
    expect(at.server.lines().filter((one) => one === `GET ${TASKS}`)).toHaveLength(1);
  });

  it('is read after a pause each time: the answer to the start, and each read, has its status', async () => {
    takes({ status: 'STARTING_CONVERSATION' }, ready);
    const clock = new TestClock({ movedBy: 'sleeps', startMs: Date.now() });
    const readAtMs: number[] = [];
    answer = ({ path }) => {
      if (path.startsWith('/api/v1/app-conversations')) readAtMs.push(clock.now());
      return null;
    };
    await at.ends(line, { clock });
    const [sentMs = 0, firstMs = 0, secondMs = 0] = readAtMs.slice(-4);
    expect(firstMs - sentMs).toBeGreaterThanOrEqual(50);
    expect(secondMs - firstMs).toBeGreaterThanOrEqual(50);
  });

  it('that failed only because its conversation could not be written starts the conversation', async () => {
    const detail =
      '(sqlite3.IntegrityError) UNIQUE constraint failed: conversation_metadata.conversation_id';
    takes(() => ({ status: 'ERROR', detail, ...(ready() && {}) }));
    await at.ends(line, { out: { status: 'running' } });
    await at.ends(`show ${OTHER_ID} --json`, {
      out: { id: sentId, start_task_id: OTHER_ID, status: 'running' },
    });
    // The sandbox has not reported the conversation.
    takes({ status: 'ERROR', detail });
    await at.ends(line, { code: 1 });
    await at.ends(`show ${OTHER_ID} --json`, { out: { status: 'failed' } });
  });

  it('and its follow go on after a 500 that passes', async () => {
    at.v1.agentEvents.push(userMessage('hello'), finish('done'), status('finished'));
    takes(() => ({
      ...ready(),
      ...(at.v1.addConversation({ id: sentId, execution_status: 'finished' }) && {}),
    }));
    let looks = 0;
    answer = ({ path, method }) =>
      path === '/api/v1/app-conversations' && method === 'GET' && ++looks % 2 === 1
        ? { status: 500, text: 'Internal Server Error', type: 'text/plain' }
        : null;
    await at.ends('new hello --no-repo --follow', { out: /done/, clock: idleClock(30) });
  });

  it.each(['', ' -q'])(
    'of a run that fails at once makes conv new --wait%s exit 1 with the reason',
    async (flag) => {
      const reason = { code: 'LLMAuthenticationError', detail: 'the model refuses the key' };
      at.v1.agentEvents.push(
        userMessage('hello'),
        event('ConversationErrorEvent', reason),
        status('error'),
      );
      takes(() => ({
        ...ready(),
        ...(at.v1.addConversation({ id: sentId, execution_status: 'error' }) && {}),
      }));
      const ending = { code: 1, err: 'failed: the model refuses the key', clock: idleClock(30) };
      await at.ends(`new hello --no-repo --wait${flag}`, ending);
    },
  );
});

/**
 * What remains when the start fails, at a server whose start takes no spec:
 * test/commands/conv/new/start.test.ts too.
 */
describe('the sandbox of conv new --spec', () => {
  const CREATE = 'POST /api/v1/sandboxes';
  const READ = 'GET /api/v1/sandboxes';
  const REMAINS = 'the sandbox made-0, created for this start, remains: acs sandbox delete made-0';
  const spec = 'new hello --no-repo --spec image';
  const starting = (): null => {
    at.v1.addSandbox('made-0', { status: 'STARTING' });
    return null;
  };

  it('is awaited, and the start goes into it', async () => {
    let looks = 0;
    answers({ [READ]: () => (++looks < 3 ? starting() : (at.v1.addSandbox('made-0'), null)) });
    await at.ends(`${spec} --json`, { writes: [`${CREATE}?sandbox_spec_id=image`, POST] });
    expect(at.server.writes()[1]?.body).toMatchObject({ sandbox_id: 'made-0' });
  });

  it('remains, and is named, when the deadline comes before the start is sent', async () => {
    answers({ [READ]: starting });
    await at.ends(`${spec} --wait-timeout 20s`, { code: 124, err: REMAINS, clock: idleClock(30) });
    expect([...(at.v1.sandboxes?.keys() ?? [])]).toEqual(['made-0']);
  });

  it('remains, and is named, when the command is interrupted before the start is sent', async () => {
    const interruption = new AbortController();
    answers({
      [READ]() {
        interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
        return starting();
      },
    });
    await at.ends(spec, {
      code: 130,
      err: REMAINS,
      signal: interruption.signal,
      clock: idleClock(30),
    });
  });

  it('is deleted when its status cannot be read', async () => {
    answers({ [READ]: { status: 500, json: { detail: 'Internal Server Error' } } });
    await at.ends(spec, {
      code: 9,
      writes: [
        `${CREATE}?sandbox_spec_id=image`,
        'DELETE /api/v1/sandboxes/made-0?sandbox_id=made-0',
      ],
    });
  });

  it('is not named when its creation is refused', async () => {
    answers({ [CREATE]: { status: 409, json: { detail: 'limit reached' } } });
    await at.ends(spec, { code: 6, hides: 'remains' });
  });

  it('of an unknown spec is not created', async () => {
    await at.ends('new hello --no-repo --spec huge', { code: 5, writes: [], err: 'image, other' });
  });
});
