import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAgentApp } from '../../../src/service/agent-server/app.ts';
import { BashService } from '../../../src/service/agent-server/bash.ts';
import { Conversations } from '../../../src/service/agent-server/conversations.ts';
import { createFaultRules } from '../../../src/service/faults/rules.ts';
import type { Sandbox } from '../../../src/service/isolation/sandbox.ts';
import { useSharedWorker } from './support/shared-sandboxes.ts';
import { ID, KEY, step } from './support/worker.ts';

const shared = useSharedWorker([step.finish()]);
const { get, post } = shared;
const conversation = `/api/conversations/${ID}`;
const { version: packageVersion } = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, '../../../package.json'), 'utf8'),
) as { version: string };

describe('the agent server', () => {
  it('refuses every other key, and its own key as a bearer token', async () => {
    const refused = { status: 401, body: { detail: 'Unauthorized' } };
    const wrong: Record<string, string>[] = [
      { 'X-Session-API-Key': 'wrong' },
      { 'X-Session-API-Key': KEY.replace(/.$/, '#') },
      { 'X-Session-API-Key': '', Authorization: `Bearer ${KEY}` },
    ];
    for (const headers of wrong) {
      expect(await shared.worker.call('GET', conversation, undefined, headers)).toMatchObject(
        refused,
      );
    }
  });

  it('answers health checks without a key', async () => {
    for (const route of ['/alive', '/health']) {
      const { status, body } = await shared.worker.call('GET', route, undefined, {
        'X-Session-API-Key': '',
      });
      expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } });
    }
    expect(await get('/ready')).toEqual({ status: 200, body: { status: 'ready' } });
    expect((await get('/server_info')).body).toMatchObject({
      uptime: expect.any(Number) as number,
      version: '1.34.0',
      sdk_version: '1.34.0',
      acs_version: packageVersion,
    });
  });

  it.each([
    [{ host: 'example.com' }],
    [{ host: 'localhost.example.com' }],
    [{ host: '127.0.0.1', origin: 'https://example.com' }],
    [{ host: '127.0.0.1', origin: 'null' }],
  ])('refuses a foreign Host or Origin: %j', async (headers) => {
    expect(await raw('/api/conversations/count', { ...headers, 'x-session-api-key': KEY })).toBe(
      403,
    );
  });

  it('answers 404 to an unknown path and 405 to another method, as genuine servers do', async () => {
    expect(await get('/api/nothing')).toEqual({ status: 404, body: { detail: 'Not Found' } });
    expect(await post('/api/conversations/search')).toEqual({
      status: 405,
      body: { detail: 'Method Not Allowed' },
    });
  });
});

function raw(route: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: shared.worker.port, path: route, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

const SECOND = 1_000_000;

let dir: string;
let now: number;
let app: ReturnType<typeof createAgentApp>;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-info-'));
  now = 1_800_000_000 * SECOND;
  const nowMicroseconds = () => now;
  // No request of these tests reaches the sandbox.
  const sandbox = {} as Sandbox;
  const own = {
    config: {
      session_api_key: KEY,
      root: path.resolve(import.meta.dirname, '../../..'),
      spec: 'process' as const,
      events_dir: dir,
      fell_back: false,
      default_replay: null,
    },
    sandbox,
    userStore: () => expect.fail(),
    nowMicroseconds,
    notify: () => undefined,
  };
  app = createAgentApp({
    ...own,
    version: '1.2.3',
    conversations: new Conversations(own),
    bash: new BashService(sandbox, nowMicroseconds),
    setUpLimit: new AbortController(),
    startedAt: now,
    lastUse: now,
    faultRules: createFaultRules([], () => undefined),
    log: () => undefined,
  });
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const ask = async (route: string, key = KEY): Promise<{ status: number; body: unknown }> => {
  const answer = await app.request(`http://127.0.0.1${route}`, {
    headers: { Host: '127.0.0.1', 'X-Session-API-Key': key },
  });
  return { status: answer.status, body: await answer.json() };
};

it('the time since the start and since the last request below /api are whole seconds', async () => {
  now += 10.9 * SECOND;
  expect((await ask('/server_info')).body).toMatchObject({
    uptime: 10,
    idle_time: 10,
    acs_version: '1.2.3',
  });
  await ask('/api/tools/');
  now += 5 * SECOND;
  await ask('/alive');
  expect((await ask('/server_info')).body).toMatchObject({ uptime: 15, idle_time: 5 });
});

it('the document is that of an agent server, and returned without the key', async () => {
  const { status, body } = await ask('/openapi.json', '');
  expect({ status, body }).toMatchObject({ status: 200, body: { openapi: '3.1.0' } });
  expect((body as { info: { title: string } }).info.title).toMatch(/^agent server/i);
});

it('the tools are those of the agent, and returned only with the key', async () => {
  expect(await ask('/api/tools/')).toEqual({ status: 200, body: ['file_editor', 'terminal'] });
  expect(await ask('/api/vscode/url')).toEqual({ status: 200, body: { url: null } });
  expect((await ask('/api/tools/', 'wrong')).status).toBe(401);
  expect((await ask('/api/vscode/url', '')).status).toBe(401);
  expect(await ask('/ready', '')).toEqual({ status: 200, body: { status: 'ready' } });
});
