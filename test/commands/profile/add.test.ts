import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const acs = machine.acs;
const store = machine.store;
const stored = machine.stored;
const bare = machine.bare;

describe('profile add', () => {
  it('checks the key, stores it with mode 0600, and does not print it', async () => {
    const args = [
      'profile',
      'add',
      'work',
      '--base-url',
      `${machine.world.service.url}/`,
      '--api-key-file',
      '-',
      '--json',
    ];
    const { code, out, err } = await acs(args, { stdin: `${machine.world.service.key}\n` });
    expect(code).toBe(0);
    const record = JSON.parse(out) as Record<string, unknown>;
    expect(record).toEqual({
      name: 'work',
      base_url: machine.world.service.url,
      default: true,
      key_source: 'profile:work',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      changed: true,
    });
    expect(err).toBe('{"notice":"\\"work\\" is the default profile"}\n');
    expect(out + err).not.toContain(machine.world.service.key);
    expect(stored().profiles.work?.key).toBe(machine.world.service.key);
    expect([
      (statSync(machine.configDir).mode & 0o777).toString(8),
      (statSync(store()).mode & 0o777).toString(8),
    ]).toEqual(['700', '600']);
    expect((await acs(['specs', 'list', '--json'])).code).toBe(0);
  });

  it('exits 4 for a refused key and stores nothing', async () => {
    const { code, err } = await acs(
      ['profile', 'add', 'work', '--base-url', machine.world.service.url, '--api-key-file', '-'],
      { stdin: 'wrong' },
    );
    expect(code).toBe(4);
    expect(err).toContain('the server refuses the key from --api-key-file -');
    expect(err).toContain('the URL comes from --base-url');
    expect(err).toContain('nothing was stored; --no-check stores without asking the server');
    expect(existsSync(store())).toBe(false);
  });

  it('exits 4 without a required key and names the flags that give one', async () => {
    const { code, err } = await acs(['profile', 'add', 'work', '--base-url', machine.world.service.url]);
    expect(code).toBe(4);
    expect(err).toContain('--api-key-file');
  });

  it('checks ACS_API_KEY when the profile has no key, and does not store it', async () => {
    const { code } = await acs(['profile', 'add', 'work', '--base-url', machine.world.service.url], {
      env: { ACS_API_KEY: machine.world.service.key },
    });
    expect(code).toBe(0);
    expect(readFileSync(store(), 'utf8')).not.toContain(machine.world.service.key);
  });

  it('exits 10 for a server that does not answer and stores nothing; --no-check stores the profile', async () => {
    const args = ['profile', 'add', 'work', '--base-url', 'http://127.0.0.1:9'];
    expect((await acs(args)).code).toBe(10);
    expect(existsSync(store())).toBe(false);
    expect((await acs([...args, '--no-check'])).code).toBe(0);
    expect(stored().default).toBe('work');
  });

  it('stores a command that prints the key, and runs it for each command', async () => {
    const keyFile = path.join(machine.world.dir, 'key');
    writeFileSync(keyFile, `${machine.world.service.key}\n`);
    const { code, out } = await acs([
      'profile',
      'add',
      'work',
      '--base-url',
      machine.world.service.url,
      '--key-command',
      `cat ${keyFile}`,
      '--json',
    ]);
    expect([code, (JSON.parse(out) as { key_source: string }).key_source]).toEqual([0, 'command']);
    expect(stored().profiles.work).toMatchObject({ key_command: `cat ${keyFile}` });
    expect((await acs(['specs', 'list', '--json'])).code).toBe(0);
    writeFileSync(keyFile, '');
    const failed = await acs(['specs', 'list']);
    expect([failed.code, failed.err]).toEqual([
      3,
      expect.stringContaining('the key that the command printed is empty'),
    ]);
  });

  it.each<[string, string[]]>([
    ['without a URL', ['work']],
    ['with a URL that is none', ['work', '--base-url', 'acs.example.com']],
    ['with the name of the built-in profile', ['local', '--base-url', 'https://a.example']],
    ['with a name that cannot be one', ['a,b', '--base-url', 'https://a.example']],
    [
      'with two sources of a key',
      ['work', '--base-url', 'https://a.example', '--api-key-file', 'k', '--key-command', 'c'],
    ],
  ])('%s is exit 2', async (_, args) => {
    expect((await acs(['profile', 'add', ...args])).code).toBe(2);
    expect(existsSync(machine.configDir)).toBe(false);
  });

  it('exits 6 for a taken name, and --replace replaces the profile', async () => {
    await bare('work');
    expect((await bare('work', 'https://new.example')).code).toBe(6);
    const { code } = await acs([
      'profile',
      'add',
      'work',
      '--base-url',
      'https://new.example',
      '--no-check',
      '--replace',
    ]);
    expect([code, stored().profiles.work?.base_url]).toEqual([0, 'https://new.example']);
  });

  it('--dry-run checks and stores nothing', async () => {
    const args = ['profile', 'add', 'work', '--base-url', 'https://a.example', '--no-check', '--dry-run'];
    expect(await acs([...args, '--json'])).toMatchObject({ code: 0, out: '{"dry_run":true,"requests":[]}\n' });
    expect(existsSync(machine.configDir)).toBe(false);
  });
});
