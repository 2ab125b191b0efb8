import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { SHELLS } from '../../../src/commands/completion/index.ts';
import { invoke } from '../../support/world.ts';
import { dir, env, found, scripts, useScripts } from './shells.ts';

useScripts();

describe.each(['bash', 'zsh', 'fish'].filter(found))('the script for %s', (shell) => {
  it('is read without an error', () => {
    const flags = shell === 'fish' ? ['--no-execute'] : ['-n'];
    const { status, stderr } = spawnSync(shell, [...flags, scripts[`acs.${shell}`] ?? ''], {
      encoding: 'utf8',
      env: env(),
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

describe('acs completion', () => {
  const acs = (args: string[], env: Record<string, string> = {}) =>
    invoke({
      args,
      cwd: dir,
      env: { HOME: dir, ACS_CONFIG_DIR: path.join(dir, 'config'), ACS_DATA_DIR: path.join(dir, 'data'), ...env },
    });

  it.each(SHELLS)('prints the script for %s and reads nothing', async (shell) => {
    const { code, out, err } = await acs(['completion', shell], { ACS_BASE_URL: '' });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const extension = shell === 'powershell' ? 'ps1' : shell;
    expect(out === readFileSync(scripts[`acs.${extension}`] ?? '', 'utf8')).toBe(true);
  });

  it('of an unknown shell is exit 2 and names the known ones; a format makes no sense', async () => {
    const { code, err } = await acs(['completion', 'tcsh']);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'error: no completion for "tcsh"\n  shells: bash, zsh, fish, powershell\n',
    });
    expect((await acs(['completion', 'bash', '--json'])).code).toBe(2);
  });

  it('gets the names of profiles from a hidden command that is silent when the store is corrupt', async () => {
    expect(await acs(['__complete', 'profiles'])).toMatchObject({ code: 0, out: 'local\n', err: '' });
    await acs(['profile', 'add', 'work', '--base-url', 'https://work.example', '--no-check']);
    expect(await acs(['__complete', 'profiles'])).toMatchObject({ code: 0, out: 'work\nlocal\n', err: '' });
    writeFileSync(path.join(dir, 'config', 'profiles.json'), '{');
    expect(await acs(['__complete', 'profiles'])).toMatchObject({ code: 0, out: '', err: '' });
    expect(await acs(['__complete', 'else'])).toMatchObject({ code: 0, out: '', err: '' });
    expect((await acs(['--help'])).out).not.toContain('__complete');
  });
});
