/**
 * The completion scripts with a real acs in a folder of their own, and shells that complete a line
 * with them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
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
    `source '${scriptFor('bash')}'; COMP_LINE='${line}'; ` +
    `COMP_POINT=\${#COMP_LINE}; _acs; printf '%s\\n' "\${COMPREPLY[@]}"`;
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

/** What a line is in zsh after Tab. */
export function zsh(line: string): string {
  const driver = fileURLToPath(new URL('press-tab.zsh', import.meta.url));
  return execFileSync('zsh', ['-f', driver, dir, scriptFor('zsh'), line], {
    env,
    encoding: 'utf8',
  }).trimEnd();
}

function lines(text: string): string[] {
  return text.split('\n').filter(Boolean);
}
