/** What is known of a server that gives no usable document: nothing is guessed, cached or refused for it. */
import { afterEach, describe, expect, it } from 'vitest';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { NOT_FOUND, type Reply } from './support/fake-server.ts';
import type { LooseOptions } from './support/loose-server.ts';
import { looseTrap, type LooseTrap } from '../traps/support/trap.ts';

const CHOSEN = '0123456789abcdef0123456789abcdef';
let trap: LooseTrap;
afterEach(() => trap.close());

const HTML: Reply = { text: '<!doctype html><title>app</title>', type: 'text/html' };
const JSON_TYPE = 'application/json';
const BAD_ANSWERS: [string, Reply][] = [
  ['truncated', { text: '{"paths":{"/api/v1/app-conv', type: JSON_TYPE }],
  ['empty', { text: '', type: JSON_TYPE }],
  ['{}', { json: {} }],
  ['a web page', HTML],
  ['30 MB', { text: `{"a":"${'x'.repeat(30_000_000)}"}`, type: JSON_TYPE }],
  ['deeply nested', { text: '['.repeat(200_000), type: JSON_TYPE }],
  ['500', { status: 500, text: 'Internal Server Error', type: 'text/plain' }],
];

async function cached(): Promise<string[]> {
  const dir = path.join(trap.dir, 'config', 'cache');
  const names = await readdir(dir).catch(() => []);
  return Promise.all(
    names.filter((name) => name.startsWith('probe-')).map((name) => readFile(path.join(dir, name), 'utf8')),
  );
}

