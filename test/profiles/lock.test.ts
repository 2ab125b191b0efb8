import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { openProfileStore } from '../../src/profiles/store.ts';
import { profile, useConfigDirs } from './support/config-dirs.ts';

const dirs = useConfigDirs();

describe('the profile store', () => {
  it('takes the lock of a process that has ended', async () => {
    mkdirSync(dirs.configDir, { recursive: true });
    writeFileSync(path.join(dirs.configDir, 'profiles.lock'), 'a holder that is gone');
    await openProfileStore(dirs).add(profile('work'));
    expect(readdirSync(dirs.configDir)).toEqual(['profiles.json']);
  });

  it('stores all profiles when several processes add at once', async () => {
    const script = path.join(dirs.base, 'add.cjs');
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
    await Promise.all(names.map((name) => promisify(execFile)(process.execPath, [script, dirs.configDir, name])));
    const stored = (await openProfileStore(dirs).list()).map(({ name }) => name);
    expect(stored.sort()).toEqual(names);
  });
});
