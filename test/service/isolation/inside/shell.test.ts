import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Scratch } from '../../../../src/service/isolation/inside/scratch.ts';
import { Shell } from '../../../../src/service/isolation/inside/shell.ts';
import type { RunEnd, RunParameters } from '../../../../src/service/isolation/protocol.ts';
import { until } from '../../../support/until.ts';
import { RUN } from '../support.ts';

let dir: string;
let scratch: Scratch;
let shell: Shell;
let next = 1;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-shell-test-'));
  scratch = new Scratch(path.basename(dir));
  shell = new Shell(dir, scratch);
});
afterEach(() => {
  scratch.remove();
  rmSync(dir, { recursive: true, force: true });
});

const WISH: RunParameters = { ...RUN, session: 's', keepHead: 10_000, keepTail: 10_000 };

function run(command: string, more: Partial<RunParameters> = {}, id = next++): Promise<RunEnd> {
  return shell.run(id, { ...WISH, command, ...more }, () => undefined);
}

it('a command passes its folder and exported variables to the next of its session alone', async () => {
  await run('mkdir deep; cd deep; export WORD="two\nlines"');
  expect(await run('pwd; echo "$WORD"')).toMatchObject({ stdout: `${dir}/deep\ntwo\nlines\n`, cwd: `${dir}/deep` });
  expect(await run('echo "[$WORD]"; pwd', { session: 'other' })).toMatchObject({ stdout: `[]\n${dir}\n` });
  expect(await run('echo "[$WORD]"', { session: null })).toMatchObject({ stdout: '[]\n' });
  expect(await run('echo "[$WORD]"', { reset: true })).toMatchObject({ stdout: '[]\n', cwd: dir });
});

it('a session whose folder was removed begins again in the first one, with its variables', async () => {
  await run('mkdir gone; cd gone; export WORD=kept');
  rmSync(path.join(dir, 'gone'), { recursive: true });
  expect(await run('pwd; echo $WORD')).toMatchObject({ stdout: `${dir}\nkept\n` });
});

it('a command that replaces its shell or sets its own trap carries nothing over, and leaves no file', async () => {
  expect(await run('export WORD=lost; exec true')).toMatchObject({ exitCode: 0 });
  expect(await run("export WORD=lost; trap 'echo bye' EXIT")).toMatchObject({ stdout: 'bye\n' });
  expect(await run('echo "[$WORD]"')).toMatchObject({ stdout: '[]\n' });
  expect(readdirSync(path.dirname(scratch.file('x')))).toEqual([]);
});

it('an exit code is that of the command, and 128 and its number for a signal', async () => {
  expect((await run('exit 7')).exitCode).toBe(7);
  expect((await run('kill -TERM $$')).exitCode).toBe(143);
  expect(await run('true', { cwd: 'none' })).toMatchObject({ exitCode: -1, stderr: `No such directory: ${dir}/none` });
});

it('a command longer than an argument may be is executed whole', async () => {
  const text = 'x'.repeat(200_000);
  expect(await run(`printf %s '${text}' > out; wc -c < out`)).toMatchObject({ exitCode: 0, stdout: '200000\n' });
});

it('merged output is one stream, in order', async () => {
  const { stdout, stderr } = await run('echo 1; echo 2 >&2; echo 3', { merged: true });
  expect([stdout, stderr]).toEqual(['1\n2\n3\n', '']);
});

it('kill ends a command with the processes that it has started in sessions of their own', async () => {
  const id = next++;
  const ended = run("setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 300", {}, id);
  await until(() => existsSync(path.join(dir, 'pid')) && readFileSync(path.join(dir, 'pid'), 'utf8') !== '');
  shell.kill(id);
  expect(await ended).toMatchObject({ exitCode: -1, killed: true });
  const pid = readFileSync(path.join(dir, 'pid'), 'utf8').trim();
  await until(() => !existsSync(`/proc/${pid}`) || /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')));
  shell.kill(id); // it has ended: nothing is killed
});

it('the output of a background process that keeps the pipe open is not waited for', async () => {
  const ended = await run('echo begun; sleep 300 & echo $! > background');
  process.kill(Number(readFileSync(path.join(dir, 'background'), 'utf8')), 'SIGKILL');
  expect(ended).toMatchObject({ exitCode: 0, stdout: 'begun\n' });
});

it('output is passed on while the command runs, up to the kept beginning', async () => {
  const received: string[] = [];
  const wish = { ...WISH, command: 'printf 1234; while ! test -e go; do sleep 0.02; done; printf 56789', live: true };
  const ended = shell.run(next++, { ...wish, keepHead: 6, keepTail: 1 }, (stream, text) =>
    received.push(`${stream} ${text}`),
  );
  await until(() => received.length === 1);
  writeFileSync(path.join(dir, 'go'), '');
  expect((await ended).stdout).toBe('123456\n[... 2 characters of output left out ...]\n9');
  expect(received).toEqual(['stdout 1234', 'stdout 56']);
});