it.each(BAD_ANSWERS)(
  'an answer for /openapi.json that is %s is not cached, and nothing is refused for it',
  async (_, openapi) => {
    trap = await looseTrap({ openapi });
    expect(await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', CHOSEN)).toMatchObject({ code: 0 });
    expect(await cached()).toEqual([]);
    expect(await trap.acs('conv', 'send', CHOSEN, 'again')).toMatchObject({ code: 0 });
    expect(await trap.acs('conv', 'delete', CHOSEN, '-y')).toMatchObject({ code: 0 });
    expect(trap.conversations.size).toBe(0);
  },
);

it('whoami names the features that are unknown', async () => {
  trap = await looseTrap();
  const { code, out } = await trap.acs('whoami', '--json');
  expect(code).toBe(0);
  const { features, unknown_features } = JSON.parse(out) as { features: string[]; unknown_features: string[] };
  expect(features).toEqual([]);
  expect(unknown_features).toEqual(expect.arrayContaining(['send-message', 'delete-conversation', 'v1-settings']));
});

describe.each<[string, LooseOptions]>([
  ['404', { openapi: NOT_FOUND }],
  ['401', { openapi: { status: 401, json: { detail: 'Unauthorized' } } }],
  ['500', {}],
  ['hidden behind a web page', { openapi: HTML }],
])('a server whose /openapi.json is %s', (_, options) => {
  it.each([[false], [true]])('refuses a wrong key with exit 4, also after a right one (V0 served: %s)', async (v0) => {
    trap = await looseTrap({ ...options, v0 });
    const wrong = { args: ['conv', 'list'], env: { ACS_API_KEY: 'wrong-key-0123456789' } };
    const first = await trap.invoke(wrong);
    expect(first, first.err).toMatchObject({ code: 4, out: '' });
    expect(await trap.acs('conv', 'list')).toMatchObject({ code: 0 });
    const later = await trap.invoke(wrong);
    expect(later, later.err).toMatchObject({ code: 4, out: '' });
    for (const { err } of [first, later]) {
      expect(err).toContain('the server refuses the key from ACS_API_KEY');
      expect(err).toContain('the URL comes from ACS_BASE_URL');
    }
  });

  it.each([[false], [true]])('reads its settings over the dialect that has them (V0 served: %s)', async (v0) => {
    trap = await looseTrap({ ...options, v0, lacks: v0 ? ['GET /api/v1/settings', 'POST /api/v1/settings'] : [] });
    expect(await trap.acs('settings', 'get', 'llm_model')).toMatchObject({ code: 0, out: 'openai/gpt-4o\n' });
  });

  it('settings get fails when no settings can be read', async () => {
    trap = await looseTrap({ ...options, lacks: ['GET /api/v1/settings', 'POST /api/v1/settings'] });
    const { code, out } = await trap.acs('settings', 'get', 'llm_model');
    expect({ code, out }).toEqual({ code: 12, out: '' });
  });

  it('conv send goes to the sandbox where the app server lacks the route, and sends the message once', async () => {
    trap = await looseTrap({ ...options, lacks: ['POST /api/v1/app-conversations/:id/send-message'] });
    await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', CHOSEN);
    expect(await trap.acs('conv', 'send', CHOSEN, 'again')).toMatchObject({ code: 0 });
    const messages = trap.conversations.get(CHOSEN)?.events.filter(({ kind }) => kind === 'MessageEvent');
    expect(messages).toHaveLength(2);
  });

  it('conv delete exits 12 when neither dialect has the route', async () => {
    trap = await looseTrap({ ...options, lacks: ['DELETE /api/v1/app-conversations/:id'] });
    await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', CHOSEN);
    expect(await trap.acs('conv', 'delete', CHOSEN, '-y')).toMatchObject({ code: 12 });
    expect(trap.conversations.size).toBe(1);
  });

  it('conv delete exits 12 when the route answers 404 with its own message and the conversation exists', async () => {
    trap = await looseTrap(options);
    await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', CHOSEN);
    trap.before = ({ method }) => (method === 'DELETE' ? { status: 404, json: { error: 'no such path' } } : null);
    const ended = await trap.acs('conv', 'delete', CHOSEN, '-y', '--ignore-not-found');
    expect(ended, ended.err).toMatchObject({ code: 12 });
    expect(trap.conversations.size).toBe(1);
  });
});

it.each([
  ['rename', ['T']],
  ['delete', ['-y', '--ignore-not-found']],
])(
  'conv %s exits 12 where the document lists the route, it answers 404, and the conversation exists',
  async (verb, rest) => {
    const title = { content: { 'application/json': { schema: { properties: { title: {} } } } } };
    const paths = {
      '/api/v1/app-conversations': { get: {}, post: {} },
      '/api/v1/app-conversations/{conversation_id}': { delete: {}, patch: { requestBody: title } },
    };
    trap = await looseTrap({ openapi: { json: { paths } } });
    await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', CHOSEN);
    trap.before = ({ method }) => (method === 'PATCH' || method === 'DELETE' ? NOT_FOUND : null);
    const ended = await trap.acs('conv', verb, CHOSEN, ...rest);
    expect(ended, ended.err).toMatchObject({ code: 12 });
    expect(trap.conversations.size).toBe(1);
  },
);

it('the presence of a route is read without side effects, once, and cached', async () => {
  trap = await looseTrap({ openapi: NOT_FOUND });
  await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', CHOSEN);
  await trap.acs('conv', 'send', CHOSEN, 'again');
  await trap.acs('conv', 'send', CHOSEN, 'once more');
  const reads = trap.fake.asked.filter(
    ({ method, path: asked }) => method === 'GET' && asked.endsWith('/send-message'),
  );
  expect(reads).toHaveLength(1);
  expect((await cached()).join()).toContain('"send-message":"present"');
});

it('a cached feature is deleted when a 404 contradicts it', async () => {
  trap = await looseTrap({ openapi: NOT_FOUND });
  await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', CHOSEN);
  await trap.acs('conv', 'send', CHOSEN, 'again');
  trap.before = ({ path: asked }) => (asked.endsWith('/send-message') ? NOT_FOUND : null);
  const sent = await trap.acs('conv', 'send', CHOSEN, 'once more');
  expect(sent, sent.err).toMatchObject({ code: 0 });
  expect((await cached()).join()).not.toContain('"send-message":"present"');
});

it('a start is repeated only after the server has honoured a chosen id', async () => {
  trap = await looseTrap({ openapi: NOT_FOUND });
  let cuts = 1;
  trap.before = ({ method, path: asked }) =>
    method === 'POST' && asked === '/api/v1/app-conversations' && cuts-- > 0 ? { cut: true } : null;
  const start = () => trap.acs('conv', 'new', 'hello', '--no-repo', '--sandbox', 'sandbox1');
  trap.sandboxes.set('sandbox1', 'RUNNING');
  expect(await start()).toMatchObject({ code: 11 });
  expect(trap.conversations.size).toBe(0);
  expect(await start()).toMatchObject({ code: 0 });
  cuts = 1;
  expect(await start()).toMatchObject({ code: 0 });
  expect(trap.conversations.size).toBe(2);
});
