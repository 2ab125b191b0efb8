import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openServerCache } from '../../src/profiles/cache.ts';
import { configDirectory } from '../../src/profiles/location.ts';
import { openProfileStore, type Profile } from '../../src/profiles/store.ts';

const base = mkdtempSync(path.join(os.tmpdir(), 'acs-store-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let configDir = '';
let count = 0;
beforeEach(() => {
  count += 1;
  configDir = path.join(base, `home-${count}`, '.config', 'acs');
});

const file = () => path.join(configDir, 'profiles.json');
const mode = (name: string) => (statSync(name).mode & 0o777).toString(8);
const profile = (name: string, more: Partial<Profile> = {}): Profile => ({
  name,
  base_url: `https://${name}.example`,
  created_at: '2026-01-01T00:00:00.000Z',
  ...more,
});

function corrupt(text: string): void {
  mkdirSync(configDir, { recursive: true });
  writeFileSync(file(), text);
}

describe('the profile store', () => {
  it('creates nothing while nothing is stored', async () => {
    const store = openProfileStore({ configDir });
    expect([await store.list(), await store.get('work'), await store.defaultName()]).toEqual([[], null, null]);
    expect(existsSync(configDir)).toBe(false);
  });

  it('keeps what was added in order, and the first is the default', async () => {
    const store = openProfileStore({ configDir });
    await store.add(profile('work', { key: 'k1', defaults: { model: 'm' } }));
    await store.add(profile('a.b-c_d', { key_command: 'pass show acs' }));
    expect(await openProfileStore({ configDir }).list()).toEqual([
      profile('work', { key: 'k1', defaults: { model: 'm' } }),
      profile('a.b-c_d', { key_command: 'pass show acs' }),
    ]);
    expect(await store.defaultName()).toBe('work');
  });

  it('closes directory and file to others, and leaves no temporary file', async () => {
    await openProfileStore({ configDir }).add(profile('work'));
    expect([mode(configDir), mode(file()), readdirSync(configDir)]).toEqual(['700', '600', ['profiles.json']]);
  });

  it('closes a directory of its own that was open, and leaves one alone that others use', async () => {
    mkdirSync(configDir, { recursive: true });
    chmodSync(configDir, 0o755);
    await openProfileStore({ configDir }).add(profile('work'));
    expect(mode(configDir)).toBe('700');

    const shared = path.join(base, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o755);
    writeFileSync(path.join(shared, 'other'), '');
    await openProfileStore({ configDir: shared }).add(profile('work'));
    expect([mode(shared), mode(path.join(shared, 'profiles.json'))]).toEqual(['755', '600']);
  });

  it('writes through a link instead of replacing it', async () => {
    const target = path.join(base, 'dotfiles.json');
    writeFileSync(target, '{"profiles":{}}', { mode: 0o644 });
    mkdirSync(configDir, { recursive: true, mode: 0o700 });
    symlinkSync(target, file());
    await openProfileStore({ configDir }).add(profile('work'));
    expect(lstatSync(file()).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, 'utf8'))).toMatchObject({ default: 'work' });
    expect(mode(target)).toBe('600');
  });

  it('renames with the default, removes without choosing another, and keeps what a newer acs wrote', async () => {
    corrupt(
      JSON.stringify({
        default: 'work',
        profiles: { work: profile('work'), other: profile('other') },
        later: { a: 1 },
      }),
    );
    const store = openProfileStore({ configDir });
    await store.rename('work', 'office');
    expect([(await store.list()).map(({ name }) => name), await store.defaultName()]).toEqual([
      ['office', 'other'],
      'office',
    ]);
    await store.remove('office');
    expect([(await store.list()).map(({ name }) => name), await store.defaultName()]).toEqual([['other'], null]);
    await store.setDefault('local');
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ default: 'local', later: { a: 1 } });
  });

  it('refuses names that are taken, unknown or not allowed', async () => {
    const store = openProfileStore({ configDir });
    await store.add(profile('work'));
    await store.add(profile('other'));
    await expect(store.add(profile('work'))).rejects.toMatchObject({ kind: 'conflict' });
    await expect(store.rename('other', 'work')).rejects.toMatchObject({ kind: 'conflict' });
    await expect(store.rename('other', 'local')).rejects.toMatchObject({ kind: 'usage' });
    await expect(store.remove('constructor')).rejects.toMatchObject({ kind: 'not-found' });
    await expect(store.setDefault('nobody')).rejects.toMatchObject({ kind: 'not-found' });
    for (const name of ['local', '', '-x', 'a,b', '__proto__', 'a b', 'x'.repeat(65)]) {
      expect(() => store.draft(name, 'https://a.example'), name).toThrowError(
        expect.objectContaining({ kind: 'usage' }) as Error,
      );
    }
    await store.add(profile('work', { key: 'new' }), 'replace');
    expect((await store.get('work'))?.key).toBe('new');
  });

  it.each([
    ['{"profiles": {"work": {"key": "s3cret"', 'it is not valid JSON'],
    ['', 'it is empty'],
    ['[]', 'it is not a JSON object'],
    ['{"profiles": []}', '"profiles" is not an object'],
    ['{"profiles": {"work": {}}}', 'profile "work": "base_url" is not a URL'],
    ['{"profiles": {"local": {"base_url": "https://a.example"}}}', 'profile "local": its name is not allowed'],
    ['{"profiles": {"work": {"base_url": "https://a.example", "key": 7}}}', 'profile "work": "key" is not a string'],
    ['{"default": "gone", "profiles": {}}', '"default" names a profile that is not there'],
  ])('is not touched when it is corrupt: %s', async (text, why) => {
    corrupt(text);
    const store = openProfileStore({ configDir });
    const refused = { kind: 'config', message: `the profile store ${file()} cannot be used: ${why}` };
    await expect(store.list()).rejects.toMatchObject(refused);
    await expect(store.add(profile('work'))).rejects.toMatchObject(refused);
    expect(readFileSync(file(), 'utf8')).toBe(text);
    expect(readdirSync(configDir)).toEqual(['profiles.json']);
  });

  it('is empty where no directory can be, and says so when something is to be stored', async () => {
    writeFileSync(path.join(base, 'no-folder'), '');
    const store = openProfileStore({ configDir: path.join(base, 'no-folder', 'acs') });
    expect(await store.list()).toEqual([]);
    await expect(store.add(profile('work'))).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('a part of its path is not a directory') as string,
    });
  });

  it('takes over a lock whose holder has died', async () => {
    mkdirSync(configDir, { recursive: true });
    writeFileSync(path.join(configDir, 'profiles.lock'), 'a holder that is gone');
    await openProfileStore({ configDir }).add(profile('work'));
    expect(readdirSync(configDir)).toEqual(['profiles.json']);
  });

  it('loses nothing when several processes add at once', async () => {
    const script = path.join(base, 'add.cjs');
    await build({
      stdin: {
        contents: `import { openProfileStore } from './src/profiles/store.ts';
          const [configDir, name] = process.argv.slice(2);
          openProfileStore({ configDir }).add({ name, base_url: 'https://a.example', created_at: 'now' })
            .catch((error) => { console.error(error); process.exitCode = 1; });`,
        resolveDir: path.resolve(import.meta.dirname, '..', '..'),
        loader: 'ts',
      },
      outfile: script,
      bundle: true,
      format: 'cjs',
      platform: 'node',
    });
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    await Promise.all(names.map((name) => promisify(execFile)(process.execPath, [script, configDir, name])));
    const stored = (await openProfileStore({ configDir }).list()).map(({ name }) => name);
    expect(stored.sort()).toEqual(names);
  });
});

