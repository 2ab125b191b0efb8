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
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
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
  it('creates no file while nothing is stored', async () => {
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

  it('creates directory and file with 0700 and 0600, and leaves no temporary file', async () => {
    await openProfileStore({ configDir }).add(profile('work'));
    expect([mode(configDir), mode(file()), readdirSync(configDir)]).toEqual(['700', '600', ['profiles.json']]);
  });

  it('restricts its own directory to its owner, and does not change a directory that others use', async () => {
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

  it('is empty when its directory cannot exist, and throws config on a write', async () => {
    writeFileSync(path.join(base, 'no-folder'), '');
    const store = openProfileStore({ configDir: path.join(base, 'no-folder', 'acs') });
    expect(await store.list()).toEqual([]);
    await expect(store.add(profile('work'))).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('a part of its path is not a directory') as string,
    });
  });
});
