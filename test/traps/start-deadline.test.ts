/** The deadline of `conv new` bounds every request around the start, and what it claims of a start is what was sent. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOT_FOUND, type Asked, type Reply } from '../servers/support/fake-server.ts';
import { finish, OTHER_ID, status, userMessage } from '../servers/support/v1-world.ts';
import type { Ended } from '../support/world.ts';
import { fakeTrap, looseTrap, v1Trap, type LooseTrap, type V1Trap } from './support/trap.ts';

const POST_LINE = 'POST /api/v1/app-conversations';
/** In the log of a request that its own time limit ended, and not the deadline. */
const REQUEST_LIMIT = 'sent nothing for 30 s';

let trap: V1Trap;
/** The id the start was sent with. */
let sentId: string;

beforeEach(async () => {
  trap = await v1Trap();
  sentId = '';
});
afterEach(() => trap.close());

const sandboxes = (items: string[], word = 'RUNNING'): Reply => ({
  json: {
    items: items.map((id) => ({
      id,
      status: word,
      sandbox_spec_id: 'image',
      session_api_key: null,
      exposed_urls: null,
      created_at: '2026-11-21T10:12:00Z',
    })),
    next_page_id: null,
  },
});

/** Takes the start, whose run then stands at this state; `usual` answers first. */
function startsAs(execution: string, usual: (asked: Asked) => Reply | null = () => null): void {
  trap.agentEvents.push(userMessage('hello'));
  trap.agentEvents.push(...(execution === 'finished' ? [finish('done')] : []), status(execution));
  trap.before = (asked) => {
    const reply = usual(asked);
    if (reply !== null) return reply;
    if (asked.path === '/api/v1/sandboxes/search') return sandboxes([]);
    if (/\/(interrupt|pause)$/.test(asked.path)) {
      trap.conversations.get(sentId)!['execution_status'] = 'paused';
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
    trap.tasks.set(OTHER_ID, task);
    const conversation_url = `${trap.fake.url}/agent/api/conversations/${sentId}`;
    trap.addConversation({ id: sentId, execution_status: execution, conversation_url });
    return { json: task };
  };
}

const start = (...flags: string[]): Promise<Ended> =>
  trap.acs('--debug', 'conv', 'new', 'hello', '--no-repo', '--json', ...flags);
const startsSent = (): number => trap.fake.lines().filter((line) => line === POST_LINE).length;

function errorOf({ err }: Ended): Record<string, unknown> & { message: string; hint?: string } {
  const last = err.trimEnd().split('\n').at(-1) ?? '';
  return (JSON.parse(last) as { error: { message: string } }).error;
}

describe('a server that does not answer the list of sandboxes', () => {
  it.each(['--wait-timeout', '--start-timeout'])('gets the start within %s', async (flag) => {
    startsAs('finished', ({ path }) => (path === '/api/v1/sandboxes/search' ? { silence: true } : null));
    const ended = await start('--wait', flag, '3s');
    expect(ended.code, ended.err).toBe(0);
    expect(JSON.parse(ended.out)).toMatchObject({ id: sentId, status: 'finished', changed: true });
    expect(ended.err).not.toContain(REQUEST_LIMIT);
  });

  it.each([
    ['--wait-timeout', ['--wait', '--wait-timeout', '4s'], 124, 'running'],
    ['--start-timeout', ['--start-timeout', '4s'], 0, 'running'],
  ])('after the start delays the command no longer than %s', async (_, flags, code, state) => {
    startsAs('running', ({ path }) => {
      if (path !== '/api/v1/sandboxes/search') return null;
      return startsSent() === 0 ? sandboxes(['sandbox-1']) : { silence: true };
    });
    const ended = await start(...flags);
    expect(ended.code, ended.err).toBe(code);
    expect(JSON.parse(ended.out)).toMatchObject({ id: sentId, status: state, changed: true });
    expect(ended.err).not.toContain(REQUEST_LIMIT);
  });
});

describe('a server that does not answer the rename of --title', () => {
  const silent = ({ method }: Asked): Reply | null => (method === 'PATCH' ? { silence: true } : null);
  const title = ['--title', 'Count the files'];

  it('is given no more time than --wait-timeout, and --stop-on-timeout stops the run', async () => {
    startsAs('running', silent);
    const ended = await start(...title, '--wait', '--wait-timeout', '3s', '--stop-on-timeout');
    expect(ended.code, ended.err).toBe(124);
    expect(errorOf(ended).message).toContain(`conversation ${sentId} was stopped`);
    expect(errorOf(ended).message).toContain('did not answer its rename within 3s');
    expect(ended.err).not.toContain(REQUEST_LIMIT);
  });

  it.each(['--wait-timeout', '--start-timeout'])('ends a start without --wait with 124 at %s', async (flag) => {
    startsAs('running', silent);
    const ended = await start(...title, flag, '3s');
    expect(ended.code, ended.err).toBe(124);
    expect(errorOf(ended).message).toBe(
      `conversation ${sentId} has started, but the server did not answer its rename within 3s`,
    );
    expect(errorOf(ended).hint).toContain(`stop it: acs conv stop ${sentId}`);
    expect(JSON.parse(ended.out)).toMatchObject({ id: sentId, changed: true });
    expect(ended.err).not.toContain(REQUEST_LIMIT);
  });
});

describe('a start that was not sent before the deadline', () => {
  const limit = (): Record<string, string> => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '40' });

  it('is not claimed when requests to a V1 server pause', async () => {
    startsAs('running', ({ path }) =>
      path === '/api/v1/sandboxes/search' ? { json: { items: [], next_page_id: null }, headers: limit() } : null,
    );
    const ended = await start('--wait', '--wait-timeout', '6s', '--stop-on-timeout');
    expect(ended.code, ended.err).toBe(124);
    expect({ sent: startsSent(), out: ended.out }).toEqual({ sent: 0, out: '' });
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
      method === 'POST' ? { status: 429, json: { detail: 'slow down' }, headers: { 'retry-after': '40' } } : null,
    );
    const ended = await start('--start-timeout', '6s');
    expect(ended.code, ended.err).toBe(124);
    expect({ sent: startsSent(), out: ended.out }).toEqual({ sent: 1, out: '' });
    expect(errorOf(ended).message).toContain('the server has not taken the start');
    expect(errorOf(ended)).not.toHaveProperty('conversation_id');
  });

  it('is not claimed of a V0 server', async () => {
    const v0 = await fakeTrap(({ method, path }) => {
      if (path === '/api/options/config') return { json: { APP_MODE: 'oss' } };
      if (path !== '/api/conversations') return { status: 404, json: { detail: 'Not Found' } };
      if (method === 'GET') return { json: { results: [], next_page_id: null } };
      return { status: 429, json: { detail: 'slow down' }, headers: { 'retry-after': '40' } };
    });
    try {
      const ended = await v0.acs('conv', 'new', 'hello', '--no-repo', '--json', '--start-timeout', '6s');
      expect(ended.code, ended.err).toBe(124);
      expect(ended.out).toBe('');
      expect(errorOf(ended)).toMatchObject({
        message: 'the conversation has not started after 6s; the server has not taken the start',
        changed: false,
      });
    } finally {
      await v0.close();
    }
  });
});

