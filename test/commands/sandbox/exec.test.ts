import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { until } from '../../support/until.ts';
import type { Invocation } from '../../support/world.ts';
import { startSandbox, useSandboxWorld } from './support.ts';

const at = useSandboxWorld();

const errorOf = (err: string): { code: string; message: string; hint?: string } =>
  (JSON.parse(err.trimEnd().split('\n').at(-1) ?? '') as { error: { code: string; message: string } }).error;

/** Runs a line of the shell in a sandbox, until the signal that a process of acs gets, as main.ts reports it. */
async function interrupted(id: string, line: string, exitCode: number) {
  const interruption = new AbortController();
  let seen = '';
  const ended = at.world.invoke({
    args: ['sandbox', 'exec', id, '--', 'sh', '-c', line],
    signal: interruption.signal,
    onOut: (text) => (seen += text),
  });
  await until(() => seen.includes('begun'));
  interruption.abort(new AppError('interrupted', 'interrupted', { exitCode }));
  return await ended;
}

describe('sandbox exec', () => {
  it.each([
    ['no program', ['ID'], 'the program is missing: it follows --'],
    ['a program without --', ['ID', 'ls', '-la'], "unknown option '-l'"],
    ['a word before --', ['ID', 'rm', '--', '-rf', 'x'], '"rm" stands before --'],
    ['nothing after --', ['ID', '--'], 'no program follows --'],
    ['an empty program', ['ID', '--', ''], 'no program follows --'],
    ['a variable with a wrong name', ['ID', '--env', 'a-b=1', '--', 'ls'], '"a-b" is not the name of a variable'],
    ['a variable that is not set', ['ID', '--env', 'NOT_SET_HERE', '--', 'ls'], 'no variable NOT_SET_HERE'],
    ['a wrong duration', ['ID', '--timeout', 'soon', '--', 'ls'], '--timeout'],
    ['a format without meaning', ['ID', '--format', 'tsv', '--', 'ls'], 'has no --format tsv'],
    ['an id that is none', ['a/b', '--', 'ls'], 'is not a sandbox id'],
  ])('exits 125 for %s, before any request', async (_what, args, message) => {
    const { code, err } = await at.acs('exec', ...args);
    expect({ code, requests: at.proxy.requests }).toEqual({ code: 125, requests: [] });
    expect(err).toContain(message);
  });

  it('exits 125 when the server is not there', async () => {
    const { code, err } = await at.world.invoke({
      args: ['sandbox', 'exec', 'abcd', '--json', '--', 'true'],
      env: { ACS_BASE_URL: 'http://127.0.0.1:1' },
    });
    expect({ code, kind: errorOf(err).code }).toEqual({ code: 125, kind: 'network' });
  });

  it('prints its help with exit code 0, also with a program', async () => {
    expect(await at.acs('exec', '--help', '--', 'ls')).toMatchObject({ code: 0, err: '' });
  });

  it('passes flags of acs that follow -- to the program', async () => {
    const id = await startSandbox(at.world);
    const { out } = await at.acs('exec', id, '--', 'echo', '--json', '-q', '--help', '-p', 'x', 'sandbox', '--');
    expect(out).toBe('--json -q --help -p x sandbox --\n');
  });

  it('prints one JSON object for each part of the output and one for the exit code, whose characters are whole', async () => {
    const id = await startSandbox(at.world);
    const line = String.raw`printf '\303'; sleep 0.1; printf '\244'; echo err >&2; exit 3`;
    const { code, out, err } = await at.acs('exec', '--json', id, '--', 'sh', '-c', line);
    const records = out
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each) as Record<string, unknown>);
    expect({ code, err, last: records.at(-1) }).toEqual({ code: 3, err: '', last: { type: 'exit', exit_code: 3 } });
    const text = (stream: string): string =>
      records.map((record) => (record.stream === stream ? String(record.text) : '')).join('');
    expect([text('stdout'), text('stderr')]).toEqual(['ä', 'err\n']);
  });

  it('makes control characters safe on a terminal, on stdout and stderr', async () => {
    const id = await startSandbox(at.world);
    const args = ['sandbox', 'exec', id, '--', 'printf', String.raw`\033[31mred\n`];
    expect((await at.world.invoke({ args, columns: 80 })).out).toBe('\\x1b[31mred\n');
    const toStderr = ['sandbox', 'exec', id, '--', 'sh', '-c', String.raw`printf '\033[31mred\n' >&2`];
    expect((await at.world.invoke({ args: toStderr, columns: 80 })).err).toBe('\\x1b[31mred\n');
  });

  it('takes the value of a variable without one from its own environment', async () => {
    const id = await startSandbox(at.world);
    const args = ['sandbox', 'exec', id, '--env', 'FROM_HERE', '--env', 'EMPTY=', '--', 'sh', '-c'];
    const run: Invocation = { args: [...args, 'echo "$FROM_HERE,${EMPTY-unset}"'], env: { FROM_HERE: "it's here" } };
    expect((await at.world.invoke(run)).out).toBe("it's here,\n");
  });

  it('sends nothing to the sandbox in a dry run, and prints what it would send without the values of secrets', async () => {
    const id = await startSandbox(at.world);
    const { code, out } = await at.acs(
      'exec',
      '--dry-run',
      '--json',
      id,
      '--env',
      'MY_TOKEN=abcdef123',
      '--',
      'ls',
      '-l',
    );
    const { requests } = JSON.parse(out) as { requests: { url: string; body: { argv: string[] } }[] };
    expect({ code, argv: requests[0]?.body.argv }).toEqual({ code: 0, argv: ['ls', '-l'] });
    expect(requests[0]?.url).toMatch(/\/sockets\/exec$/);
    expect(out).not.toContain('abcdef123');
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])('passes %s on, and exits as the program that it ends', async (_name, code) => {
    const id = await startSandbox(at.world);
    expect(await interrupted(id, 'echo begun; exec sleep 1000', code)).toMatchObject({ code, err: '' });
  });

  it('exits with the code of a program that handles the signal, and ends what it leaves behind', async () => {
    const id = await startSandbox(at.world);
    const line = 'trap "echo caught; exit 9" INT; sleep 54321 & echo begun; wait';
    expect(await interrupted(id, line, 130)).toMatchObject({ code: 9, out: 'begun\ncaught\n' });
    const find = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null | grep '^sleep 54321'";
    expect(await at.acs('exec', id, '--', 'sh', '-c', find)).toMatchObject({ code: 1, out: '' });
  });

  it('ends the program with 141 when the reader of stdout is gone', async () => {
    const id = await startSandbox(at.world);
    const { code, err } = await at.world.invoke({
      args: ['sandbox', 'exec', id, '--', 'yes'],
      onOut: () => {
        throw new AppError('interrupted', 'the reader of the output is gone', { exitCode: 141 });
      },
    });
    expect({ code, err }).toEqual({ code: 141, err: '' });
  });

  it('needs --resume for a paused sandbox', async () => {
    const id = await startSandbox(at.world);
    await at.acs('pause', id);
    const refused = await at.acs('exec', '--json', id, '--', 'echo', 'on');
    expect({ code: refused.code, kind: errorOf(refused.err).code }).toEqual({ code: 125, kind: 'conflict' });
    expect(errorOf(refused.err).hint).toContain(`acs sandbox exec ${id} --resume`);
    expect(await at.acs('exec', '--resume', id, '--', 'echo', 'on')).toMatchObject({ code: 0, out: 'on\n' });
  });

  it('exits 125 with the kind conflict when the sandbox is paused while the program runs', async () => {
    const id = await startSandbox(at.world);
    let seen = '';
    const ended = at.world.invoke({
      args: ['sandbox', 'exec', '--json', id, '--', 'sh', '-c', 'echo begun; sleep 1000'],
      onOut: (text) => (seen += text),
    });
    await until(() => seen.includes('begun'));
    await at.acs('pause', id);
    const { code, err } = await ended;
    expect({ code, kind: errorOf(err).code }).toEqual({ code: 125, kind: 'conflict' });
  });
});

