/**
 * A repository, and one change of each kind that a patch can hold, as shell commands: a test makes
 * the same changes with git alone and compares the trees. With the git helpers for that.
 */
import { execFileSync } from 'node:child_process';

const DATED = 'GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z';
const IDENTITY = '-c user.name=Test -c user.email=test@example.com';

/** In an empty work tree; the caller commits. */
export const MATRIX_BASE = [
  `printf 'one\\ntwo\\nthree\\n' >modify.txt`,
  `echo gone >delete.txt`,
  `seq 1 30 >rename.txt`,
  `echo 'echo run' >mode.sh`,
  `printf 'a\\r\\nb\\r\\n' >crlf.txt`,
  `printf 'no newline' >no-newline.txt`,
  `printf '\\000\\001\\002' >binary.bin`,
  `ln -s modify.txt link`,
  `mkdir folder && echo inner >folder/inner.txt`,
  `git init -q sub && ${DATED} git -C sub ${IDENTITY} commit -q --allow-empty -m one`,
].join(' && ');

/**
 * In the work tree of that commit. A submodule is not cloned with it, so its repository is made
 * anew.
 */
export const MATRIX_CHANGES = [
  `printf 'one\\nTWO\\nthree\\n' >modify.txt`,
  `rm delete.txt`,
  `mv rename.txt 'renamed file.txt'`,
  `chmod +x mode.sh`,
  `printf 'a\\r\\nB\\r\\n' >crlf.txt`,
  `printf 'still no newline' >no-newline.txt`,
  `printf '\\000\\001\\377' >binary.bin`,
  `printf '\\000new' >new.bin`,
  `ln -sfn crlf.txt link`,
  `ln -s /nowhere/at/all outside`,
  `rm -r folder && echo 'a file now' >folder`,
  `echo spaces >'with  two spaces.txt'`,
  `echo quotes >'quote".txt'`,
  `echo other >'naïve-文.txt'`,
  `mkdir -p deep/er && echo deep >deep/er/new.txt`,
  `: >empty.txt`,
  `echo submodule >sub-is-other.txt`,
  `rm -rf sub && git init -q sub && ${DATED} git -C sub ${IDENTITY} commit -q --allow-empty -m two`,
].join(' && ');

/** Files whose names have bytes that a patch or a list quotes. */
export const ODD_NAMES = [
  `echo line >'two\nlines.txt'`,
  `echo byte >"$(printf 'byte-\\377.txt')"`,
  `echo dash >./-dash.txt`,
].join(' && ');

/**
 * What V0's servers return no content of, or change when they return it, and what depends on that.
 */
export const NOT_IN_V0: readonly string[] = [
  'binary.bin',
  'new.bin',
  'mode.sh',
  'no-newline.txt',
  'link',
  'outside',
  'sub',
  'folder/inner.txt',
  'folder',
];

export function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const identity = [
    '-c',
    'user.name=Test',
    '-c',
    'user.email=test@example.com',
    '-c',
    'core.quotePath=false',
  ];
  return execFileSync('git', [...identity, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  }).trimEnd();
}

export function shell(cwd: string, script: string): void {
  execFileSync('sh', ['-ec', script], { cwd, stdio: 'pipe' });
}

/** A repository with one commit of the base on `main`; the id of that commit. */
export function makeMatrixBase(dir: string): string {
  git('.', 'init', '-q', '-b', 'main', dir);
  shell(dir, MATRIX_BASE);
  git(dir, 'add', '-A');
  git(dir, 'commit', '-q', '-m', 'base');
  return git(dir, 'rev-parse', 'HEAD');
}

/** `mode id 0<TAB>path` of all that a work tree holds. */
export function filesOf(dir: string): string[] {
  git(dir, 'add', '-A');
  return filesInIndex(dir);
}

export function filesInIndex(dir: string): string[] {
  return git(dir, 'ls-files', '--stage').split('\n');
}
