import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { awaitEnd, isAlive, selfIdentity, sendSignal, startOf } from '../../../src/service/lifecycle/process.ts';

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

describe('the holder of a lock', () => {
  it.runIf(process.platform === 'linux')('treats a killed process as gone', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const identity = { pid: child.pid ?? 0, start: startOf(child.pid ?? 0) };
    expect(isAlive(identity)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isAlive(identity)).toBe(false);
  });
});

describe('a process', () => {
  it('is alive only with the start time that it has', async () => {
    const { pid } = await sleeping();
    const start = startOf(pid);
    expect(start).not.toBeNull();
    expect([isAlive({ pid, start }), isAlive({ pid, start: null }), isAlive({ pid, start: '1' })]).toEqual([
      true,
      true,
      false,
    ]);
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

  it.runIf(process.platform === 'linux')('whose parent has not collected it yet counts as ended', async () => {
    const { pid } = await sleeping();
    const identity = { pid, start: startOf(pid) };
    sendSignal(pid, 'SIGKILL');
    // Nothing else runs in this process meanwhile, so that the process stays a zombie.
    awaitEnd(identity, 10_000);
    expect([isAlive(identity), startOf(pid)]).toEqual([false, 'zombie']);
  });

  it('is not waited for longer than the limit', async () => {
    const { pid } = await sleeping();
    awaitEnd({ pid, start: startOf(pid) }, 10);
    expect(isAlive({ pid, start: null })).toBe(true);
  });
});
