import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import {
  BoundedText,
  runShell,
  type ShellCommand,
  type ShellResult,
  type ShellSession,
} from '../../../src/service/agent-server/shell.ts';
import { until } from '../../support/until.ts';
import { usePlainSandbox } from './support/plain-sandbox.ts';

const plain = usePlainSandbox();
let dir: string;
let session: ShellSession;
beforeEach(() => {
  dir = plain.folder();
  session = newSession();
});

const newSession = (): ShellSession => ({ id: path.basename(dir), cwd: dir, env: null });

function run(
  command: string,
  more: Partial<ShellCommand> = {},
  within: ShellSession | null = session,
): Promise<ShellResult> {
  const kept = { keepHead: 10_000, keepTail: 10_000, timeoutMs: 60_000 };
  return runShell(plain.sandbox, { command, cwd: dir, env: {}, merged: false, ...kept, ...more }, within);
}

it('a command passes its folder and exported variables to the next of its session alone', async () => {
  await run('mkdir deep; cd deep; export WORD="two\nlines"');
  expect(await run('pwd; echo "$WORD"')).toMatchObject({ stdout: `${dir}/deep\ntwo\nlines\n` });
  expect(session.cwd).toBe(`${dir}/deep`);
  const other = { ...newSession(), id: `${path.basename(dir)}-other` };
  expect(await run('echo "[$WORD]"; pwd', {}, other)).toMatchObject({ stdout: `[]\n${dir}\n` });
  expect(await run('echo "[$WORD]"', {}, null)).toMatchObject({ stdout: '[]\n' });
  expect(await run('echo "$WORD"', { env: { WORD: 'newer' } })).toMatchObject({ stdout: 'newer\n' });
});

it('a command passes its functions, variables and long values to the next of its session', async () => {
  await run(
    'LOCAL="two  words"; LIST=(a "b c"); twice() { echo "$1$1"; }; LONG=$(head -c 300000 /dev/zero | tr "\\0" x)',
  );
  const next = await run('echo "$LOCAL ${LIST[1]} ${#LONG}"; twice x; env | grep -c "^LOCAL="');
  expect(next).toMatchObject({ stdout: 'two  words b c 300000\nxx\n0\n', stderr: '' });
});

it.each(['set -e', 'set -u; declare -A MAP=([k]=v)', 'IFS=,', 'IFS=a'])(
  'a command with %s passes its variables, and its exit code is its own',
  async (options) => {
    expect((await run(`${options}; LOCAL=banana; true`)).exitCode).toBe(0);
    expect(await run('echo "$LOCAL"')).toMatchObject({ stdout: 'banana\n' });
    expect((await run(`${options}; exit 3`)).exitCode).toBe(3);
  },
);

it('an error of syntax names the line of the command alone', async () => {
  const { stderr } = await run('echo (');
  expect(stderr).toContain('`echo (');
  expect(stderr).not.toContain('acs');
});

it('a session whose folder was removed begins again in the first one, with its variables', async () => {
  await run('mkdir gone; cd gone; export WORD=kept');
  rmSync(path.join(dir, 'gone'), { recursive: true });
  expect(await run('pwd; echo $WORD')).toMatchObject({ stdout: `${dir}\nkept\n` });
});

it('a command that replaces its shell or sets its own trap carries nothing over', async () => {
  await run('export WORD=kept');
  expect(await run('export WORD=lost; exec true')).toMatchObject({ exitCode: 0 });
  expect(await run("export WORD=lost; trap 'echo bye' EXIT")).toMatchObject({ stdout: 'bye\n' });
  expect(await run('echo "[$WORD]"')).toMatchObject({ stdout: '[kept]\n' });
});

it('an exit code is that of the command, and 128 and its number for a signal', async () => {
  expect((await run('exit 7')).exitCode).toBe(7);
  expect((await run('kill -TERM $$')).exitCode).toBe(143);
  expect(await run('true', { cwd: `${dir}/none` }, null)).toMatchObject({
    exitCode: -1,
    stderr: `No such directory: ${dir}/none`,
  });
});

