/** `conv new --title` at a server that does not rename: the title was requested, so its absence is an error. */
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import type { Reply } from '../../servers/support/fake-server.ts';
import type { LooseOptions } from '../../servers/support/loose-server.ts';
import type { Ended } from '../../support/world.ts';
import { looseTrap, type LooseTrap } from '../../traps/support/trap.ts';
import { errorOf, json } from './support.ts';

const RENAMES = ['PATCH /api/v1/app-conversations/:id', 'PATCH /api/conversations/:id'];
const V0: LooseOptions = { v0: true };

let trap: LooseTrap;
afterEach(() => trap.close());

const start = (...flags: string[]): Promise<Ended> =>
  trap.acs('conv', 'new', 'hello', '--no-repo', '--title', 'Chosen', '--json', ...flags);
const startsSent = (): number => trap.fake.lines().filter((line) => line === 'POST /api/v1/app-conversations').length;
const onlyId = (): string => [...trap.conversations.keys()].join();

/** Every rename gets this answer. */
function answerRenames(reply: Reply): void {
  trap.before = ({ method }) => (method === 'PATCH' ? reply : null);
}

describe.each([
  ['V1 alone', {}],
  ['V1 and V0', V0],
])('conv new --title at a server of %s', (_, served) => {
  it.each<[string, Reply | null]>([
    ['has no such route', null],
    ['answers 405', { status: 405, json: { detail: 'Method Not Allowed' } }],
    ['answers 404 with a text of its own', { status: 404, json: { error: 'no such path' } }],
    ['answers 404 with a web page', { status: 404, text: '<html>not here</html>', type: 'text/html' }],
  ])('exits 12 with the id of the run and the stop command when the server %s', async (_case, reply) => {
    trap = await looseTrap({ ...served, lacks: reply === null ? RENAMES : [] });
    if (reply !== null) answerRenames(reply);
    const ended = await start('--wait');
    expect([ended.code, startsSent()], ended.err).toEqual([12, 1]);
    expect(errorOf(ended)).toMatchObject({ code: 'unsupported', conversation_id: onlyId() });
    expect(errorOf(ended).message).toContain('--title');
    expect(errorOf(ended).hint).toContain(`acs conv stop ${onlyId()}`);
    expect(json(ended)).toMatchObject({ id: onlyId(), changed: true });
  });

  it('exits with the code of the refusal and the id of the run when the title is refused', async () => {
    trap = await looseTrap(served);
    answerRenames({ status: 403, json: { detail: 'not yours' } });
    const ended = await start();
    expect([ended.code, startsSent()], ended.err).toEqual([4, 1]);
    expect(errorOf(ended)).toMatchObject({ code: 'auth', conversation_id: onlyId() });
    expect(errorOf(ended).hint).toContain(`acs conv stop ${onlyId()}`);
  });

  it.each<[string, number, Reply]>([
    ['server', 9, { status: 500, json: { detail: 'Internal Server Error' } }],
    ['rate-limited', 7, { status: 429, json: { detail: 'Too Many Requests' } }],
    ['network', 10, { cut: true }],
  ])(
    'exits with the code of %s, the id of the run and the commands when the rename fails so',
    async (kind, code, reply) => {
      trap = await looseTrap(served);
      answerRenames(reply);
      const ended = await start('--wait');
      expect([ended.code, startsSent()], ended.err).toEqual([code, 1]);
      expect(errorOf(ended)).toMatchObject({ code: kind, conversation_id: onlyId(), retryable: false });
      expect(errorOf(ended).message).toContain('--title was not set');
      expect(errorOf(ended).hint).toContain(`acs conv rename ${onlyId()}`);
      expect(errorOf(ended).hint).toContain(`acs conv stop ${onlyId()}`);
    },
  );

  it('exits 130 with the id of the run when the rename is interrupted', async () => {
    trap = await looseTrap(served);
    const interruption = new AbortController();
    trap.before = ({ method }) => {
      if (method !== 'PATCH') return null;
      interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      return { silence: true };
    };
    const ended = await trap.invoke({
      args: ['conv', 'new', 'hello', '--no-repo', '--title', 'Chosen', '--json'],
      signal: interruption.signal,
    });
    expect(ended.code, ended.err).toBe(130);
    expect(errorOf(ended)).toMatchObject({ code: 'interrupted', id: onlyId() });
    expect(errorOf(ended).hint).toContain(`acs conv stop ${onlyId()}`);
    expect(json(ended)).toMatchObject({ id: onlyId(), outcome: { exit_code: 130 } });
  });
});

describe('conv new --title where the document of the server lists no rename', () => {
  const route = (...methods: string[]) => Object.fromEntries(methods.map((method) => [method, {}]));
  const paths = {
    '/api/v1/app-conversations': route('get', 'post'),
    '/api/v1/app-conversations/search': route('get'),
    '/api/v1/app-conversations/{conversation_id}': route('delete'),
  };

  it.each([[[]], [['--dry-run']]])('exits 12 and sends nothing (further flags: %j)', async (flags) => {
    trap = await looseTrap({ openapi: { json: { paths } }, lacks: RENAMES });
    const ended = await start(...flags);
    expect([ended.code, startsSent()], ended.err).toEqual([12, 0]);
    expect(errorOf(ended).message).toContain('--title');
  });

  it('renames over V0 when the server serves it', async () => {
    const served = { ...paths, '/api/conversations': route('get', 'post') };
    trap = await looseTrap({ v0: true, openapi: { json: { paths: served } } });
    const ended = await start();
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ title: 'Chosen' });
  });
});
