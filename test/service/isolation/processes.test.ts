import path from 'node:path';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import {
  continueProcesses,
  killProcesses,
  reapLeftovers,
  selectProcesses,
  stopProcesses,
} from '../../../src/service/isolation/processes.ts';
import { until } from '../agent-server/support/worker.ts';
import { withParentDeathSignal } from '../../../src/service/isolation/parent-death-signal.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

let parent: ChildProcess;
const id = `test-${process.pid}`;

/** A shell with a child and with a grandchild that has left the tree but carries the mark. */
async function startTree(): Promise<number> {
  const script = 'sleep 300 & (setsid sleep 300 &) ; sleep 300';
  parent = spawn('sh', ['-c', script], {
    env: { ...process.env, ACS_SANDBOX_ID: id },
    stdio: 'ignore',
  });
  const pid = parent.pid ?? -1;
  // Four there are also while the grandchild is still leaving the tree.
  const below = (): number[] => selectProcesses({ below: pid, marked: null, except: [] });
  await until('all in their place', () => marked().length === 4 && below().length === 2);
  return pid;
}

function marked(): number[] {
  return selectProcesses({ below: null, marked: `ACS_SANDBOX_ID=${id}`, except: [] });
}

afterEach(() => {
  killProcesses({ below: null, marked: `ACS_SANDBOX_ID=${id}`, except: [] });
});

describe('processes of a sandbox', () => {
  it('are found by descent and, when they have left the tree, by their mark', async () => {
    const pid = await startTree();
    expect(selectProcesses({ below: pid, marked: null, except: [] })).toHaveLength(2);
    expect(
      selectProcesses({ below: pid, marked: `ACS_SANDBOX_ID=${id}`, except: [pid] }),
    ).toHaveLength(3);
    expect(selectProcesses({ below: null, marked: 'ACS_SANDBOX_ID=test', except: [] })).toEqual([]);
  });

  it('are stopped, continued and ended together', async () => {
    const pid = await startTree();
    const all = { below: pid, marked: `ACS_SANDBOX_ID=${id}`, except: [] };
    expect(stopProcesses(all).sort()).toEqual(marked().sort());
    continueProcesses(all);
    expect(reapLeftovers(id)).toBe(4);
    await until('all have ended', () => marked().length === 0);
    expect(reapLeftovers(id)).toBe(0);
  });
});

const hasSetpriv = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0;

const folder = folderOfEachTest();
let starter: ChildProcess | null = null;
afterEach(() => void starter?.kill('SIGKILL'));

it.runIf(hasSetpriv)('a program gets the signal when its parent is killed', async () => {
  const there = (name: string): boolean => existsSync(path.join(folder.path, name));
  const program =
    `trap 'echo > got; exit' TERM; echo > ready; while test -e ready; do ` + `sleep 0.02; done`;
  const { file, args } = withParentDeathSignal('TERM', ['/bin/sh', '-c', program]);
  const script =
    `require('node:child_process').spawn(process.argv[1], process.argv.slice(2), { stdio: ` +
    `'ignore' })`;
  starter = spawn(process.execPath, ['-e', script, file, ...args], {
    cwd: folder.path,
    stdio: 'ignore',
  });
  await until('it is ready', () => there('ready'));
  starter.kill('SIGKILL');
  await until('the signal', () => there('got'));
});

it('a program runs with its own arguments and pid also where setpriv is missing', () => {
  const { file, args } = withParentDeathSignal('CONT', [
    '/bin/sh',
    '-c',
    'echo $$ "$1" > out',
    'sh',
    "it's",
  ]);
  const { pid, status } = spawnSync(file, args, { cwd: folder.path, env: { PATH: '/none' } });
  expect([status, readFileSync(path.join(folder.path, 'out'), 'utf8')]).toEqual([
    0,
    `${String(pid)} it's\n`,
  ]);
});
