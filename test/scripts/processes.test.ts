import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { endProcessesOf } from '../../scripts/genuine/processes.mjs';

const folder = path.join(tmpdir(), `acs-processes-${process.pid}`);
const started: ChildProcess[] = [];

/**
 * A process with that value in its environment, in a session of its own; it and its child run until
 * they are killed.
 */
async function start(value: string): Promise<ChildProcess> {
  const script = 'trap "" TERM HUP; sleep 1000 & echo started; wait';
  const options = { env: { PATH: process.env.PATH, DATA: value }, detached: true } as const;
  const child = spawn('/bin/sh', ['-c', script], {
    ...options,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  started.push(child);
  await once(child.stdout, 'data');
  return child;
}

afterEach(() => {
  for (const { pid } of started.splice(0)) {
    try {
      process.kill(-(pid as number), 'SIGKILL');
    } catch {
      // Its group is empty.
    }
  }
});

describe('ending the processes that a genuine server has left', () => {
  it('kills the processes whose environment names a path below the folder, with their children, and lists them', async () => {
    const child = await start(`${folder}/data`);
    const closed = once(child, 'close');
    const commands = (await endProcessesOf(folder)) as string[];
    expect((await closed)[1]).toBe('SIGKILL');
    // A child that has not yet become `sleep` still has the command line of its parent.
    expect(commands.toSorted()).toEqual([
      expect.stringContaining('/bin/sh -c trap'),
      expect.stringMatching(/^(sleep 1000|\/bin\/sh -c trap)/),
    ]);
    expect(await endProcessesOf(folder)).toEqual([]);
  });

  it('does not end a process whose environment names another folder with the same prefix', async () => {
    const child = await start(`${folder}-again/data`);
    expect(await endProcessesOf(folder)).toEqual([]);
    expect(child.exitCode ?? child.signalCode).toBe(null);
  });
});
