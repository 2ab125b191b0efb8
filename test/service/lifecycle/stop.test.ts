import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { startOf } from '../../../src/service/lifecycle/process.ts';
import { isGone, stopService } from '../../../src/service/lifecycle/stop.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process that holds the lock of the data directory, as a service does. */
async function owner(command: string[]): Promise<ChildProcess> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  await once(child, 'spawn');
  const { lock } = dataPaths(folder.path);
  writeFileSync(lock, JSON.stringify({ pid: child.pid, start: startOf(child.pid ?? 0) }));
  return child;
}

describe('a state file', () => {
  it('that is damaged does not prevent stopping the service', async () => {
    const child = await owner(['sleep', '600']);
    writeFileSync(dataPaths(folder.path).state, 'damaged');
    const ended = once(child, 'exit');
    expect(await stopService(folder.path)).toEqual({ stopped: true, pid: child.pid });
    await ended;
  });
});

describe('a service that ignores the signal', () => {
  it('is no longer waited for once the caller gives up, and is left alone', async () => {
    const child = await owner(['sh', '-c', "trap '' TERM; echo ready; exec sleep 600"]);
    await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
    const signal = AbortSignal.abort(new Error('given up'));
    await expect(stopService(folder.path, signal)).rejects.toThrow('given up');
    expect(child.exitCode ?? child.signalCode).toBeNull();
  });
});

describe('the wait for an end', () => {
  it('polls until the process is gone', async () => {
    const answers = [true, true, false];
    expect(await isGone(() => answers.shift() ?? false, 1000)).toBe(true);
    expect(answers).toEqual([]);
  });

  it('reports a process that still runs at the limit', async () => {
    let asked = 0;
    const lives = () => (asked += 1) > 0;
    expect(await isGone(lives, 40)).toBe(false);
    expect(asked).toBe(3);
  });
});
