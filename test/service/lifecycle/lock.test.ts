import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isHeld, takeLock } from '../../../src/service/lifecycle/lock.ts';
import { selfIdentity } from '../../../src/service/lifecycle/process.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-lock-'));
  file = path.join(dir, 'a.lock');
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '0']);
  await once(child, 'exit');
  return child.pid ?? 0;
}

describe('a lock', () => {
  it('has one holder, whose pid others get, and is free once released', () => {
    const first = takeLock(file, selfIdentity());
    if (!isHeld(first)) throw new Error('not taken');
    expect(takeLock(file, selfIdentity())).toEqual(selfIdentity());
    first.release();
    const second = takeLock(file, selfIdentity());
    expect(isHeld(second)).toBe(true);
    first.release(); // is no longer its own when the text differs; here it is the same process
    expect(readdirSync(dir).filter((name) => name !== 'a.lock')).toEqual([]);
  });

  it('of a process that has ended is taken over', async () => {
    writeFileSync(file, JSON.stringify({ pid: await deadPid(), start: '1' }));
    expect(isHeld(takeLock(file, selfIdentity()))).toBe(true);
  });

  it('of a pid that now belongs to another process is taken over', () => {
    writeFileSync(file, JSON.stringify({ pid: process.pid, start: 'long ago' }));
    expect(isHeld(takeLock(file, selfIdentity()))).toBe(true);
  });

  it('with invalid content is taken over', () => {
    writeFileSync(file, 'nonsense');
    expect(isHeld(takeLock(file, selfIdentity()))).toBe(true);
    expect(readdirSync(dir)).toEqual(['a.lock']);
  });
});
