/**
 * What is known of a server that gives no usable document: nothing is guessed, cached or refused
 * for it.
 */
import { describe, expect, it } from 'vitest';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { NOT_FOUND, type Reply } from '../support/server.ts';
import type { LooseOptions } from './support/loose-server.ts';
import { useLoose } from '../support/use-scripted.ts';

const CHOSEN = '0123456789abcdef0123456789abcdef';
const START = `conv new hello --no-repo --id ${CHOSEN}`;
const at = useLoose();

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
  const dir = path.join(at.configDir, 'cache');
  const names = await readdir(dir).catch(() => []);
  return Promise.all(
    names
      .filter((name) => name.startsWith('probe-'))
      .map((name) => readFile(path.join(dir, name), 'utf8')),
  );
}

it.each(BAD_ANSWERS)(
  'an answer for /openapi.json that is %s is not cached, and nothing is refused for it',
  async (_, openapi) => {
    at.serve({ openapi });
    await at.ends(START, {});
    expect(await cached()).toEqual([]);
    await at.ends(['conv', 'send', CHOSEN, 'again'], {});
    await at.ends(['conv', 'delete', CHOSEN, '-y'], {});
    expect(at.loose.conversations.size).toBe(0);
  },
);

describe('a document in which one member has a wrong type is neither cached nor used', () => {
  const document = () => {
    const schema = { $ref: '#/components/schemas/Start' };
    const post = { requestBody: { content: { [JSON_TYPE]: { schema } } } };
    return {
      info: { title: 'OpenHands', version: '1.11.0', 'x-features': { 'demo-replay': false } },
      paths: { '/api/v1/app-conversations': { post } },
      components: { schemas: { Start: { properties: { title: {} } } } },
    };
  };
  /** The path of each member, the objects on the way included. */
  const membersOf = (value: object, path: string[] = []): string[][] =>
    Object.entries(value).flatMap(([name, member]) => {
      const here = [...path, name];
      return typeof member === 'object' ? [here, ...membersOf(member as object, here)] : [here];
    });
  const members = membersOf(document()).map((path) => [path.join('.'), path] as const);

  it.each(members.filter(([name]) => !name.endsWith('.properties.title')))(
    '%s',
    async (_, path) => {
      const wrong = document();
      const parent = path
        .slice(0, -1)
        .reduce((value, name) => (value as never)[name], wrong as object);
      Object.assign(parent, { [path.at(-1) ?? '']: [5] });
      at.serve({ openapi: { json: wrong } });
      const unknown = expect.arrayContaining(['demo-replay', 'replay']) as string[];
      await at.ends('whoami --json', { out: { version: null, unknown_features: unknown } });
      expect(await cached()).toEqual([]);
      at.serve({ openapi: { json: document() } });
      await at.ends('whoami --json', { out: { version: '1.11.0', dialects: ['v1'] } });
      await at.ends('conv new hello --no-repo --replay demo', { code: 12 });
    },
  );
});

it('cached facts with a member of a wrong type are read again from the server', async () => {
  at.serve({ openapi: { json: { paths: { '/api/v1/app-conversations': { post: {} } } } } });
  await at.ends('whoami', {});
  const dir = path.join(at.configDir, 'cache');
  const file = path.join(dir, (await readdir(dir)).find((name) => name.startsWith('probe-')) ?? '');
  const kept = JSON.parse(await readFile(file, 'utf8')) as { value: { facts: object } };
  for (const member of ['dialects', 'features', 'v1_start_members', 'probed_at_ms']) {
    const facts = { ...kept.value.facts, [member]: 'text' };
    await writeFile(file, JSON.stringify({ ...kept, value: { ...kept.value, facts } }));
    await at.ends('whoami --json', { out: { dialects: ['v1'] } });
  }
});

it('whoami names the features that are unknown', async () => {
  const { features, unknown_features } = await at.json<{
    features: string[];
    unknown_features: string[];
  }>('whoami');
  expect(features).toEqual([]);
  expect(unknown_features).toEqual(
    expect.arrayContaining(['send-message', 'delete-conversation', 'v1-settings']),
  );
});

