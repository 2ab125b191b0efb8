/**
 * The completion scripts with a real acs in a folder of their own, and shells that complete a line
 * with them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { invoke, PACKAGE_ROOT } from '../../support/world.ts';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'];

/** Programs that check the script of a shell; for PowerShell 7 the program is `pwsh`. */
export const CHECKS: [script: string, program: string, ...flags: string[]][] = [
  ['acs.bash', 'shellcheck', '--shell=bash'],
  ['acs.bash', 'bash', '-n'],
  ['_acs', 'zsh', '-n'],
  ['acs.fish', 'fish', '--no-execute'],
  ['acs.ps1', 'pwsh', '-NoProfile', '-File'],
];

export const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-completion-'));
const scriptFor = (shell: string): string => path.join(dir, `acs.${shell}`);

const env = {
  PATH: `${path.join(dir, 'bin')}:${process.env.PATH ?? ''}`,
  HOME: dir,
  TERM: 'dumb',
  ACS_CONFIG_DIR: path.join(dir, 'config'),
  ACS_DATA_DIR: path.join(dir, 'data'),
};

/** Runs acs in this process, where the profiles `work` and `workshop` are stored. */
export const acs = (...args: string[]) => invoke({ args, cwd: dir, env });

beforeAll(async () => {
  mkdirSync(path.join(dir, 'bin'), { recursive: true });
  symlinkSync(path.join(PACKAGE_ROOT, 'bin', 'acs.cjs'), path.join(dir, 'bin', 'acs'));
  for (const shell of SHELLS) writeFileSync(scriptFor(shell), (await acs('completion', shell)).out);
  for (const name of ['work', 'workshop'])
    await acs('login', name, '--base-url', 'https://acs.example', '--no-check');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

export function found(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

/** What a program says of a script of the package. */
export function checkScript(script: string, program: string, flags: string[]) {
  const file = path.join(PACKAGE_ROOT, 'completions', script);
  const { status, stdout, stderr } = spawnSync(program, [...flags, file], {
    encoding: 'utf8',
    env,
  });
  return { status, output: stdout + stderr };
}

/** What bash offers for the last word of a line. */
export function bash(line: string): string[] {
  const script =
    `source '${scriptFor('bash')}'; COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; _acs; ` +
    `printf '%s\\n' "\${COMPREPLY[@]}"`;
  return lines(execFileSync('bash', ['--norc', '-c', script], { cwd: dir, env, encoding: 'utf8' }));
}

export function fish(line: string): string[] {
  const script = `source ${scriptFor('fish')}; complete -C '${line}'`;
  const out = execFileSync('fish', ['--no-config', '-c', script], {
    cwd: dir,
    env,
    encoding: 'utf8',
  });
  return lines(out).map((row) => row.replace(/\t.*/, ''));
}

/** What each line is in zsh after Tab. */
function zsh(typed: readonly string[]): string[] {
  const driver = fileURLToPath(new URL('press-tab.zsh', import.meta.url));
  const words = ['-f', driver, dir, scriptFor('zsh'), ...typed];
  return lines(execFileSync('zsh', words, { env, encoding: 'utf8' })).map((line) => line.trimEnd());
}

function lines(text: string): string[] {
  return text.split('\n').filter(Boolean);
}

describe('acs completion', () => {
  for (const [script, program, ...flags] of CHECKS)
    it.runIf(found(program))(`${program} reads ${script} without a complaint`, () => {
      expect(checkScript(script, program, flags)).toEqual({ status: 0, output: '' });
    });

  it.each(SHELLS)('prints for %s a script that asks acs for each Tab', async (shell) => {
    const { code, out, err } = await acs('completion', shell);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/acs __complete -- /);
    expect(out.split('\n').length).toBeLessThan(40);
  });

  it('exits 2 for an unknown shell, whose message names the known ones, and for a format', async () => {
    const { code, err } = await acs('completion', 'tcsh');
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining('bash, zsh, fish, powershell') as string,
    });
    expect((await acs('completion', 'bash', '--json')).code).toBe(2);
  });
});

describe('acs __complete', () => {
  it('prints each word with a tab and its description', async () => {
    const { code, out, err } = await acs('__complete', '--', 'profile', 'l');
    expect({ code, out, err }).toEqual({ code: 0, out: 'list\tlist the profiles\n', err: '' });
  });

  it('takes a space for an empty last word, as the script for PowerShell sends it', async () => {
    expect((await acs('__complete', '--', 'completion', ' ')).out).toBe(
      'bash\nzsh\nfish\npowershell\n',
    );
  });

  it('is not listed in help', async () => {
    expect((await acs('--help')).out).not.toContain('__complete');
  });
});

