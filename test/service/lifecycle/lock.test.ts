import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/service/lifecycle/clock.ts';
import { defaultDataDir, inDatabase, inDataDir, prepareDataDir } from '../../../src/service/lifecycle/data-dir.ts';
import { isHeld, takeLock } from '../../../src/service/lifecycle/lock.ts';
import { isAlive, selfIdentity, startOf } from '../../../src/service/lifecycle/process.ts';

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

  it.runIf(process.platform === 'linux')('treats a killed process as gone', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const identity = { pid: child.pid ?? 0, start: startOf(child.pid ?? 0) };
    expect(isAlive(identity)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isAlive(identity)).toBe(false);
  });
});

describe('the data directory', () => {
  it.each([
    [{ ACS_DATA_DIR: '/x/y' }, 'linux', '/x/y'],
    [{}, 'linux', '/home/a/.local/share/acs'],
    [{ XDG_DATA_HOME: '/data' }, 'linux', '/data/acs'],
    [{ XDG_DATA_HOME: 'relative', ACS_DATA_DIR: '' }, 'linux', '/home/a/.local/share/acs'],
    [{}, 'darwin', '/home/a/Library/Application Support/acs'],
  ])('for %j on %s is %s', (env, platform, expected) => {
    expect(defaultDataDir(env, platform, '/home/a')).toBe(expected);
  });

  it('is created for its owner alone, and named when it cannot be created', () => {
    prepareDataDir(path.join(dir, 'a', 'b'));
    expect(existsSync(path.join(dir, 'a', 'b'))).toBe(true);
    writeFileSync(path.join(dir, 'file'), '');
    expect(() => {
      prepareDataDir(path.join(dir, 'file', 'inside'));
    }).toThrow(/cannot use the data directory .*: a part of the path is not a directory/);
  });
});

describe('a failure in the data directory', () => {
  it.each([
    [{ code: 'ENOSPC' }, 'the disk is full'],
    [{ code: 'SQLITE_FULL' }, 'the disk is full'],
    [{ code: 'EROFS' }, 'the file system is read-only'],
  ])('for %j is reported with its cause', (members, words) => {
    const refuse = (): never => {
      throw Object.assign(new Error('x'), members);
    };
    expect(() => inDataDir(dir, refuse)).toThrow(`cannot use the data directory ${dir}: ${words}`);
  });

  it('because of a damaged database found later has the same hint', () => {
    const refuse = (): never => {
      throw new Error('database disk image is malformed');
    };
    try {
      inDataDir(dir, refuse);
    } catch (error) {
      expect(error).toMatchObject({ code: 'data-dir', hint: expect.stringMatching(/^Move .+ away/) });
      return;
    }
    expect.unreachable();
  });

  it('because of a damaged database names it, with a hint', () => {
    const database = path.join(dir, 'service.db');
    const refuse = (): never => {
      throw new Error('file is not a database');
    };
    expect(() => inDatabase(dir, database, refuse)).toThrow(`${database} is damaged: file is not a database`);
    try {
      inDatabase(dir, database, refuse);
    } catch (error) {
      expect(error).toMatchObject({ code: 'data-dir', hint: expect.stringMatching(/^Move .+ away/) });
    }
  });
});

describe('the clock', () => {
  it('returns increasing times, also after the system clock was set back', () => {
    const times = [1000, 1000, 999, 1001];
    const clock = createClock(() => times.shift() ?? 0);
    const stamps = [clock.stamp(), clock.stamp(), clock.stamp(), clock.stamp()];
    expect(stamps[0]).toBe('1970-01-01T00:00:01.000000Z');
    expect([...stamps].sort()).toEqual(stamps);
    expect(new Set(stamps).size).toBe(4);
  });
});