describe.each<[string, LooseOptions]>([
  ['404', { openapi: NOT_FOUND }],
  ['401', { openapi: { status: 401, json: { detail: 'Unauthorized' } } }],
  ['500', {}],
  ['hidden behind a web page', { openapi: HTML }],
])('a server whose /openapi.json is %s', (_, options) => {
  it.each([[false], [true]])(
    'refuses a wrong key with exit 4, also after a right one (V0 served: %s)',
    async (v0) => {
      at.serve({ ...options, v0 });
      const err = [
        'the server refuses the key from ACS_API_KEY',
        'the URL comes from ACS_BASE_URL',
      ];
      const refused = { env: { ACS_API_KEY: 'wrong-key-0123456789' }, code: 4, out: '', err };
      await at.ends('conv list', refused);
      await at.ends('conv list', {});
      await at.ends('conv list', refused);
    },
  );

  it.each([[false], [true]])(
    'reads its settings over the dialect that has them (V0 served: %s)',
    async (v0) => {
      at.serve({
        ...options,
        v0,
        lacks: v0 ? ['GET /api/v1/settings', 'POST /api/v1/settings'] : [],
      });
      await at.ends('settings get llm_model', { out: 'openai/gpt-4o\n' });
    },
  );

  it('settings get fails when no settings can be read', async () => {
    at.serve({ ...options, lacks: ['GET /api/v1/settings', 'POST /api/v1/settings'] });
    await at.ends('settings get llm_model', { code: 12, out: '' });
  });

  it('conv send goes to the sandbox where the app server lacks the route, and sends the message once', async () => {
    at.serve({ ...options, lacks: ['POST /api/v1/app-conversations/:id/send-message'] });
    await at.ends(START, {});
    await at.ends(['conv', 'send', CHOSEN, 'again'], {});
    const messages = at.loose.conversations
      .get(CHOSEN)
      ?.events.filter(({ kind }) => kind === 'MessageEvent');
    expect(messages).toHaveLength(2);
  });

  it('conv delete exits 12 when neither dialect has the route', async () => {
    at.serve({ ...options, lacks: ['DELETE /api/v1/app-conversations/:id'] });
    await at.ends(START, {});
    await at.ends(['conv', 'delete', CHOSEN, '-y'], {
      code: 12,
      err: 'no route that can delete a conversation',
    });
    expect(at.loose.conversations.size).toBe(1);
  });
});

it.each<[string, string[], Reply]>([
  ['rename', ['T'], NOT_FOUND],
  ['delete', ['-y', '--ignore-not-found'], NOT_FOUND],
  ['delete', ['-y', '--ignore-not-found'], { status: 404, json: { error: 'no such path' } }],
])(
  'conv %s %j exits 12 where the document lists the route, it answers %j, and the conversation exists',
  async (verb, rest, reply) => {
    const title = { content: { 'application/json': { schema: { properties: { title: {} } } } } };
    const paths = {
      '/api/v1/app-conversations': { get: {}, post: {} },
      '/api/v1/app-conversations/{conversation_id}': { delete: {}, patch: { requestBody: title } },
    };
    at.serve({ openapi: { json: { paths } } });
    await at.ends(START, {});
    at.loose.before = ({ method }) => (method === 'PATCH' || method === 'DELETE' ? reply : null);
    await at.ends(['conv', verb, CHOSEN, ...rest], {
      code: 12,
      err: `no route that can ${verb} a conversation`,
    });
    expect(at.loose.conversations.size).toBe(1);
  },
);

it('the presence of a route is read without side effects, once, and cached', async () => {
  at.serve({ openapi: NOT_FOUND });
  await at.ends(START, {});
  await at.ends(['conv', 'send', CHOSEN, 'again'], {});
  await at.ends(['conv', 'send', CHOSEN, 'once more'], {});
  const reads = at.server.asked.filter(
    ({ method, path: asked }) => method === 'GET' && asked.endsWith('/send-message'),
  );
  expect(reads).toHaveLength(1);
  expect((await cached()).join()).toContain('"send-message":"present"');
});

it('a cached feature is deleted when a 404 contradicts it', async () => {
  at.serve({ openapi: NOT_FOUND });
  await at.ends(START, {});
  await at.ends(['conv', 'send', CHOSEN, 'again'], {});
  at.loose.before = ({ path: asked }) => (asked.endsWith('/send-message') ? NOT_FOUND : null);
  const sent = await at.ends(['conv', 'send', CHOSEN, 'once more'], {});
  expect(sent, sent.err).toMatchObject({ code: 0 });
  expect((await cached()).join()).not.toContain('"send-message":"present"');
});

it('a start is repeated only after the server has honoured a chosen id', async () => {
  at.serve({ openapi: NOT_FOUND });
  let cuts = 1;
  at.loose.before = ({ method, path: asked }) =>
    method === 'POST' && asked === '/api/v1/app-conversations' && cuts-- > 0 ? { cut: true } : null;
  const start = (code: number) => at.ends('conv new hello --no-repo --sandbox sandbox1', { code });
  at.loose.sandboxes.set('sandbox1', 'RUNNING');
  await start(11);
  expect(at.loose.conversations.size).toBe(0);
  await start(0);
  cuts = 1;
  await start(0);
  expect(at.loose.conversations.size).toBe(2);
});
