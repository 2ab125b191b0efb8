import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { BIN } from '../../e2e/processes.ts';
import { until } from '../../support/test-clock.ts';
import { errorOf, useWorld } from '../../support/use-world.ts';
import type { Ended } from '../../support/world.ts';
import { startSandbox } from './support.ts';

const at = useWorld({ api: 'v1', spec: 'process', noun: 'sandbox' });
let id: string;
beforeAll(async () => {
  id = await startSandbox(at.world);
});

const sh = (line: string, ...flags: string[]): string[] => [
  'exec',
  ...flags,
  id,
  '--',
  'sh',
  '-c',
  line,
];

/**
 * Runs a line of the shell; `meanwhile` once it has printed `begun`, with what interrupts acs as
 * main.ts does.
 */
async function running(
  args: string[],
  meanwhile: (interrupt: (exitCode: number) => void) => unknown,
  env: Record<string, string> = {},
): Promise<Ended> {
  const interruption = new AbortController();
  let seen = '';
  const ended = at.invoke({
    args: ['sandbox', ...args],
    env,
    signal: interruption.signal,
    onOut: (text) => (seen += text),
  });
  await until(() => seen.includes('begun'));
  await meanwhile((exitCode) =>
    interruption.abort(new AppError('interrupted', 'interrupted', { exitCode })),
  );
  return await ended;
}

