import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
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

  it('exits 2 for an unknown shell, whose message names the known ones, and for a format', async () => {
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

describe.each(['fish'].filter(found))('in %s', (shell) => {
  const complete = (line: string) => {
    const script = `source ${scripts['acs.fish']}; complete -C '${line}'`;
    const out = execFileSync(shell, ['--no-config', '-c', script], { cwd: dir, env: env(), encoding: 'utf8' });
    return out
      .split('\n')
      .filter(Boolean)
      .map((row) => row.split('\t')[0]);
  };

  it('commands, flags, values and names of profiles are offered', () => {
    expect(complete('acs profile r')).toEqual(['rename']);
    expect(complete('acs -p serve conversation li')).toEqual(['list']);
    expect(complete('acs serve --st')).toEqual(['--status', '--stop']);
    expect(complete('acs serve --api v')).toEqual(['v0', 'v1']);
    expect(complete('acs profile use wo')).toEqual(['work', 'workshop']);
  });

  it('ids, statuses, the verbs of help, and files where a file is meant are offered', () => {
    expect(complete('acs conv show ')).toEqual(['@last', 'aa11', 'bb22']);
    expect(complete('acs --profile work conv show ')).toEqual(['cc33']);
    expect(complete('acs conv show aa11 ')).toEqual([]);
    expect(complete('acs conv wait aa11 b')).toEqual(['bb22']);
    expect(complete('acs conv list --status wa')).toEqual(['waiting']);
    expect(complete('acs help conv re')).toEqual(['rename', 'result', 'resume']);
    expect(complete('acs --output acs.z')).toEqual(['acs.zsh']);
    expect(complete('acs conv new --title acs.')).toEqual([]);
  });
});

describe.each(['zsh'].filter(found))('in %s', (shell) => {
  /** What a line is after Tab. */
  const pressTab = (line: string, path = env().PATH) => {
    const driver = fileURLToPath(new URL('press-tab.zsh', import.meta.url));
    return execFileSync(shell, ['-f', driver, dir, scripts['acs.zsh'] ?? '', line], {
      env: { ...env(), PATH: path },
      encoding: 'utf8',
    }).trimEnd();
  };

  it.each([
    ['acs profile r', 'acs profile rename'],
    ['acs conversation li', 'acs conversation list'],
    ['acs -p serve conversation li', 'acs -p serve conversation list'],
    ['acs serve --sta', 'acs serve --status'],
    ['acs conv list --form', 'acs conv list --format'],
    ['acs serve --api b', 'acs serve --api both'],
    ['acs --format=n', 'acs --format=ndjson'],
    ['acs profile use loc', 'acs profile use local'],
    ['acs profile use w', 'acs profile use work'],
    ['acs help ex', 'acs help exit-codes'],
    ['acs --output acs.z', 'acs --output acs.zsh'],
    ['acs conv list -- acs.z', 'acs conv list -- acs.z'],
    ['acs conv new --title acs.z', 'acs conv new --title acs.z'],
    ['acs conv show aa', 'acs conv show aa11'],
    ['acs --profile work conv show c', 'acs --profile work conv show cc33'],
    ['acs conv list --status idle,wai', 'acs conv list --status idle,waiting'],
    ['acs conv list --status starting,stuck,st', 'acs conv list --status starting,stuck,stopped'],
    ['acs conv list --status=starting,stuck,st', 'acs conv list --status=starting,stuck,stopped'],
    ['acs -p work,w', 'acs -p work,workshop'],
    ['acs conv new --replay de', 'acs conv new --replay demo'],
    ['acs conv new --replay acs.z', 'acs conv new --replay acs.zsh'],
    ['acs help conv rena', 'acs help conv rename'],
    ['acs settings get lan', 'acs settings get language'],
  ])('%s becomes %s', (typed, completed) => {
    expect(pressTab(typed)).toBe(completed);
  });

  it('a flag takes its value also when its names cannot be read', () => {
    expect(pressTab('acs -p serve conversation li', process.env.PATH)).toBe('acs -p serve conversation list');
  });
});