describe('a start into a given sandbox that is repeated after a lost answer', () => {
  let loose: LooseTrap;
  /** The answers to the next starts, one each. */
  let answers: Reply[];

  beforeEach(async () => {
    loose = await looseTrap({ openapi: NOT_FOUND });
    loose.sandboxes.set('sandbox1', 'RUNNING');
    answers = [];
    loose.before = ({ method, path }) =>
      method === 'POST' && path === '/api/v1/app-conversations' ? (answers.shift() ?? null) : null;
    // A start is repeated only where the server has honoured an id.
    expect(await loose.acs('conv', 'new', 'hello', '--no-repo', '--sandbox', 'sandbox1')).toMatchObject({ code: 0 });
    loose.fake.asked.length = 0;
  });
  afterEach(() => loose.close());

  const repeated = async (): Promise<{ ended: Ended; id: string; sent: number }> => {
    const args = ['conv', 'new', 'hello', '--no-repo', '--sandbox', 'sandbox1', '--json', '--start-timeout', '20s'];
    const ended = await loose.acs(...args);
    const starts = loose.fake.asked.filter(({ method }) => method === 'POST');
    const id = String((starts[0]?.body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
    return { ended, id, sent: starts.length };
  };

  it.each<[string, number, Reply]>([
    ['not answered before the deadline', 124, { silence: true }],
    ['lost too', 11, { cut: true }],
    ['answered 429 to the end', 11, { status: 429, json: { detail: 'slow down' }, headers: { 'retry-after': '120' } }],
  ])('names the id when the repetition is %s', async (_, code, reply) => {
    answers = [{ cut: true }, reply];
    const { ended, id, sent } = await repeated();
    expect([ended.code, sent], ended.err).toEqual([code, 2]);
    expect(errorOf(ended)).toMatchObject({ conversation_id: id });
    expect(errorOf(ended).hint).toContain(id);
    expect(JSON.parse(ended.out)).toMatchObject({ id });
  });
});

it('a start whose answer is lost names its id when the server does not answer afterwards', async () => {
  startsAs('running', ({ method, path }) => {
    if (method === 'POST' && path === '/api/v1/app-conversations') return { cut: true };
    return startsSent() > 0 ? { status: 503, json: { detail: 'restarting' } } : null;
  });
  const ended = await start('--start-timeout', '2m');
  const id = String(
    (trap.fake.asked.find(({ method }) => method === 'POST')?.body as Record<string, unknown>)['conversation_id'],
  );
  expect(ended.code, ended.err).toBe(11);
  expect(errorOf(ended)).toMatchObject({ conversation_id: id.replaceAll('-', '') });
});

describe.each<[string, Reply]>([
  ['without the members of a start task', { json: {} }],
  ['that is a web page', { text: '<html>welcome</html>', type: 'text/html' }],
])('a start that is answered 200 %s', (_, reply) => {
  const isStart = ({ method, path }: Asked): boolean => `${method} ${path}` === POST_LINE;

  it('continues with the conversation when the server has it', async () => {
    startsAs('finished');
    const { before } = trap;
    trap.before = (asked) => {
      const usual = before(asked);
      return isStart(asked) ? reply : usual;
    };
    const ended = await start('--wait');
    expect(ended.code, ended.err).toBe(0);
    expect(JSON.parse(ended.out)).toMatchObject({ id: sentId, status: 'finished' });
    expect(startsSent()).toBe(1);
  });

  it('exits 9 with the id when the server does not show it', async () => {
    startsAs('finished', (asked) => (isStart(asked) ? reply : null));
    const ended = await start('--wait');
    const { body } = trap.fake.asked.find(isStart)!;
    const id = String((body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
    expect([ended.code, startsSent()], ended.err).toEqual([9, 1]);
    expect(errorOf(ended)).toMatchObject({ conversation_id: id });
    expect(JSON.parse(ended.out)).toMatchObject({ id });
  });
});
