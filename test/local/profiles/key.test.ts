import os from 'node:os';
import path from 'node:path';
import { mkdtempSync, rmSync, existsSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { fetchKey, type KeyReaders, readKeyText } from '../../../src/local/profiles/key.ts';
import { runKeyCommand } from '../../../src/local/profiles/key-command.ts';
import { until } from '../../support/test-clock.ts';

const dir = mkdtempSync(path.join(os.tmpdir(), 'acs-key-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const bytes = (text: string) => new TextEncoder().encode(text);

function readers(given: Partial<KeyReaders>): KeyReaders {
  const refuse = () => Promise.reject(new Error('must not be read'));
  return { readFile: refuse, readStdin: refuse, runCommand: refuse, local: refuse, ...given };
}

async function message(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'accepted',
    (error: unknown) =>
      error instanceof AppError ? `${error.kind}: ${error.message}` : `unexpected ${String(error)}`,
  );
}

describe('a key', () => {
  it.each([
    ['key\n', 'key'],
    ['key\r\n', 'key'],
    ['key', 'key'],
  ])('loses one trailing line break: %j', (text, key) => {
    expect(readKeyText(text, 'the key')).toBe(key);
  });

  it.each(['', '\n', ' ', 'se\ncret', 'secret\n\n', 'sec\x00ret', 'sécret', ' secret', 'sec ret'])(
    'that cannot be sent is refused without being repeated: %j',
    async (text) => {
      const refused = await message(
        fetchKey({ from: 'stdin' }, readers({ readStdin: () => Promise.resolve(bytes(text)) })),
      );
      expect(refused).toMatch(
        /^config: the key from stdin (is empty|has more than one line|holds a space or a character)/,
      );
      expect(refused).not.toMatch(/s[eé]c/);
    },
  );

  it('in a file that cannot be read, or is too big, is exit 3', async () => {
    const missing = readers({
      readFile: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOENT' })),
    });
    expect(await message(fetchKey({ from: 'file', path: 'k' }, missing))).toBe(
      'config: cannot read the file that --api-key-file names: it does not exist',
    );
    const big = readers({ readFile: () => Promise.resolve(new Uint8Array(20_000)) });
    expect(await message(fetchKey({ from: 'file', path: 'k' }, big))).toBe(
      'config: k is too long to be a key',
    );
  });
});

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
    ['s3cret-key', 'the key is s3cret-key and s3cret-key', 'the key is <redacted> and <redacted>'],
    // Such a key would hide ordinary words, and parts of them.
    ['test', 'latest\ntest', 'latest\ntest'],
    ['not-needed', 'a key is not-needed', 'a key is not-needed'],
  ])('that prints %s has its stderr passed on without the key: %s', async (key, line, reported) => {
    // A line without an end is passed on when the command has ended.
    const command = run(`echo ' ${key} '; printf '%s' '${line}' >&2`);
    await command.printed;
    expect(command.reported.join('\n')).toBe(reported);
  });

  it('that fails throws config with its exit code, and neither command nor output is printed', async () => {
    const failed = await message(run('echo s3cret; exit 3').printed);
    expect(failed).toBe("config: the profile's key command exited with code 3");
    expect(await message(run('kill -KILL $$').printed)).toBe(
      "config: the profile's key command was killed by SIGKILL",
    );
  });

  it('is not started after the signal', async () => {
    const file = path.join(dir, 'started');
    const interruption = new AppError('interrupted', 'SIGINT');
    const { printed } = run(`touch '${file}'`, { signal: AbortSignal.abort(interruption) });
    await expect(printed).rejects.toBe(interruption);
    expect(existsSync(file)).toBe(false);
  });

  it('has an empty stdin', async () => {
    expect(await run('cat; echo end').printed).toBe('end\n');
  });

  it('is ended when it exceeds its time or its output limit', async () => {
    expect(await message(run('exec sleep 60', { timeoutMs: 100 }).printed)).toContain(
      'did not exit within 0.1 s',
    );
    expect(await message(run('exec yes').printed)).toContain('printed more than a key');
  });

  it('is ended by a signal with all its children', async () => {
    const file = path.join(dir, 'pids');
    const controller = new AbortController();
    const command =
      `(sleep 60 & echo $! >${file}.tmp; sh -c 'echo $$; sleep 60; :' >>${file}.tmp & while ` +
      `[ $(wc -l <${file}.tmp) -lt 2 ]; do sleep 0.05; done; mv ${file}.tmp ${file}; wait); ` +
      'echo key';
    const { printed } = run(command, { signal: controller.signal });
    const refused = message(printed);
    await until(() => existsSync(file));
    const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number);
    expect(pids).toHaveLength(2);
    controller.abort(new AppError('interrupted', 'interrupted'));
    expect(await refused).toBe('interrupted: interrupted');
    await until(() => pids.every((pid) => !isAlive(pid)));
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // One that ended and whose new parent has not looked yet is gone as well.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? existsSync('/proc') === false
      : false;
  }
}
