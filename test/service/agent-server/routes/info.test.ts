import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAgentApp } from '../../../../src/service/agent-server/app.ts';
import { BashService } from '../../../../src/service/agent-server/bash.ts';
import { Conversations } from '../../../../src/service/agent-server/conversations.ts';
import type { Sandbox } from '../../../../src/service/agent-server/sandbox.ts';

const KEY = 'test-session-key';
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
  app = createAgentApp({
    sessionApiKey: KEY,
    version: '1.2.3',
    conversations: new Conversations({
      eventsDir: dir,
      defaultReplay: null,
      sandbox,
      nowMicroseconds,
      notify: () => undefined,
    }),
    bash: new BashService(sandbox, nowMicroseconds),
    sandbox,
    nowMicroseconds,
    faultRules: null,
    log: () => undefined,
  });
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const get = async (route: string, key = KEY): Promise<{ status: number; body: unknown }> => {
  const answer = await app.request(`http://127.0.0.1${route}`, {
    headers: { Host: '127.0.0.1', 'X-Session-API-Key': key },
  });
  return { status: answer.status, body: await answer.json() };
};

it('the time since the start and since the last request below /api are whole seconds', async () => {
  now += 10.9 * SECOND;
  expect((await get('/server_info')).body).toMatchObject({ uptime: 10, idle_time: 10, acs_version: '1.2.3' });
  await get('/api/tools/');
  now += 5 * SECOND;
  await get('/alive');
  expect((await get('/server_info')).body).toMatchObject({ uptime: 15, idle_time: 5 });
});

it('the tools are those of the agent, and returned only with the key', async () => {
  expect(await get('/api/tools/')).toEqual({ status: 200, body: ['file_editor', 'terminal'] });
  expect(await get('/api/vscode/url')).toEqual({ status: 200, body: { url: null } });
  expect((await get('/api/tools/', 'wrong')).status).toBe(401);
  expect((await get('/api/vscode/url', '')).status).toBe(401);
  expect(await get('/ready', '')).toEqual({ status: 200, body: { status: 'ready' } });
});
