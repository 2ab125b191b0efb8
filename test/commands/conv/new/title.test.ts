/**
 * `conv new --title` at a server that does not rename: the title was requested, so its absence is
 * an error.
 */
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/base/errors.ts';
import type { Reply } from '../../../support/server.ts';
import type { LooseOptions } from '../../../client/support/loose-server.ts';
import type { Ended } from '../../../support/world.ts';
import { useLoose } from '../../../support/use-scripted.ts';
import { errorOf, json } from '../support.ts';

const RENAMES = ['PATCH /api/v1/app-conversations/:id', 'PATCH /api/conversations/:id'];
const V0: LooseOptions = { v0: true };

const at = useLoose();

const LINE = 'conv new hello --no-repo --title Chosen --json';
const start = (...flags: string[]): Promise<Ended> => at.acs(...LINE.split(' '), ...flags);
const startsSent = (): number =>
  at.server.lines().filter((line) => line === 'POST /api/v1/app-conversations').length;
const onlyId = (): string => [...at.loose.conversations.keys()].join();

const NOT_SET = '--title was not set';

describe.each([
  ['V1 alone', {}],
  ['V1 and V0', V0],
])('conv new --title at a server of %s', (_, served) => {
  it.each<[number, string, Reply | null, string, string, string[]]>([
    [12, 'has no such route', null, 'unsupported', '--title', ['stop']],
    [
      12,
      'answers 405',
      { status: 405, json: { detail: 'Method Not Allowed' } },
      'unsupported',
      '--title',
      ['stop'],
    ],
    [
      12,
      'answers 404 itself',
      { status: 404, json: { error: 'no such path' } },
      'unsupported',
      '--title',
      ['stop'],
    ],
    [
      12,
      'answers a web page',
      { status: 404, text: '<html>', type: 'text/html' },
      'unsupported',
      '--title',
      ['stop'],
    ],
    [4, 'answers 403', { status: 403, json: { detail: 'not yours' } }, 'auth', '', ['stop']],
    [
      9,
      'answers 500',
      { status: 500, json: { detail: 'no' } },
      'server',
      NOT_SET,
      ['rename', 'stop'],
    ],
    [
      7,
      'answers 429',
      { status: 429, json: { detail: 'no' } },
      'rate-limited',
      NOT_SET,
      ['rename', 'stop'],
    ],
    [10, 'cuts the connection', { cut: true }, 'network', NOT_SET, ['rename', 'stop']],
  ])(
    'exits %i with the id of the run and the next commands when the server %s',
    async (code, _case, reply, kind, message, verbs) => {
      at.serve({ ...served, lacks: reply === null ? RENAMES : [] });
      at.loose.before = ({ method }) => (method === 'PATCH' ? reply : null);
      const ended = await start('--wait');
      expect([ended.code, startsSent()], ended.err).toEqual([code, 1]);
      const error = errorOf(ended);
      expect(error).toMatchObject({ code: kind, conversation_id: onlyId(), retryable: false });
      expect(error.message).toContain(message);
      for (const verb of verbs) expect(error.hint).toContain(`acs conv ${verb} ${onlyId()}`);
      expect(json(ended)).toMatchObject({ id: onlyId(), changed: true });
    },
  );

  it('exits 130 with the id of the run when the rename is interrupted', async () => {
    at.serve(served);
    const interruption = new AbortController();
    at.loose.before = ({ method }) => {
      if (method !== 'PATCH') return null;
      interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      return { silence: true };
    };
    const ended = await at.ends(LINE, { code: 130, signal: interruption.signal });
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

  it.each([[[]], [['--dry-run']]])(
    'exits 12 and sends nothing (further flags: %j)',
    async (flags) => {
      at.serve({ openapi: { json: { paths } }, lacks: RENAMES });
      const ended = await start(...flags);
      expect([ended.code, startsSent()], ended.err).toEqual([12, 0]);
      expect(errorOf(ended).message).toContain('--title');
    },
  );

  it('renames over V0 when the server serves it', async () => {
    const served = { ...paths, '/api/conversations': route('get', 'post') };
    at.serve({ v0: true, openapi: { json: { paths: served } } });
    const ended = await start();
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ title: 'Chosen' });
  });
});