describe('sandbox exec on a server without a socket for programs', () => {
  /** Passes everything on to the local service, whose document no longer states the feature. */
  async function plainServer(): Promise<{ url: string; paths: string[]; close: () => void }> {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = 'GET', url = '/', headers } = request;
        paths.push(`${method} ${url.split('?')[0]}`);
        const key = headers['x-session-api-key'];
        const body = chunks.length === 0 ? null : Buffer.concat(chunks);
        void fetch(at.world.service.url + url, { method, body, headers: { 'x-session-api-key': String(key) } }).then(
          async (answer) => {
            const text = (await answer.text()).replace('"exec-socket":true', '"exec-socket":false');
            response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
            response.end(text);
          },
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return {
      url,
      paths,
      close: () => {
        server.close();
        server.closeAllConnections();
      },
    };
  }

  it('refuses -i with 12 before anything is sent', async () => {
    const server = await plainServer();
    const args = ['sandbox', 'exec', '-i', 'abcd', '--', 'cat'];
    const { code, err } = await at.world.invoke({ args, env: { ACS_BASE_URL: server.url } });
    server.close();
    expect({ code, paths: server.paths.filter((path) => path.includes('sandboxes')) }).toEqual({ code: 12, paths: [] });
    expect(err).toContain('this server cannot pass stdin to a program; the local service can');
  });

  it('refuses a shell with 12 before anything is sent', async () => {
    const server = await plainServer();
    const invocation = { args: ['sandbox', 'shell', 'abcd'], columns: 80, env: { ACS_BASE_URL: server.url } };
    const { code, err } = await at.world.invoke(invocation);
    server.close();
    expect({ code, paths: server.paths.filter((path) => path.includes('sandboxes')) }).toEqual({ code: 12, paths: [] });
    expect(err).toContain('this server cannot open a shell in a sandbox; the local service can');
  });

  it('runs the program over the bash routes: live, with every byte, its exit code, and nothing left behind', async () => {
    const id = await startSandbox(at.world);
    const server = await plainServer();
    const acs = (...args: string[]) =>
      at.world.invoke({ args: ['sandbox', 'exec', id, ...args], env: { ACS_BASE_URL: server.url } });
    let seen = '';
    const go = `${at.world.dir}/go-on`;
    const live = at.world.invoke({
      args: ['sandbox', 'exec', id, '--', 'sh', '-c', `echo begun; until [ -e '${go}' ]; do sleep 0.05; done; exit 7`],
      env: { ACS_BASE_URL: server.url },
      onOut: (text) => (seen += text),
    });
    await until(() => seen.includes('begun'));
    await acs('--', 'touch', go);
    expect(await live).toMatchObject({ code: 7, out: 'begun\n', err: '' });

    const bytes = await acs('--', 'sh', '-c', String.raw`printf '\000\377'; head -c 2000000 /dev/zero; echo e >&2`);
    expect({ length: bytes.bytes.length, start: [...bytes.bytes.subarray(0, 2)], err: bytes.err }).toEqual({
      length: 2_000_002,
      start: [0, 255],
      err: 'e\n',
    });
    expect((await acs('--', 'no-such-program')).code).toBe(127);
    expect((await acs('--cwd', 'no-such-folder', '--', 'ls')).code).toBe(125);
    expect((await acs('--timeout', '500ms', '--', 'sleep', '1000')).code).toBe(125);
    const folder = await acs('--', 'sh', '-c', String.raw`tr '\0' '\n' </proc/$PPID/cmdline | grep '^/tmp/acs-exec-'`);
    expect(folder.out).toMatch(/^\/tmp\/acs-exec-\S+\n$/);
    expect(existsSync(folder.out.trim())).toBe(false);
    server.close();
  });
});

describe('sandbox shell', () => {
  it('exits 2 without a terminal, before any request', async () => {
    const { code, err } = await at.acs('shell', 'abcd');
    expect({ code, requests: at.proxy.requests }).toEqual({ code: 2, requests: [] });
    expect(err).toContain('a shell needs a terminal, and stdin or stdout is none');
  });
});