describe('the directory', () => {
  it.each([
    [{ ACS_CONFIG_DIR: '/x' }, 'linux', '/x'],
    [{}, 'linux', '/home/u/.config/acs'],
    [{ XDG_CONFIG_HOME: '/c' }, 'linux', '/c/acs'],
    [{ XDG_CONFIG_HOME: 'relative' }, 'linux', '/home/u/.config/acs'],
    [{ ACS_CONFIG_DIR: '' }, 'linux', '/home/u/.config/acs'],
    [{}, 'darwin', '/home/u/Library/Preferences/acs'],
    [{ APPDATA: '/r' }, 'win32', '/r/acs/Config'],
  ])('with %j on %s is %s', (env, platform, expected) => {
    expect(configDirectory(env, platform, '/home/u')).toBe(expected);
  });
});

describe('the cache', () => {
  it('remembers by origin until the lifetime ends', async () => {
    let now = 1000;
    const cache = openServerCache({ configDir, now: () => now });
    await cache.probe.set('https://a.example', { dialects: ['v1'] }, 500);
    await cache.last.set('https://a.example', 'abc123');
    expect(await cache.probe.get('https://a.example')).toEqual({ dialects: ['v1'] });
    expect(await cache.probe.get('https://b.example')).toBeNull();
    now = 1500;
    expect([await cache.probe.get('https://a.example'), await cache.last.get('https://a.example')]).toEqual([
      null,
      'abc123',
    ]);
    await cache.probe.drop('https://a.example');
    await cache.probe.drop('https://a.example');
  });

  it('is closed to others', async () => {
    await openServerCache({ configDir, now: () => 0 }).last.set('local', 'abc123');
    const dir = path.join(configDir, 'cache');
    expect([mode(configDir), mode(dir), readdirSync(dir).map((name) => mode(path.join(dir, name)))]).toEqual([
      '700',
      '700',
      ['600'],
    ]);
  });

  it('is as good as absent when it is corrupt or cannot be written', async () => {
    const cache = openServerCache({ configDir, now: () => 0 });
    await cache.last.set('local', 'abc123');
    const dir = path.join(configDir, 'cache');
    for (const text of [
      '',
      '{',
      'null',
      '{"origin":7}',
      '{"origin":"local","value":{}}',
      '{"origin":"local","value":"../x"}',
    ]) {
      for (const name of readdirSync(dir)) writeFileSync(path.join(dir, name), text);
      expect(await cache.last.get('local'), text).toBeNull();
    }
    writeFileSync(path.join(base, 'blocked'), '');
    const blocked = openServerCache({ configDir: path.join(base, 'blocked'), now: () => 0 });
    await blocked.last.set('local', 'abc123');
    expect(await blocked.last.get('local')).toBeNull();
  });
});