const CASES: [line: string, words: string[]][] = [
  ['acs pro', ['profile']],
  ['acs profile ', ['list', 'show', 'use', 'rename', 'delete']],
  ['acs conversation li', ['list']],
  ['acs __', []],
  ['acs serve --st', ['--status', '--stop']],
  ['acs conv list --no-c', ['--no-color']],
  ['acs serve --api ', ['v0', 'v1', 'both']],
  ['acs --format n', ['ndjson']],
  ['acs api pat', []],
  ['acs api PAT', ['PATCH']],
  ['acs --profile serve profile us', ['use']],
  ['acs profile --output list us', ['use']],
  ['acs profile use wo', ['work', 'workshop']],
  ['acs -p ', ['work', 'workshop', 'local']],
  ['acs completion ', SHELLS],
  ['acs conv -- li', []],
  ['acs --output acs.b', ['acs.bash']],
  ['acs conv new --file acs.z', ['acs.zsh']],
  ['acs sandbox cp acs.z', ['acs.zsh']],
  ['acs batch acs.z', ['acs.zsh']],
  ['acs conv new --title acs', []],
  ['acs conv new acs', []],
  ['acs serve --replay de', ['demo']],
  [
    'acs sandbox list --status running,',
    ['starting', 'paused', 'error', 'missing', 'unknown'].map((word) => `running,${word}`),
  ],
  ['acs conv list --status idle,stuck,st', ['idle,stuck,starting', 'idle,stuck,stopped']],
  ['acs sandbox list --status mis', ['missing']],
  ['acs settings get lan', ['language']],
  ['acs conv rename @last l', []],
  [
    'acs specs list --fields id,',
    ['default', 'command', 'working_dir', 'created_at'].map((word) => `id,${word}`),
  ],
  ['acs conv diff --fields ', ['path', 'status', 'added', 'removed']],
  ['acs conv events --kind Sys', ['SystemPromptEvent']],
  ['acs help s', ['sandbox', 'specs', 'settings', 'secret', 'serve']],
  ['acs help ex', ['exit-codes']],
  ['acs help conv re', ['result', 'resume', 'rename']],
  ['acs help settings profile sa', ['save']],
  ['acs help output ', []],
];

describe('in bash', () => {
  it.each(CASES)('%s is completed by %j', (line, words) => {
    expect(bash(line)).toEqual(words);
  });

  it('what stands after = is completed, because bash replaces only that', () => {
    expect(bash('acs serve --api=v')).toEqual(['v0', 'v1']);
    expect(bash('acs conv list --status=idle,stuck,st')).toEqual([
      'idle,stuck,starting',
      'idle,stuck,stopped',
    ]);
    expect(bash('acs --output=acs.b')).toEqual(['acs.bash']);
  });

  it('the word demo is offered beside files for a replay', () => {
    expect(bash('acs conv new --replay ')).toEqual(expect.arrayContaining(['demo', 'acs.bash']));
  });
});

describe.runIf(found('fish'))('in fish', () => {
  it.each(CASES)('%s is completed by %j', (line, words) => {
    expect(fish(line).sort()).toEqual([...words].sort());
  });

  it('a value after = is completed with its flag', () => {
    expect(fish('acs serve --api=v')).toEqual(['--api=v0', '--api=v1']);
    expect(fish('acs --output=acs.b')).toEqual(['--output=acs.bash']);
  });
});

describe.runIf(found('zsh'))('in zsh', () => {
  const ZSH = [
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
    ['acs --output=acs.z', 'acs --output=acs.zsh'],
    ['acs conv list -- acs.z', 'acs conv list -- acs.z'],
    ['acs conv new --title acs.z', 'acs conv new --title acs.z'],
    ['acs conv list --status=starting,stuck,st', 'acs conv list --status=starting,stuck,stopped'],
    ['acs -p work,w', 'acs -p work,workshop'],
    ['acs conv new --replay de', 'acs conv new --replay demo'],
    ['acs conv new --replay acs.z', 'acs conv new --replay acs.zsh'],
    ['acs help conv rena', 'acs help conv rename'],
  ] as const;
  let completed: string[];
  beforeAll(() => {
    completed = zsh(ZSH.map(([typed]) => typed));
  });
  it.each(ZSH.map(([typed, line], index) => [typed, line, index] as const))(
    '%s becomes %s',
    (_, line, index) => expect(completed[index]).toBe(line),
  );
});

describe('with a profile store that is corrupt', () => {
  afterAll(async () => {
    await acs('profile', 'list');
  });

  it('names are not offered, and nothing is printed to stderr', async () => {
    writeFileSync(path.join(dir, 'config', 'profiles.json'), '{');
    expect(await acs('__complete', '--', 'profile', 'use', '')).toMatchObject({
      code: 0,
      out: '',
      err: '',
    });
    expect((await acs('__complete', '--', 'profile', 'us')).out).toMatch(/^use\t/);
  });
});