describe('sandbox exec', () => {
  it.each([
    ['no program', ['ID'], 'the program is missing: it follows --'],
    ['a program without --', ['ID', 'ls', '-la'], "unknown option '-l'"],
    ['a word before --', ['ID', 'rm', '--', '-rf', 'x'], '"rm" stands before --'],
    ['nothing after --', ['ID', '--'], 'no program follows --'],
    ['an empty program', ['ID', '--', ''], 'no program follows --'],
    [
      'a variable with a wrong name',
      ['ID', '--env', 'a-b=1', '--', 'ls'],
      '"a-b" is not the name of a variable',
    ],
    [
      'a variable that is not set',
      ['ID', '--env', 'NOT_SET_HERE', '--', 'ls'],
      'no variable NOT_SET_HERE',
    ],
    ['a wrong duration', ['ID', '--timeout', 'soon', '--', 'ls'], '--timeout'],
    ['a format without meaning', ['ID', '--format', 'tsv', '--', 'ls'], 'has no --format tsv'],
    ['an id that is none', ['a/b', '--', 'ls'], 'is not a sandbox id'],
  ])('exits 125 for %s, before any request', async (_what, args, err) => {
    await at.ends(['exec', ...args], { code: 125, err, requests: 0 });
  });

  it('exits 125 when the server is not there', async () => {
    const env = { ACS_BASE_URL: 'http://127.0.0.1:1' };
    await at.ends('exec abcd --json -- true', { code: 125, env, err: '"code":"network"' });
  });

  it('prints its help with exit code 0, also with a program', () =>
    at.ends('exec --help -- ls', { err: '' }));

  it('passes flags of acs that follow -- to the program', async () => {
    const words = '--json -q --help -p x sandbox --';
    await at.ends(`exec ${id} -- echo ${words}`, { out: `${words}\n` });
  });

  it('takes the id of a conversation, its beginning or its URL for the sandbox, as cp does', async () => {
    const conversation = 'c0ffee0000004111800000000000beef';
    const start = 'conv new --no-repo --replay demo --wait --id'.split(' ');
    await at.world.acs(...start, conversation, '--sandbox', id);
    for (const word of [conversation, 'c0ffee', `${at.server.url}/conversations/${conversation}`])
      await at.ends(`exec ${word} -- echo on`, { out: 'on\n' });
    await at.ends('exec c0ffee -- mkdir below', {});
    await at.ends('exec c0ffee --cwd below -- pwd', { out: /\/below\n$/ });
    await at.ends('cp - c0ffee:note', { stdin: 'noted' });
    await at.ends(`cp ${conversation}:note -`, { out: 'noted' });
    await at.ends('exec c0ffee0000004111800000000000bad0 -- ls', {
      code: 125,
      err: 'no sandbox begins with c0ffee',
    });
  });

  it('prints one JSON object for each part of the output and one for the exit code, whose characters are whole', async () => {
    const line = String.raw`printf '\303'; sleep 0.1; printf '\244'; echo err >&2; exit 3`;
    const { out } = await at.ends(sh(line, '--json'), { code: 3, err: '' });
    const lines = out.trimEnd().split('\n');
    const records = lines.map((each) => JSON.parse(each) as Record<string, unknown>);
    expect(records.at(-1)).toEqual({ type: 'exit', exit_code: 3 });
    const text = (stream: string): string =>
      records.map((record) => (record.stream === stream ? String(record.text) : '')).join('');
    expect([text('stdout'), text('stderr')]).toEqual(['ä', 'err\n']);
  });

  it('reports a pipe on stdin that it does not read without -i', async () => {
    const err = 'stdin is not passed on to the program: add -i to pass it on\n';
    expect(await at.ends(`exec ${id} -- cat`, { stdin: 'typed', out: '' })).toMatchObject({ err });
    await at.ends(`exec -i ${id} -- cat`, { stdin: 'typed', out: 'typed', err: '' });
  });

  it('makes control characters safe on a terminal, on stdout and stderr', async () => {
    const print = String.raw`printf '\033[31mred\n'`;
    await at.ends(sh(print), { columns: 80, out: '\\x1b[31mred\n' });
    expect((await at.ends(sh(`${print} >&2`), { columns: 80 })).err).toBe('\\x1b[31mred\n');
  });

  it('takes the value of a variable without one from its own environment', async () => {
    const args = sh('echo "$FROM_HERE,${EMPTY-unset}"', '--env', 'FROM_HERE', '--env', 'EMPTY=');
    await at.ends(args, { env: { FROM_HERE: "it's here" }, out: "it's here,\n" });
  });

  it('sends nothing to the sandbox in a dry run, and prints what it would send without the values of secrets', async () => {
    const url = expect.stringMatching(/\/sockets\/exec$/) as string;
    await at.ends(`exec --dry-run --json ${id} --env MY_TOKEN=abcdef123 -- ls -l`, {
      out: { requests: [{ url, body: { argv: ['ls', '-l'] } }] },
      hides: 'abcdef123',
    });
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])('passes %s on, and exits as the program that it ends', async (_name, code) => {
    const ended = await running(sh('echo begun; exec sleep 1000'), (interrupt) => interrupt(code));
    expect(ended).toMatchObject({ code, err: '' });
  });

  it('exits with the code of a program that handles the signal, and ends what it leaves behind', async () => {
    const line = 'trap "echo caught; exit 9" INT; sleep 54321 & echo begun; wait';
    const ended = await running(sh(line), (interrupt) => interrupt(130));
    expect(ended).toMatchObject({ code: 9, out: 'begun\ncaught\n' });
    const find =
      "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null | grep " +
      "'^sleep 54321'";
    await at.ends(sh(find), { code: 1, out: '' });
  });

  it('takes all of stdin while its output is not read', async () => {
    const line = 'head -c 300000 /dev/zero; cat >/dev/null; echo done';
    const child = spawn(process.execPath, [BIN, 'sandbox', ...sh(line, '--stdin')], {
      env: {
        PATH: process.env.PATH,
        HOME: at.dir,
        ACS_BASE_URL: at.world.service.url,
        ACS_API_KEY: at.world.service.key,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end(Buffer.alloc(4 * 1024 * 1024));
    await once(child.stdin, 'finish');
    let bytes = 0;
    for await (const chunk of child.stdout) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(300_005);
  });

  it('ends the program with 141 when the reader of stdout is gone', async () => {
    const onOut = (): never => {
      throw new AppError('interrupted', 'the reader of the output is gone', { exitCode: 141 });
    };
    await at.ends(`exec ${id} -- yes`, { onOut, code: 141, err: '' });
  });

  it('needs --resume for a paused sandbox, and exits 125 when it is paused while the program runs', async () => {
    const other = await startSandbox(at.world);
    const ended = await running(
      ['exec', '--json', other, '--', 'sh', '-c', 'echo begun; sleep 1000'],
      () => void at.acs('pause', other),
    );
    expect([ended.code, errorOf(ended)['code']]).toEqual([125, 'conflict']);
    await at.ends(`pause ${other}`, {});
    const refused = await at.ends(`exec --json ${other} -- echo on`, { code: 125 });
    expect(errorOf(refused)).toMatchObject({
      code: 'conflict',
      hint: 'add --resume to start it first',
    });
    await at.ends(`exec --resume ${other} -- echo on`, { out: 'on\n' });
  });
});

describe('sandbox exec on a server without a socket for programs', () => {
  /** As the local service, whose document no longer states the feature, or is answered with 404. */
  function plain(document: 'served' | 'missing' = 'served'): { env: Record<string, string> } {
    at.script({
      '/openapi.json': async () => {
        if (document === 'missing') return { status: 404, none: true };
        const headers = { 'X-Session-API-Key': at.world.service.key };
        const text = await (
          await fetch(`${at.world.service.url}/openapi.json`, { headers })
        ).text();
        return {
          text: text.replace('"exec-socket":true', '"exec-socket":false'),
          type: 'application/json',
        };
      },
    });
    return { env: { ACS_CONFIG_DIR: `${at.dir}/config-${document}` } };
  }
  const ofSandboxes = () => at.server.asked.filter(({ path }) => path.includes('sandboxes'));

  it('refuses -i with 125, and a shell with 12, before anything is sent', async () => {
    const err = 'this server cannot pass stdin to a program; the local service can';
    await at.ends('exec -i abcd -- cat', { ...plain(), code: 125, err });
    const shell = 'this server cannot open a shell in a sandbox; the local service can';
    await at.ends('shell abcd', { ...plain(), columns: 80, code: 12, err: shell });
    expect(ofSandboxes()).toEqual([]);
  });

  it('tries -i where no document shows whether there is a socket', async () => {
    await at.ends(`exec -i ${id} -- cat`, {
      ...plain('missing'),
      stdin: 'typed',
      out: 'typed',
      err: '',
    });
  });

  it('runs the program over the bash routes: live, with every byte, its exit code, and nothing left behind', async () => {
    const { env } = plain();
    const go = `${at.dir}/go-on`;
    const wait = sh(`echo begun; until [ -e '${go}' ]; do sleep 0.05; done; exit 7`);
    const live = await running(wait, () => at.ends(`exec ${id} -- touch ${go}`, { env }), env);
    expect(live).toMatchObject({ code: 7, out: 'begun\n', err: '' });

    const print = String.raw`printf '\000\377'; head -c 2000000 /dev/zero; echo e >&2`;
    const { bytes, err } = await at.ends(sh(print), { env });
    expect([bytes.length, ...bytes.subarray(0, 2), err]).toEqual([2_000_002, 0, 255, 'e\n']);
    await at.ends(`exec ${id} -- no-such-program`, { env, code: 127 });
    await at.ends(`exec ${id} --cwd no-such-folder -- ls`, { env, code: 125 });
    await at.ends(`exec ${id} --timeout 500ms -- sleep 1000`, { env, code: 125 });
    const find = String.raw`tr '\0' '\n' </proc/$PPID/cmdline | grep '^/tmp/acs-exec-'`;
    const { out } = await at.ends(sh(find), { env, out: /^\/tmp\/acs-exec-\S+\n$/ });
    expect(existsSync(out.trim())).toBe(false);
  });
});

it('sandbox shell exits 2 without a terminal, before any request', async () => {
  await at.ends('shell abcd', {
    code: 2,
    err: 'a shell needs a terminal as stdin and stdout',
    requests: 0,
  });
});
