import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { runKeyCommand } from '../../src/profiles/key-command.ts';
import { until } from '../support/until.ts';

const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-key-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function message(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'accepted',
    (error: unknown) => (error instanceof AppError ? `${error.kind}: ${error.message}` : `unexpected ${String(error)}`),
  );
}

describe('a key command', () => {
  function run(command: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
    const reported: string[] = [];
    const printed = runKeyCommand(command, {
      cwd: dir,
      env: process.env,
      signal: options.signal ?? new AbortController().signal,
      report: (line) => reported.push(line),
      timeoutMs: options.timeoutMs,
    });
    return { printed, reported };
  }

  it('runs in a shell, and its output is the key', async () => {
    expect(await run('printf "%s" key | tr k K').printed).toBe('Key');
  });

  it.each([
    ['s3cret-key', 'the key is s3cret-key and s3cret-key', 'the key is *** and ***'],
    ['four', 'four', '***'],
    // So short a key would hide parts of ordinary words.
    ['abc', 'abcdef', 'abcdef'],
  ])('that prints %s has its stderr passed on without the key: %s', async (key, line, reported) => {
    // A line without an end is passed on when the command has ended.
    const command = run(`echo ' ${key} '; printf '%s' '${line}' >&2`);
    await command.printed;
    expect(command.reported).toEqual([reported]);
  });

  it('that does not exist or fails is named with its exit code', async () => {
    expect(await message(run('exit 3').printed)).toBe("config: the profile's key command exited with code 3");
    expect(await message(run('kill -KILL $$').printed)).toBe("config: the profile's key command was killed by SIGKILL");
  });

  it('is not started after the signal', async () => {
    const file = path.join(dir, 'started');
    const interruption = new AppError('interrupted', 'SIGINT');
    const { printed } = run(`touch '${file}'`, { signal: AbortSignal.abort(interruption) });
    await expect(printed).rejects.toBe(interruption);
    expect(existsSync(file)).toBe(false);
  });

  it('passes its stderr on line by line', async () => {
    const { printed, reported } = run('echo unlocking >&2; printf done >&2; echo key');
    await printed;
    expect(reported).toEqual(['unlocking', 'done']);
  });

  it('has an empty stdin', async () => {
    expect(await run('cat; echo end').printed).toBe('end\n');
  });

  it('that fails throws config, and neither command nor output is printed', async () => {
    const refused = await message(run('echo s3cret; exit 7').printed);
    expect(refused).toBe("config: the profile's key command exited with code 7");
  });

  it('is ended when it exceeds its time or its output limit', async () => {
    expect(await message(run('exec sleep 60', { timeoutMs: 100 }).printed)).toContain('did not exit within 0.1 s');
    expect(await message(run('exec yes').printed)).toContain('printed more than a key');
  });

  it.each(['the deadline', 'a signal'])('is ended by %s with all its children', async (why) => {
    const file = path.join(dir, `pids-${why.length}`);
    const controller = new AbortController();
    const command = `(sleep 60 & echo $! >${file}.tmp; sh -c 'echo $$; sleep 60; :' >>${file}.tmp & while [ $(wc -l <${file}.tmp) -lt 2 ]; do sleep 0.05; done; mv ${file}.tmp ${file}; wait); echo key`;
    const { printed } = run(command, {
      signal: controller.signal,
      // Long enough for the command to start both, also on a busy machine.
      ...(why === 'the deadline' ? { timeoutMs: 5000 } : {}),
    });
    const refused = message(printed);
    await until(() => existsSync(file));
    const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number);
    expect(pids).toHaveLength(2);
    if (why === 'a signal') controller.abort(new AppError('interrupted', 'interrupted'));
    expect(await refused).toMatch(/^(interrupted: |config: .* did not exit)/);
    await until(() => pids.every((pid) => !isAlive(pid)));
  });

  it('is ended by Ctrl-C', async () => {
    const controller = new AbortController();
    const { printed } = run('exec sleep 60', { signal: controller.signal });
    controller.abort(new AppError('interrupted', 'interrupted'));
    expect(await message(printed)).toBe('interrupted: interrupted');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // One that ended and whose new parent has not looked yet is gone as well.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? existsSync('/proc') === false : false;
  }
}
