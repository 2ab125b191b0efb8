import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { withParentDeathSignal } from '../../../src/service/isolation/parent-death-signal.ts';
import { until } from '../../support/until.ts';

const hasSetpriv = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0;

let dir: string;
let parent: ChildProcess | null = null;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-death-'));
});
afterEach(() => {
  parent?.kill('SIGKILL');
  rmSync(dir, { recursive: true });
});

it.runIf(hasSetpriv)('a program gets the signal when its parent is killed', async () => {
  const there = (name: string): boolean => existsSync(path.join(dir, name));
  const program = `trap 'echo > got; exit' TERM; echo > ready; while test -e ready; do sleep 0.02; done`;
  const { file, args } = withParentDeathSignal('TERM', ['/bin/sh', '-c', program]);
  const script = `require('node:child_process').spawn(process.argv[1], process.argv.slice(2), { stdio: 'ignore' })`;
  parent = spawn(process.execPath, ['-e', script, file, ...args], { cwd: dir, stdio: 'ignore' });
  await until(() => there('ready'));
  parent.kill('SIGKILL');
  await until(() => there('got'));
});

it('a program runs with its own arguments and pid also where setpriv is missing', () => {
  const { file, args } = withParentDeathSignal('CONT', ['/bin/sh', '-c', 'echo $$ "$1" > out', 'sh', "it's"]);
  const { pid, status } = spawnSync(file, args, { cwd: dir, env: { PATH: '/none' } });
  expect([status, readFileSync(path.join(dir, 'out'), 'utf8')]).toEqual([0, `${String(pid)} it's\n`]);
});
