import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  BoundedText,
  runShell,
  type ShellCommand,
  type ShellResult,
  type ShellSession,
} from '../../../src/service/agent-server/shell.ts';
import { until } from '../../support/test-clock.ts';
import { usePlainSandbox } from './support/shared-sandboxes.ts';

const plain = usePlainSandbox();
let dir: string;
let session: ShellSession;
beforeEach(() => {
  dir = plain.folder();
  session = newSession();
});

const newSession = (): ShellSession => ({
  id: path.basename(dir),
  cwd: dir,
  env: null,
  definitions: '',
});

function run(
  command: string,
  more: Partial<ShellCommand> = {},
  within: ShellSession | null = session,
): Promise<ShellResult> {
  const kept = { stdout: new BoundedText(), stderr: new BoundedText() };
  return runShell(
    plain.sandbox,
    { command, cwd: dir, env: {}, timeoutMs: 60_000, ...kept, ...more },
    within,
  );
}

it('a command passes its folder and exported variables to the next of its session alone', async () => {
  await run('mkdir deep; cd deep; export WORD="two\nlines"');
  expect(await run('pwd; echo "$WORD"')).toMatchObject({ stdout: `${dir}/deep\ntwo\nlines\n` });
  expect(session.cwd).toBe(`${dir}/deep`);
  const other = { ...newSession(), id: `${path.basename(dir)}-other` };
  expect(await run('echo "[$WORD]"; pwd', {}, other)).toMatchObject({ stdout: `[]\n${dir}\n` });
  expect(await run('echo "[$WORD]"', {}, null)).toMatchObject({ stdout: '[]\n' });
  expect(await run('echo "$WORD"', { env: { WORD: 'newer' } })).toMatchObject({
    stdout: 'newer\n',
  });
});

