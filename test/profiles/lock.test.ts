import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
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
const profile = (name: string, more: Partial<Profile> = {}): Profile => ({
  name,
  base_url: `https://${name}.example`,
  created_at: '2026-01-01T00:00:00.000Z',
  ...more,
});

describe('the profile store', () => {
  it('takes the lock of a process that has ended', async () => {
    mkdirSync(configDir, { recursive: true });
    writeFileSync(path.join(configDir, 'profiles.lock'), 'a holder that is gone');
    await openProfileStore({ configDir }).add(profile('work'));
    expect(readdirSync(configDir)).toEqual(['profiles.json']);
  });

  it('stores all profiles when several processes add at once', async () => {
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
