import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { invoke } from '../support/world.ts';

const KEY = 'hush-word-9981';
const acs = (...args: string[]) =>
  invoke({ args, cwd: tmpdir(), env: { HOME: tmpdir(), ACS_BASE_URL: 'http://127.0.0.1:9' } });

it.each([
  [2, "unknown option '--api-key'", ['conv', 'list', `--api-key=${KEY}`]],
  [2, "unknown option '--api-key'", ['--api-key', KEY, 'conv', 'list']],
  [2, "unknown option '--token'", ['login', 'work', `--token=${KEY}`]],
  [2, "unknown option '--json'", ['conv', 'list', `--json=${KEY}`]],
  [2, "unknown option '--key'", ['conv', 'list', `--key:${KEY}`]],
  [2, "unknown option '-k'", ['conv', 'list', `-k${KEY}`]],
  [3, '--api-key-file', ['conv', 'list', '--api-key-file', KEY]],
  [
    3,
    '--api-key-file',
    ['login', 'work', '--base-url', 'http://127.0.0.1:9', '--api-key-file', KEY],
  ],
])('a key in the wrong place ends with %i, %s, and is not repeated', async (code, named, args) => {
  for (const format of [[], ['--format', 'json']]) {
    const ended = await acs(...args, ...format);
    expect(ended.code, ended.err).toBe(code);
    expect(ended.err).toContain(named);
    expect(ended.err).not.toContain(KEY);
  }
});

it('an unknown option for a key names --api-key-file and ACS_API_KEY', async () => {
  const { err } = await acs('conv', 'list', `--api-key=${KEY}`);
  expect(err).toContain('--api-key-file');
  expect(err).toContain('ACS_API_KEY');
});

it('the key of the environment is not repeated when it is given in the wrong place', async () => {
  const env = { HOME: tmpdir(), ACS_API_KEY: KEY };
  const { code, err } = await invoke({ args: ['conv', 'list', '-p', KEY], cwd: tmpdir(), env });
  expect(code).toBe(3);
  expect(err).not.toContain(KEY);
});
