/**
 * The deadline of `conv new` bounds every request around the start, and what it claims of a start
 * is what was sent.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { NOT_FOUND, routed, type Asked, type Reply } from '../support/server.ts';
import { finish, OTHER_ID, status, userMessage } from '../client/support/v1-server.ts';
import type { LooseOptions } from '../client/support/loose-server.ts';
import type { Ended } from '../support/world.ts';
import { useIdleV1, useLoose } from '../support/use-scripted.ts';
import { errorOf } from '../support/use-world.ts';

const POST_LINE = 'POST /api/v1/app-conversations';
/** In the log of a request that its own time limit ended, and not the deadline. */
const REQUEST_LIMIT = 'sent nothing for 30 s';

const at = useIdleV1();
/** The id the start was sent with. */
let sentId: string;

beforeEach(() => {
  sentId = '';
});
/** Takes the start, whose run then stands at this state; `usual` answers first. */
function startsAs(execution: string, usual: (asked: Asked) => Reply | null = () => null): void {
  at.v1.agentEvents.push(userMessage('hello'));
  at.v1.agentEvents.push(...(execution === 'finished' ? [finish('done')] : []), status(execution));
  at.v1.before = (asked) => {
    const reply = usual(asked);
    if (reply !== null) return reply;
    if (/\/(interrupt|pause)$/.test(asked.path)) {
      at.v1.conversations.get(sentId)!['execution_status'] = 'paused';
      return { json: { success: true } };
    }
    if (`${asked.method} ${asked.path}` !== POST_LINE) return null;
    sentId = String((asked.body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
    const task = {
      id: OTHER_ID,
      status: 'READY',
      detail: null,
      app_conversation_id: sentId,
      sandbox_id: null,
      request: asked.body,
      created_at: '2026-11-21T10:12:00Z',
      updated_at: '2026-11-21T10:12:00Z',
    };
    at.v1.tasks.set(OTHER_ID, task);
    const conversation_url = `${at.server.url}/agent/api/conversations/${sentId}`;
    at.v1.addConversation({ id: sentId, execution_status: execution, conversation_url });
    return { json: task };
  };
}

/** Runs `conv new`, which has to end with this code; nothing is known of the server before. */
const start = (code: number, flags: string, out?: string): Promise<Ended> =>
  at.ends(['--debug', 'conv', 'new', 'hello', '--no-repo', '--json', ...flags.split(' ')], {
    code,
    ...(out === undefined ? {} : { out }),
    env: { ACS_CONFIG_DIR: `${at.dir}/config-${at.clock.now()}` },
  });
const startsSent = (): number => at.server.lines().filter((line) => line === POST_LINE).length;

describe('a server that does not answer the rename of --title', () => {
  const silent = ({ method }: Asked): Reply | null =>
    method === 'PATCH' ? { silence: true } : null;
  const TITLE = '--title Counting';

  it('is given no more time than --wait-timeout, and --stop-on-exit stops the run', async () => {
    startsAs('running', silent);
    const ended = await start(124, `${TITLE} --wait --wait-timeout 3s --stop-on-exit`);
    expect(errorOf(ended).message).toContain(`conversation ${sentId} was stopped`);
    expect(errorOf(ended).message).toContain('the server did not answer within 3s');
    expect(ended.err).not.toContain(REQUEST_LIMIT);
  });

  it('ends a start without --wait with 124 at --wait-timeout', async () => {
    startsAs('running', silent);
    const ended = await start(124, `${TITLE} --wait-timeout 3s`);
    expect(errorOf(ended).message).toBe(
      `conversation ${sentId} has started, but --title was not set: the server did not ` +
        'answer within 3s',
    );
    expect(errorOf(ended).hint).toContain(`stop it: acs conv stop ${sentId}`);
    expect(JSON.parse(ended.out)).toMatchObject({ id: sentId, changed: true });
    expect(ended.err).not.toContain(REQUEST_LIMIT);
  });
});

describe('a start that was not sent before the deadline', () => {
  const limit = (): Record<string, string> => ({
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '40',
  });

  it('is not claimed when requests to a V1 server pause', async () => {
    startsAs('running', ({ path }) =>
      path === '/api/v1/app-conversations/count' ? { json: 0, headers: limit() } : null,
    );
    const ended = await start(124, '--wait --wait-timeout 6s --stop-on-exit', '');
    expect(startsSent()).toBe(0);
    expect(errorOf(ended)).toMatchObject({
      code: 'timeout',
      message: 'the conversation has not started after 6s; the server has not taken the start',
      hint: 'wait longer: --wait-timeout <duration>',
      changed: false,
    });
    expect(errorOf(ended)).not.toHaveProperty('conversation_id');
  });

  it('is not claimed when the server has refused it with 429', async () => {
    startsAs('running', ({ method }) =>
      method === 'POST'
        ? { status: 429, json: { detail: 'slow down' }, headers: { 'retry-after': '40' } }
        : null,
    );
    const ended = await start(124, '--wait-timeout 6s', '');
    expect(startsSent()).toBe(1);
    expect(errorOf(ended).message).toContain('the server has not taken the start');
    expect(errorOf(ended)).not.toHaveProperty('conversation_id');
  });

  it('is not claimed of a V0 server', async () => {
    at.server.handler = routed({
      'GET /api/options/config': { json: { APP_MODE: 'oss' } },
      'GET /api/conversations': { json: { results: [], next_page_id: null } },
      'POST /api/conversations': {
        status: 429,
        json: { detail: 'slow down' },
        headers: { 'retry-after': '40' },
      },
    });
    const ended = await start(124, '--wait-timeout 6s', '');
    expect(errorOf(ended)).toMatchObject({
      message: 'the conversation has not started after 6s; the server has not taken the start',
      changed: false,
    });
  });
});

describe('a start into a given sandbox that is repeated after a lost answer', () => {
  const loose = useLoose({ openapi: NOT_FOUND });
  const START = 'conv new hello --no-repo --sandbox sandbox1';

  it.each<[string, number, Reply]>([
    ['not answered before the deadline', 124, { silence: true }],
    ['lost too', 11, { cut: true }],
    [
      'answered 429 to the end',
      11,
      { status: 429, json: { detail: 'slow down' }, headers: { 'retry-after': '120' } },
    ],
  ])('names the id when the repetition is %s', async (_, code, reply) => {
    loose.loose.sandboxes.set('sandbox1', 'RUNNING');
    // A start is repeated only where the server has honoured an id.
    await loose.ends(START, {});
    loose.server.asked.length = 0;
    const answers: Reply[] = [{ cut: true }, reply];
    loose.loose.before = ({ method, path }) =>
      `${method} ${path}` === POST_LINE ? (answers.shift() ?? null) : null;
    const ended = await loose.ends(`${START} --json --wait-timeout 20s`, {
      code,
      writes: [POST_LINE, POST_LINE],
    });
    const { conversation_id } = loose.server.writes()[0]?.body as Record<string, string>;
    const id = conversation_id!.replaceAll('-', '');
    expect(errorOf(ended)).toMatchObject({
      conversation_id: id,
      hint: expect.stringContaining(id) as string,
    });
    expect(JSON.parse(ended.out)).toMatchObject({ id });
  });
});

describe('a start at a server that chooses the ids of its conversations', () => {
  const members = { sandbox_id: {}, initial_message: {}, title: {} };
  const schema = { content: { 'application/json': { schema: { properties: members } } } };
  const paths = { '/api/v1/app-conversations': { get: {}, post: { requestBody: schema } } };
  const chooses: LooseOptions = {
    openapi: { json: { paths } },
    ignores: ['id'],
    understands: Object.keys(members),
  };
  const loose = useLoose(chooses);

  it.each([
    ['has not answered', true],
    ['has not made ready', false],
  ])(
    'is named by its start task at a deadline when the server %s it, also by @last and batch',
    async (_, isLost) => {
      await loose.start('before', '--wait');
      const { handler } = loose.loose;
      let isHeld = true;
      const newest = () => [...loose.loose.tasks.values()].at(-1)!;
      loose.script((asked) => {
        if (!isHeld) return null;
        const items = [{ ...newest(), status: 'WORKING', app_conversation_id: null }];
        if (asked.path.endsWith('/start-tasks/search'))
          return { json: { items, next_page_id: null } };
        if (asked.path.endsWith('/start-tasks')) return { json: items };
        if (!isLost || `${asked.method} ${asked.path}` !== POST_LINE) return null;
        void handler(asked);
        return { silence: true };
      });
      const ended = await loose.ends('conv new hello --no-repo --wait-timeout 3s --json', {
        code: 124,
      });
      const { id: task, app_conversation_id: id } = newest();
      expect(JSON.parse(ended.out)).toMatchObject({ id: null, start_task_id: task });
      expect(errorOf(ended)).toMatchObject({
        id: null,
        hint: expect.stringContaining(`acs conv show ${task}`) as string,
      });
      const line = { key: 'a', message: 'hello', 'no-repo': true, 'wait-timeout': '3s' };
      const batch = [
        'batch',
        await loose.file('tasks.jsonl', line),
        '-o',
        `${loose.dir}/results-${isLost}.jsonl`,
      ];
      isHeld = false;
      await loose.ends('conv show @last -q', { out: `${id}\n` });
      isHeld = true;
      const cut = await loose.ends(batch, { code: 1 });
      expect(JSON.parse(cut.out)).toMatchObject({ id: newest()['id'], exit_code: 124 });
      isHeld = false;
      const out = {
        id: newest()['app_conversation_id'],
        status: 'finished',
        exit_code: 0,
        attempts: 1,
      };
      await loose.ends(batch, { out });
      expect(loose.loose.tasks.size).toBe(3);
    },
  );

  it('leaves @last unset when the server shows no start task of it', async () => {
    await loose.start('before', '--wait');
    loose.script({ [POST_LINE]: { silence: true } });
    const ended = await loose.ends('conv new hello --no-repo --wait-timeout 3s --json', {
      code: 124,
    });
    expect(errorOf(ended)).toMatchObject({
      conversation_id: null,
      hint: expect.stringContaining('conv list') as string,
    });
    await loose.ends('conv delete @last -y', { code: 5, writes: [POST_LINE, POST_LINE] });
  });
});

it('a start whose answer is lost names its id when the server does not answer afterwards', async () => {
  startsAs('running', ({ method, path }) => {
    if (method === 'POST' && path === '/api/v1/app-conversations') return { cut: true };
    return startsSent() > 0 ? { status: 503, json: { detail: 'restarting' } } : null;
  });
  const ended = await start(11, '--wait-timeout 2m');
  const id = String(
    (at.server.asked.find(({ method }) => method === 'POST')?.body as Record<string, unknown>)[
      'conversation_id'
    ],
  );
  expect(errorOf(ended)).toMatchObject({ conversation_id: id.replaceAll('-', '') });
});

describe.each<[string, Reply]>([
  ['without the members of a start task', { json: {} }],
  ['that is a web page', { text: '<html>welcome</html>', type: 'text/html' }],
])('a start that is answered 200 %s', (_, reply) => {
  const isStart = ({ method, path }: Asked): boolean => `${method} ${path}` === POST_LINE;

  it('continues with the conversation when the server has it', async () => {
    startsAs('finished');
    const { before } = at.v1;
    at.v1.before = (asked) => {
      const usual = before(asked);
      return isStart(asked) ? reply : usual;
    };
    const ended = await start(0, '--wait');
    expect(JSON.parse(ended.out)).toMatchObject({ id: sentId, status: 'finished' });
    expect(startsSent()).toBe(1);
  });

  it('exits 9 with the id when the server does not show it', async () => {
    startsAs('finished', (asked) => (isStart(asked) ? reply : null));
    const ended = await start(9, '--wait');
    const { body } = at.server.asked.find(isStart)!;
    const id = String((body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
    expect(startsSent()).toBe(1);
    expect(errorOf(ended)).toMatchObject({ conversation_id: id });
    expect(JSON.parse(ended.out)).toMatchObject({ id });
  });
});