it('a command passes its functions, variables and long values to the next of its session', async () => {
  await run(
    'LOCAL="two  words"; LIST=(a "b c"); twice() { echo "$1$1"; }; LONG=$(head -c 300000 ' +
      '/dev/zero | tr "\\0" x)',
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

it('a command that replaces its shell carries nothing over', async () => {
  await run('export WORD=kept');
  expect(await run('export WORD=lost; exec true')).toMatchObject({ exitCode: 0 });
  expect(await run('echo "[$WORD]"')).toMatchObject({ stdout: '[kept]\n' });
});

it.each([
  ["trap 'echo bye $?' EXIT", 'bye 0\n', 0],
  ["trap 'echo bye $?' 0 INT; exit 3", 'bye 3\n', 3],
  ["set -euo pipefail; trap 'echo bye $?' EXIT; (exit 4); echo on", 'bye 4\n', 4],
  ["f() { trap 'echo bye $?; exit 5' EXIT; }; f", 'bye 0\n', 5],
  ["trap 'echo bye' EXIT; trap - EXIT", '', 0],
  ["trap 'echo bye' exit", 'bye\n', 0],
  ["(trap 'echo below' EXIT; WORD=below)", 'below\n', 0],
])(
  '%s is carried out, and the command passes its folder and variables',
  async (command, stdout, exitCode) => {
    expect(await run(`mkdir deep; cd deep; WORD=new; ${command}`)).toMatchObject({
      stdout,
      stderr: '',
      exitCode,
    });
    expect(await run('echo "$WORD"; pwd')).toMatchObject({ stdout: `new\n${dir}/deep\n` });
  },
);

it('a trap for RETURN is carried out at the end of the function alone', async () => {
  const command = `clean() { trap 'echo "left $1"' RETURN; echo in; }; clean once`;
  expect(await run(command)).toMatchObject({ stdout: 'in\nleft once\n', stderr: '' });
  expect(await run('clean again')).toMatchObject({ stdout: 'in\nleft again\n', stderr: '' });
});

it.each(['POSIXLY_CORRECT=1', 'SHELLOPTS; set -o posix'])(
  'a session goes on after `export %s`, which makes shells strict',
  async (variable) => {
    await run(`export ${variable}; WORD=new`);
    expect(await run('echo "$WORD"; WORD=newer')).toMatchObject({
      stdout: 'new\n',
      stderr: '',
      exitCode: 0,
    });
    expect(await run('echo "$WORD"')).toMatchObject({ stdout: 'newer\n', exitCode: 0 });
  },
);

it.each(['in a session', 'by itself'])(
  'a command %s has the file descriptor 10 to itself',
  async (where) => {
    const command = 'exec 10>out; echo on >&10; exec 10>&-; cat out; read -r line || echo end';
    expect(await run(command, {}, where === 'by itself' ? null : session)).toMatchObject({
      stdout: 'on\nend\n',
      stderr: '',
    });
  },
);

it.each(['set -C', 'umask 777', 'exec 1>&- 2>&-', 'env() { false; }'])(
  'a command with %s passes its folder and variables',
  async (command) => {
    await run('export WORD=first');
    await run(`mkdir deep; export WORD=new; cd deep; ${command}`);
    expect(await run('echo "$WORD"; pwd')).toMatchObject({ stdout: `new\n${dir}/deep\n` });
  },
);

it.each([
  ['TERM', 143],
  ['KILL', 137],
])(
  'a command that sends SIG%s to its own process group ends itself alone',
  async (signal, exitCode) => {
    await run('export WORD=kept; twice() { echo "$1$1"; }');
    expect(await run(`kill -${signal} 0; echo on`)).toMatchObject({ stdout: '', exitCode });
    expect(await run('twice "$WORD"')).toMatchObject({ stdout: 'keptkept\n' });
  },
);

it.each(['in a session', 'by itself'])(
  'a command %s is in no command line and no environment',
  async (where) => {
    const within = where === 'by itself' ? null : session;
    await run('text="no-such-server --port 4173"', {}, within);
    const own =
      'grep -c "no-such-server --port 4173" /proc/$$/cmdline /proc/$$/environ /proc/$PPID/cmdline';
    expect((await run(own, {}, within)).stdout.replace(/\/\d+\//g, '/n/')).toBe(
      '/proc/n/cmdline:0\n/proc/n/environ:0\n/proc/n/cmdline:0\n',
    );
  },
);

it.each(['in a session', 'by itself'])('a command %s reads nothing from stdin', async (where) => {
  const within = where === 'by itself' ? null : session;
  expect(await run('cat; read -r line; echo "[$line] $?"\necho on', {}, within)).toMatchObject({
    stdout: '[] 1\non\n',
    stderr: '',
  });
  expect(await run('echo "cat no" > input; exec < input; read -r line', {}, within)).toMatchObject({
    stdout: '',
  });
});

it('an error names the line of the command', async () => {
  const { stderr } = await run('true\nno-such-program\n', {}, null);
  expect(stderr).toContain('line 2: no-such-program');
});

it('a line that ends in a backslash is the last one', async () => {
  expect(await run('echo on \\', {}, null)).toMatchObject({ stdout: 'on\n' });
});

describe('the file of a session', () => {
  const file = async (): Promise<string> =>
    path.join((await plain.sandbox.folders()).scratch, session.id);

  it.each<[string, (at: string) => void]>([
    ['a folder', (at) => mkdirSync(at)],
    ['a link', (at) => symlinkSync(path.join(dir, 'linked'), at)],
    ['a file that cannot be read', (at) => writeFileSync(at, '', { mode: 0 })],
  ])('is written in place of %s', async (_, place) => {
    writeFileSync(path.join(dir, 'linked'), 'text');
    await run('export WORD=first');
    rmSync(await file());
    place(await file());
    expect(await run('WORD=new')).toMatchObject({ stdout: '', stderr: '' });
    expect(await run('echo "$WORD"')).toMatchObject({ stdout: 'new\n', stderr: '' });
    expect(readFileSync(path.join(dir, 'linked'), 'utf8')).toBe('text');
  });

  it('is kept while another isolation of the same folders begins and ends', async () => {
    const another = plain.another();
    await run('export WORD=first');
    expect((await another.folders()).scratch).not.toBe((await plain.sandbox.folders()).scratch);
    await another.close();
    await run('export WORD=second');
    expect(await run('echo "$WORD"')).toMatchObject({ stdout: 'second\n' });
  });

  it('leaves the session as it was where its folder is missing, without an error in the output', async () => {
    await run('export WORD=kept; twice() { echo "$1$1"; }');
    const scratch = path.dirname(await file());
    rmSync(scratch, { recursive: true });
    expect(await run('twice "$WORD"; export WORD=lost')).toMatchObject({
      stdout: 'keptkept\n',
      stderr: '',
    });
    expect(await run('twice "$WORD"')).toMatchObject({ stdout: 'keptkept\n', stderr: '' });
    mkdirSync(scratch);
  });
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
  expect(await run(`printf %s '${text}' > out; wc -c < out`)).toMatchObject({
    exitCode: 0,
    stdout: '200000\n',
  });
});

it('merged output is one stream, in order', async () => {
  const { stdout, stderr } = await run('echo 1; echo 2 >&2; echo 3', { stderr: null });
  expect([stdout, stderr]).toEqual(['1\n2\n3\n', '']);
});

it('the signal ends a command with the processes that it has started in sessions of their own', async () => {
  const abort = new AbortController();
  const ended = run("setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 300", {
    signal: abort.signal,
  });
  await until(
    () => existsSync(path.join(dir, 'pid')) && readFileSync(path.join(dir, 'pid'), 'utf8') !== '',
  );
  abort.abort();
  expect(await ended).toMatchObject({ exitCode: -1, killed: true, timedOut: false });
  const pid = readFileSync(path.join(dir, 'pid'), 'utf8').trim();
  await until(
    () => !existsSync(`/proc/${pid}`) || /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')),
  );
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
  const late =
    'while test ! -e go; do sleep 0.02; done; head -c 300000 /dev/zero && echo written > late';
  await run(`(${late}) & echo begun`, { onOutput: () => undefined });
  writeFileSync(path.join(dir, 'go'), '');
  await until(() => existsSync(path.join(dir, 'late')));
  expect(await run('echo on')).toMatchObject({ exitCode: 0, stdout: 'on\n' });
});

it('output is passed on while the command runs, up to the kept beginning', async () => {
  const received: string[] = [];
  const onOutput = (stream: string, text: string) => void received.push(`${stream} ${text}`);
  const command = 'printf 1234; while ! test -e go; do sleep 0.02; done; printf 56789';
  const ended = run(command, { stdout: new BoundedText(6, 1), onOutput }, null);
  await until(() => received.length === 1);
  writeFileSync(path.join(dir, 'go'), '');
  expect((await ended).stdout).toBe('123456\n[... 2 characters of output left out ...]\n9');
  expect(received).toEqual(['stdout 1234', 'stdout 56']);
});

it('output larger than the window between worker and helper is complete', async () => {
  const { stdout } = await run('seq 1 600000 | md5sum; seq 1 600000', {
    stdout: new BoundedText(33, 8),
  });
  expect(stdout).toMatch(
    /^[0-9a-f]{32} \n\[\.\.\. 4088890 characters of output left out \.\.\.\]\n\n600000\n$/,
  );
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

it('a bounded text has no half of a pair at its ends, wherever they are cut and however the text arrives', () => {
  const bytes = Buffer.from(`a${'\u{1f600}'.repeat(9)}`);
  for (let head = 0; head <= 8; head += 1) {
    for (const size of [1, 3, 4, 7, 40]) {
      const text = new BoundedText(head, head);
      let begin = '';
      for (let at = 0; at < bytes.length; at += size)
        begin += text.push(bytes.subarray(at, at + size));
      const kept = text.end();
      const [, first = '', dropped, last = ''] =
        /^(.*)\n\[\.\.\. (\d+) .*\]\n(.*)$/su.exec(kept) ?? [];
      expect([/\p{Cs}/u.test(kept), begin]).toEqual([false, first]);
      expect(first.length + Number(dropped) + last.length).toBe(19);
      expect(Buffer.from(`${first}${last}`).every((byte) => bytes.includes(byte))).toBe(true);
    }
  }
});
