import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openProfileStore } from '../../src/profiles/store.ts';
import { mode, profile, useConfigDirs } from './support/config-dirs.ts';

const dirs = useConfigDirs();

describe('the profile store', () => {
  it('creates no file while nothing is stored', async () => {
    const store = openProfileStore(dirs);
    expect([await store.list(), await store.get('work'), await store.defaultName()]).toEqual([[], null, null]);
    expect(existsSync(dirs.configDir)).toBe(false);
  });

  it('keeps what was added in order, and the first is the default', async () => {
    const store = openProfileStore(dirs);
    await store.add(profile('work', { key: 'k1', defaults: { model: 'm' } }));
    await store.add(profile('a.b-c_d', { key_command: 'pass show acs' }));
    expect(await openProfileStore(dirs).list()).toEqual([
      profile('work', { key: 'k1', defaults: { model: 'm' } }),
      profile('a.b-c_d', { key_command: 'pass show acs' }),
    ]);
    expect(await store.defaultName()).toBe('work');
  });

  it('creates directory and file with 0700 and 0600, and leaves no temporary file', async () => {
    await openProfileStore(dirs).add(profile('work'));
    expect([mode(dirs.configDir), mode(dirs.file), readdirSync(dirs.configDir)]).toEqual([
      '700',
      '600',
      ['profiles.json'],
    ]);
  });

  it('restricts its own directory to its owner, and does not change a directory that others use', async () => {
    mkdirSync(dirs.configDir, { recursive: true });
    chmodSync(dirs.configDir, 0o755);
    await openProfileStore(dirs).add(profile('work'));
    expect(mode(dirs.configDir)).toBe('700');

    const shared = path.join(dirs.base, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o755);
    writeFileSync(path.join(shared, 'other'), '');
    await openProfileStore({ configDir: shared }).add(profile('work'));
    expect([mode(shared), mode(path.join(shared, 'profiles.json'))]).toEqual(['755', '600']);
  });

  it('writes through a link instead of replacing it', async () => {
    const target = path.join(dirs.base, 'dotfiles.json');
    writeFileSync(target, '{"profiles":{}}', { mode: 0o644 });
    mkdirSync(dirs.configDir, { recursive: true, mode: 0o700 });
    symlinkSync(target, dirs.file);
    await openProfileStore(dirs).add(profile('work'));
    expect(lstatSync(dirs.file).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, 'utf8'))).toMatchObject({ default: 'work' });
    expect(mode(target)).toBe('600');
  });

  it('renames with the default, removes without choosing another, and keeps what a newer acs wrote', async () => {
    dirs.corrupt(
      JSON.stringify({
        default: 'work',
        profiles: { work: profile('work'), other: profile('other') },
        later: { a: 1 },
      }),
    );
    const store = openProfileStore(dirs);
    await store.rename('work', 'office');
    expect([(await store.list()).map(({ name }) => name), await store.defaultName()]).toEqual([
      ['office', 'other'],
      'office',
    ]);
    await store.remove('office');
    expect([(await store.list()).map(({ name }) => name), await store.defaultName()]).toEqual([['other'], null]);
    await store.setDefault('local');
    expect(JSON.parse(readFileSync(dirs.file, 'utf8'))).toMatchObject({ default: 'local', later: { a: 1 } });
  });

  it('is empty when its directory cannot exist, and throws config on a write', async () => {
    writeFileSync(path.join(dirs.base, 'no-folder'), '');
    const store = openProfileStore({ configDir: path.join(dirs.base, 'no-folder', 'acs') });
    expect(await store.list()).toEqual([]);
    await expect(store.add(profile('work'))).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('a part of its path is not a directory') as string,
    });
  });
});
