/** Sign-in to a backend of this machine, whose key is offered. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ConnectTarget, Context } from '../../src/commands/context.ts';
import { AppError } from '../../src/base/errors.ts';
import { isBackendHere } from '../../src/commands/shared/backend-here.ts';
import { backend, backendHandler } from '../client/support/backend-server.ts';
import { NOT_FOUND } from '../support/server.ts';
import { TestClock } from '../support/test-clock.ts';
import { KEY, useWorld } from '../support/use-world.ts';

const at = useWorld({ script: () => NOT_FOUND, target: 'none' });
const stored = () => readFileSync(path.join(at.configDir, 'profiles.json'), 'utf8');
const keyFile = () => path.join(at.dir, '.openhands', 'agent-canvas', 'api-key.txt');
const question = (place: string) => `Use the key in ${place}?`;

function keepKey(text: string, mode = 0o600): void {
  mkdirSync(path.dirname(keyFile()), { recursive: true });
  writeFileSync(keyFile(), text);
  chmodSync(keyFile(), mode);
}

/** On a terminal, by the URL of the scripted server. */
const login = (answers: (string | boolean)[], ending: Parameters<typeof at.ends>[1] = {}) =>
  at.ends(`login here --base-url ${at.server.url}`, { answers, hides: KEY, ...ending });

beforeEach(() => {
  keepKey(`${KEY}\n`);
  at.server.handler = backendHandler({
    '/api/conversations/count': ({ headers }) =>
      headers['x-session-api-key'] === KEY ? { json: 0 } : backend.reply('auth.wrong'),
  });
});

describe('login at a backend of this machine', () => {
  it('stores the key of Agent Canvas after a question that names its file', async () => {
    await login([true], {
      questions: [question(keyFile())],
      err: 'agent server 1.49.1 (dialect agent), with caller-conversation-id',
    });
    expect(stored()).toContain(KEY);
  });

  it('neither reads nor sends the key after a no', async () => {
    await login([false, 'other-key-0123456789', KEY], {
      questions: [
        question(keyFile()),
        'Key (empty: none)',
        expect.stringContaining('the server refuses the key'),
      ],
    });
    const keys = at.server.asked.map(({ headers }) => headers['x-session-api-key']);
    expect(keys.indexOf(KEY)).toBeGreaterThan(keys.indexOf('other-key-0123456789'));
  });

  it('prompts for a key when that of the file is refused', async () => {
    keepKey('old-key-0123456789');
    await login([true, KEY], {
      questions: [question(keyFile()), 'Key (empty: none)'],
      err: `the server refuses the key from ${keyFile()}`,
      hides: 'old-key-0123456789',
    });
  });

  it('warns of a key file that other users can read', async () => {
    keepKey(KEY, 0o644);
    await login([true], { err: `other users have access to ${keyFile()}` });
  });

  it('offers the key of LOCAL_BACKEND_API_KEY in place of that in the file', async () => {
    keepKey('old-key-0123456789');
    await login([true], {
      env: { LOCAL_BACKEND_API_KEY: KEY },
      questions: [question('LOCAL_BACKEND_API_KEY')],
    });
  });

  it('offers no key to another server of this machine', async () => {
    at.server.handler = () => NOT_FOUND;
    await login([], { code: 9, questions: [] });
  });

  it('reads no key file off a terminal', async () => {
    const line = `login here --base-url ${at.server.url}`;
    await at.ends(line, { code: 4, err: 'the server requires an API key' });
    await at.ends(`${line} --api-key-file -`, { stdin: KEY, hides: KEY });
  });

  it('takes a host of this machine without a scheme, which means http', async () => {
    const { host } = new URL(at.server.url);
    await at.ends(`login here --base-url ${host} --json`, {
      env: { ACS_API_KEY: KEY },
      out: { base_url: at.server.url },
    });
    await at.ends(`login here --base-url example.com`, { code: 2, err: 'the URL has no scheme' });
  });
});

it('login warns of a key that is sent to another machine without encryption', async () => {
  const line = 'login vm --base-url http://vm.example:8000 --no-check --api-key-file -';
  const warning = 'the key is sent to http://vm.example:8000 without encryption';
  await at.ends(line, { stdin: KEY, err: warning });
});

describe('a backend at its usual URL', () => {
  const find = async (connect: (target: ConnectTarget) => Promise<unknown>) => {
    const ctx = {
      clock: new TestClock({ movedBy: 'sleeps' }),
      signal: new AbortController().signal,
      terminal: { progress: () => Promise.resolve({ done: () => Promise.resolve() }) },
      servers: { connect },
    };
    return await isBackendHere(ctx as unknown as Context);
  };
  const request = { method: 'GET', url: 'http://localhost:8000/openapi.json' };
  const fails = (status: number) => () =>
    Promise.reject(new AppError('server', 'no', { status, request }));

  it.each<[string, boolean, (target: ConnectTarget) => Promise<unknown>]>([
    ['is found by its dialect', true, () => Promise.resolve({ info: { dialect: 'agent' } })],
    ['is found while a gateway answers 502', true, fails(502)],
    ['is not an app server', false, () => Promise.resolve({ info: { dialect: 'v1' } })],
    ['is not what answers an error', false, fails(404)],
    ['is not a server that sends nothing for 3 s', false, () => new Promise(() => undefined)],
  ])('%s', async (_, isFound, connect) => {
    expect(await find(connect)).toBe(isFound);
  });
});
