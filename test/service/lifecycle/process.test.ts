import path from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it, beforeEach } from 'vitest';
import { isAlive, poll, selfIdentity, sendSignal, startOf } from '../../../src/base/process.ts';
import { isHeld, takeLock } from '../../../src/base/lock.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const children: ReturnType<typeof spawn>[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function sleeping(): Promise<ReturnType<typeof spawn> & { pid: number }> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  children.push(child);
  await once(child, 'spawn');
  return child as typeof child & { pid: number };
}

describe('a process', () => {
  it('is alive only with the start time that it has', async () => {
    const { pid } = await sleeping();
    const start = startOf(pid);
    expect(start).not.toBeNull();
    expect([
      isAlive({ pid, start }),
      isAlive({ pid, start: null }),
      isAlive({ pid, start: '1' }),
    ]).toEqual([true, true, false]);
    expect(isAlive(selfIdentity())).toBe(true);
  });

  it('that has ended gets no signal', async () => {
    const child = await sleeping();
    const ended = once(child, 'exit');
    expect(sendSignal(child.pid, 'SIGTERM')).toBe(true);
    await ended;
    expect(sendSignal(child.pid, 'SIGTERM')).toBe(false);
    expect(startOf(child.pid)).toBeNull();
  });

  it.runIf(process.platform === 'linux')(
    'whose parent has not collected it yet counts as ended',
    async () => {
      const { pid } = await sleeping();
      const identity = { pid, start: startOf(pid) };
      sendSignal(pid, 'SIGKILL');
      // Nothing else runs in this process meanwhile, so that the process stays a zombie.
      for (let look = 0; look < 2000 && startOf(pid) !== 'zombie'; look++)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      expect([isAlive(identity), startOf(pid)]).toEqual([false, 'zombie']);
    },
  );
});

it('a poll returns what it waits for, null at its limit, and throws the reason of its signal', async () => {
  const answers = [null, null, 'found'];
  expect(await poll(() => answers.shift() ?? null, 60_000)).toBe('found');
  let asked = 0;
  expect(await poll(() => (asked++, null), 40)).toBeNull();
  expect(asked).toBe(3);
  await expect(poll(() => null, 60_000, AbortSignal.abort(new Error('given up')))).rejects.toThrow(
    'given up',
  );
});

const folder = folderOfEachTest();
let file: string;
beforeEach(() => {
  file = path.join(folder.path, 'a.lock');
});

describe('a lock', () => {
  it('has one holder, whose pid others get, and is free once released', () => {
    const first = takeLock(file);
    if (!isHeld(first)) throw new Error('not taken');
    expect(takeLock(file)).toEqual(selfIdentity());
    first.release();
    const second = takeLock(file);
    expect(isHeld(second)).toBe(true);
    expect(readdirSync(folder.path)).toEqual(['a.lock']);
  });

  it.each([
    [
      'of a process that has ended',
      () => JSON.stringify({ pid: spawnSync('true').pid, start: '1' }),
    ],
    [
      'of a pid that now belongs to another process',
      () => JSON.stringify({ pid: process.pid, start: 'long ago' }),
    ],
    ['with invalid content', () => 'nonsense'],
  ])('%s is taken over', (_, text) => {
    writeFileSync(file, text());
    expect(isHeld(takeLock(file))).toBe(true);
    expect(readdirSync(folder.path)).toEqual(['a.lock']);
  });
});