it('a command longer than an argument may be is executed whole', async () => {
  const text = 'x'.repeat(200_000);
  expect(await run(`printf %s '${text}' > out; wc -c < out`)).toMatchObject({ exitCode: 0, stdout: '200000\n' });
});

it('merged output is one stream, in order', async () => {
  const { stdout, stderr } = await run('echo 1; echo 2 >&2; echo 3', { merged: true });
  expect([stdout, stderr]).toEqual(['1\n2\n3\n', '']);
});

it('the signal ends a command with the processes that it has started in sessions of their own', async () => {
  const abort = new AbortController();
  const ended = run("setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 300", { signal: abort.signal });
  await until(() => existsSync(path.join(dir, 'pid')) && readFileSync(path.join(dir, 'pid'), 'utf8') !== '');
  abort.abort();
  expect(await ended).toMatchObject({ exitCode: -1, killed: true, timedOut: false });
  const pid = readFileSync(path.join(dir, 'pid'), 'utf8').trim();
  await until(() => !existsSync(`/proc/${pid}`) || /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')));
});

it('the output of a background process that keeps the pipe open is not waited for', async () => {
  const ended = await run('echo begun; sleep 300 & echo $! > background');
  process.kill(Number(readFileSync(path.join(dir, 'background'), 'utf8')), 'SIGKILL');
  expect(ended).toMatchObject({ exitCode: 0, stdout: 'begun\n' });
});

it('a process that writes without end does not delay the end of its command', async () => {
  const { stdout } = await run('(while test ! -e stop; do echo xxx; sleep 0.01; done) & exit 0');
  writeFileSync(path.join(dir, 'stop'), '');
  expect(stdout).toMatch(/^xxx\n/);
});

it('a process in the background may write after the end of its command', async () => {
  const late = 'while test ! -e go; do sleep 0.02; done; head -c 300000 /dev/zero && echo written > late';
  await run(`(${late}) & echo begun`, { onOutput: () => undefined });
  writeFileSync(path.join(dir, 'go'), '');
  await until(() => existsSync(path.join(dir, 'late')));
  expect(await run('echo on')).toMatchObject({ exitCode: 0, stdout: 'on\n' });
});

it('output is passed on while the command runs, up to the kept beginning', async () => {
  const received: string[] = [];
  const onOutput = (stream: string, text: string) => void received.push(`${stream} ${text}`);
  const command = 'printf 1234; while ! test -e go; do sleep 0.02; done; printf 56789';
  const ended = run(command, { keepHead: 6, keepTail: 1, onOutput }, null);
  await until(() => received.length === 1);
  writeFileSync(path.join(dir, 'go'), '');
  expect((await ended).stdout).toBe('123456\n[... 2 characters of output left out ...]\n9');
  expect(received).toEqual(['stdout 1234', 'stdout 56']);
});

it('output larger than the window between worker and helper is complete', async () => {
  const { stdout } = await run('seq 1 600000 | md5sum; seq 1 600000', { keepHead: 33, keepTail: 8 });
  expect(stdout).toMatch(/^[0-9a-f]{32} \n\[\.\.\. 4088890 characters of output left out \.\.\.\]\n\n600000\n$/);
});

it('a bounded text keeps its ends, and characters that are cut between two chunks', () => {
  const text = new BoundedText(3, 3);
  const bytes = Buffer.from('aüb\u20acc');
  for (const byte of bytes) text.push(Buffer.of(byte));
  expect(text.end()).toBe('aüb\u20acc');
});

it('a bounded text shows invalid UTF-8 as replacement characters', () => {
  const text = new BoundedText(3, 3);
  text.push(Buffer.from([0x61, 0xff, 0x62]));
  expect(text.end()).toBe('a\uFFFDb');
});
