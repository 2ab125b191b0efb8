import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  ID,
  KEY,
  startConversation,
  startOwnWorker,
  step,
  type OwnWorker,
  until,
} from '../support/worker.ts';

let worker: OwnWorker;

beforeAll(async () => {
  worker = await startOwnWorker();
  await startConversation(worker, [step.finish()]);
});

afterAll(() => worker.close());

async function get(route: string): Promise<Pick<Answer, 'status' | 'body'>> {
  const { status, body } = await worker.call('GET', route);
  return { status, body };
}

async function post(route: string, body?: unknown): Promise<Pick<Answer, 'status' | 'body'>> {
  const answer = await worker.call('POST', route, body);
  return { status: answer.status, body: answer.body };
}

describe('commands', () => {
  it('return the exit code and both outputs', async () => {
    const { body } = await post('/api/bash/execute_bash_command', { command: 'echo out; echo err >&2; exit 3' });
    expect(body).toMatchObject({ order: 0, exit_code: 3, stdout: 'out\n', stderr: 'err\n', kind: 'BashOutput' });
    expect(body).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/) as string });
  });

  it('a timeout other than a whole number of seconds is refused with 422 as on genuine servers', async () => {
    const msg = 'Input should be a valid integer, got a number with a fractional part';
    for (const route of ['execute_bash_command', 'start_bash_command']) {
      expect(await post(`/api/bash/${route}`, { command: 'true', timeout: 1.5 })).toEqual({
        status: 422,
        body: { detail: [{ type: 'int_from_float', loc: ['body', 'timeout'], msg, input: 1.5 }] },
      });
    }
  });

  it('end at their timeout', async () => {
    const { body } = await post('/api/bash/execute_bash_command', { command: 'echo x; sleep 1000', timeout: 3 });
    expect(body).toMatchObject({ exit_code: -1, stdout: 'x\n', stderr: null });
  });

  it('run with a timeout above the limit of a Node timer', async () => {
    for (const timeout of [2_147_484, 4_294_968, Number.MAX_SAFE_INTEGER]) {
      const { body } = await post('/api/bash/execute_bash_command', { command: 'sleep 0.4; echo x', timeout });
      expect([timeout, body]).toMatchObject([timeout, { exit_code: 0, stdout: 'x\n' }]);
    }
  });

  it('in a missing folder do not run', async () => {
    const { body } = await post('/api/bash/execute_bash_command', { command: 'pwd', cwd: '/no/such' });
    expect(body).toMatchObject({ exit_code: -1, stdout: null, stderr: 'No such directory: /no/such' });
  });

  it('in the background return their output at the end, and a large one in parts', async () => {
    const command = 'for i in 1 2 3; do head -c 700000 /dev/zero | tr "\\0" x; sleep 0.1; done; exit 4';
    const { body } = await post('/api/bash/start_bash_command', { command });
    expect(body).toMatchObject({ command, cwd: null, timeout: 300, kind: 'BashCommand' });
    const { id } = body as { id: string };
    const pieces = await until('the last piece', async () => {
      const found = await get(`/api/bash/bash_events/search?command_id__eq=${id}&kind__eq=BashOutput`);
      const { items } = found.body as { items: { exit_code: number | null; stdout: string | null; order: number }[] };
      return items.at(-1)?.exit_code == null ? null : items;
    });
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.map((piece) => piece.stdout ?? '').join('') === 'x'.repeat(2_100_000)).toBe(true);
    expect(pieces.map((piece) => piece.order)).toEqual(pieces.map((_, index) => index));
    expect(pieces.map((piece) => piece.exit_code)).toEqual([...pieces.slice(1).map(() => null), 4]);
    const rest = await get(`/api/bash/bash_events/search?command_id__eq=${id}&kind__eq=BashOutput&order__gt=0`);
    expect((rest.body as { items: unknown[] }).items).toHaveLength(pieces.length - 1);
  });

  it('that print many control characters, which are longest in JSON, do not end other commands', async () => {
    const other = await post('/api/bash/start_bash_command', { command: 'while ! test -e on; do sleep 0.02; done' });
    const print = "head -c 9400000 /dev/zero | tr '\\0' '\\1'";
    const command = `${print}; ${print} >&2`;
    const { body } = await post('/api/bash/start_bash_command', { command });
    const last = (id: string) => async () => {
      const found = await get(`/api/bash/bash_events/search?command_id__eq=${id}&sort_order=TIMESTAMP_DESC&limit=1`);
      const [item] = (found.body as { items: { exit_code?: number | null }[] }).items;
      return typeof item?.exit_code === 'number' ? item : null;
    };
    expect(await until('its end', last((body as { id: string }).id))).toMatchObject({ exit_code: 0 });
    await post('/api/bash/execute_bash_command', { command: 'touch on' });
    expect(await until('the end of the other', last((other.body as { id: string }).id))).toMatchObject({
      exit_code: 0,
    });
  });

  it('that are nested deeply are refused', async () => {
    const deep = `${'{"command":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    expect((await post('/api/bash/execute_bash_command', deep)).status).toBe(422);
  });

  it('are refused without a command', async () => {
    expect(await post('/api/bash/execute_bash_command', {})).toEqual({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['body', 'command'], msg: 'Field required', input: {} }] },
    });
  });

  it('longer than the limit of the system for one argument run', async () => {
    const { body } = await post('/api/bash/execute_bash_command', { command: `: ${'x'.repeat(300_000)}\necho end` });
    expect(body).toMatchObject({ exit_code: 0, stdout: 'end\n' });
  });
});

describe('files', () => {
  const upload = async (target: string, data: Uint8Array<ArrayBuffer>, name = 'file'): Promise<Response> => {
    const form = new FormData();
    form.set(name, new Blob([data]), 'x.bin');
    return fetch(`http://127.0.0.1:${worker.port}/api/file/upload?path=${encodeURIComponent(target)}`, {
      method: 'POST',
      headers: { 'X-Session-API-Key': KEY },
      body: form,
    });
  };

  it('are uploaded and downloaded byte for byte, also large and binary ones', async () => {
    const data = new Uint8Array(3 * 1024 * 1024 + 7).map((_, index) => (index * 31) % 256);
    const target = `${worker.workingDir}/deep/er/ü x.bin`;
    expect(await (await upload(target, data)).json()).toEqual({ success: true });
    expect(readFileSync(path.join(worker.place.workspace, 'deep/er/ü x.bin')).equals(Buffer.from(data))).toBe(true);
    const response = await fetch(
      `http://127.0.0.1:${worker.port}/api/file/download?path=${encodeURIComponent(target)}`,
      {
        headers: { 'X-Session-API-Key': KEY },
      },
    );
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(data))).toBe(true);
  });

  it('a file that is replaced during its download arrives as it was, with its length announced', async () => {
    const size = 40 * 1024 * 1024;
    const file = path.join(worker.place.workspace, 'replaced.bin');
    writeFileSync(file, Buffer.alloc(size, 'a'));
    const response = await fetch(
      `http://127.0.0.1:${worker.port}/api/file/download?path=${worker.workingDir}/replaced.bin`,
      { headers: { 'X-Session-API-Key': KEY } },
    );
    expect(response.headers.get('content-length')).toBe(String(size));
    writeFileSync(`${file}.new`, Buffer.alloc(size, 'b'));
    renameSync(`${file}.new`, file);
    const body = Buffer.from(await response.arrayBuffer());
    expect([body.length, body.includes('b')]).toEqual([size, false]);
  });

  it('the connection ends when a file is truncated during its download', async () => {
    const file = path.join(worker.place.workspace, 'truncated.bin');
    writeFileSync(file, Buffer.alloc(40 * 1024 * 1024, 'a'));
    const response = await fetch(
      `http://127.0.0.1:${worker.port}/api/file/download?path=${worker.workingDir}/truncated.bin`,
      { headers: { 'X-Session-API-Key': KEY } },
    );
    truncateSync(file, 1024);
    await expect(response.arrayBuffer()).rejects.toThrow('terminated');
    expect((await get('/api/conversations/count')).status).toBe(200);
  });

  it('may be empty, and keep their mode when they are replaced', async () => {
    writeFileSync(path.join(worker.place.workspace, 'tool'), 'x', { mode: 0o755 });
    expect((await upload(`${worker.workingDir}/tool`, new Uint8Array())).status).toBe(200);
    const found = statSync(path.join(worker.place.workspace, 'tool'));
    expect([found.size, found.mode & 0o777]).toEqual([0, 0o755]);
  });

  it('are refused with the messages of genuine servers', async () => {
    const download = '/api/file/download?path=';
    expect(await get(`${download}a.txt`)).toEqual({ status: 400, body: { detail: 'Path must be absolute' } });
    expect(await get(`${download}${worker.workingDir}/zzz`)).toEqual({
      status: 404,
      body: { detail: 'File not found' },
    });
    expect(await get(`${download}${worker.workingDir}`)).toEqual({
      status: 400,
      body: { detail: 'Path is not a file' },
    });
    expect((await get('/api/file/download')).status).toBe(422);
    expect((await upload(worker.workingDir, new Uint8Array(1))).status).toBe(400);
    expect((await upload('up.txt', new Uint8Array(1))).status).toBe(400);
    expect((await upload(`${worker.workingDir}/x`, new Uint8Array(1), 'other')).status).toBe(422);
  });

  it('are neither read nor written with a wrong key of the same length', async () => {
    writeFileSync(path.join(worker.place.workspace, 'secret.txt'), 'secret');
    const file = `${worker.workingDir}/secret.txt`;
    const headers = { 'X-Session-API-Key': KEY.replace(/.$/, '#') };
    const refused = { status: 401, body: { detail: 'Unauthorized' } };
    for (const [method, route] of [
      ['GET', `/api/file/download?path=${file}`],
      ['GET', `/api/file/download/${file}`],
      ['POST', `/api/file/upload?path=${file}`],
      ['POST', `/api/file/upload/${file}`],
      ['GET', '/api/file/home'],
      ['GET', `/api/file/archive?path=${worker.workingDir}`],
      ['GET', `/api/file/download-trajectory/${ID}`],
    ] as const) {
      expect([route, await worker.call(method, route, undefined, headers)]).toMatchObject([route, refused]);
    }
  });

  it('cannot be a pipe, which would never end', async () => {
    await post('/api/bash/execute_bash_command', { command: 'mkfifo pipe' });
    expect((await get(`/api/file/download?path=${worker.workingDir}/pipe`)).status).toBe(400);
  });

  it('have a route that returns the home folder', async () => {
    expect((await get('/api/file/home')).body).toMatchObject({
      home: worker.spec === 'process' ? process.env['HOME'] : '/home/agent',
    });
  });
});

describe('git', () => {
  const repository = (): string => path.join(worker.place.workspace, 'repository');
  // Nothing of what git knows of whoever runs the tests.
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', repository(), ...args], { env, encoding: 'utf8' });
  const inside = (file: string): string => `${worker.workingDir}/repository${file}`;

  beforeAll(() => {
    const origin = path.join(worker.place.workspace, 'origin');
    mkdirSync(origin);
    const at = (...args: string[]): void => void execFileSync('git', ['-C', origin, ...args], { env });
    at('init', '-q', '-b', 'main');
    at('config', 'user.email', 'ann@example.com');
    at('config', 'user.name', 'Ann');
    writeFileSync(path.join(origin, 'kept.txt'), 'one\n');
    writeFileSync(path.join(origin, 'gone.txt'), 'two\n');
    writeFileSync(path.join(origin, '.gitignore'), 'ignored\n');
    at('add', '-A');
    at('commit', '-q', '-m', 'first');
    execFileSync('git', ['clone', '-q', origin, repository()], { env });
    writeFileSync(path.join(repository(), 'kept.txt'), 'one\nmore\n');
    writeFileSync(path.join(repository(), 'new ü.txt'), 'new\n');
    writeFileSync(path.join(repository(), 'ignored'), 'x');
    writeFileSync(path.join(repository(), 'binary'), Buffer.from([0, 1, 2, 255]));
    git('rm', '-q', 'gone.txt');
  });

  const changes = [
    { status: 'ADDED', path: 'binary' },
    { status: 'DELETED', path: 'gone.txt' },
    { status: 'UPDATED', path: 'kept.txt' },
    { status: 'ADDED', path: 'new ü.txt' },
  ];

  it('lists the differences from the remote, commits of the agent included', async () => {
    expect((await get(`/api/git/changes?path=${inside('')}`)).body).toEqual(changes);
    git('-c', 'user.email=ann@example.com', '-c', 'user.name=Ann', 'commit', '-q', '-a', '-m', 'second');
    expect((await get(`/api/git/changes?path=${inside('')}`)).body).toEqual(changes);
    expect((await get(`/api/git/changes?path=${inside('')}&ref=HEAD`)).body).toEqual(
      changes.filter((change) => change.status === 'ADDED'),
    );
  });

  it('lists the changes of the repositories directly below a folder that is not a repository', async () => {
    const { body } = await get(`/api/git/changes?path=${worker.workingDir}&ref=HEAD`);
    expect(body).toEqual([
      { status: 'ADDED', path: 'repository/binary' },
      { status: 'ADDED', path: 'repository/new ü.txt' },
    ]);
  });

  it('returns both sides of a file, without the last line end', async () => {
    const diff = (file: string) => get(`/api/git/diff?path=${encodeURIComponent(inside(file))}`);
    expect((await diff('/kept.txt')).body).toEqual({ original: 'one', modified: 'one\nmore' });
    expect((await diff('/new ü.txt')).body).toEqual({ original: '', modified: 'new' });
    expect((await diff('/gone.txt')).body).toEqual({ original: 'two', modified: '' });
    expect(await diff('/zzz.txt')).toEqual({
      status: 400,
      body: { detail: `File does not exist: ${inside('/zzz.txt')}` },
    });
  });

  it('returns one patch of all changes that git can apply', async () => {
    const { body } = await get(`/api/file/archive?path=${inside('')}&format=git-delta`);
    const copy = path.join(worker.place.workspace, 'copy');
    execFileSync('git', ['clone', '-q', path.join(worker.place.workspace, 'origin'), copy], { env });
    execFileSync('git', ['-C', copy, 'apply', '--index'], { env, input: body as string });
    expect(readFileSync(path.join(copy, 'binary')).equals(Buffer.from([0, 1, 2, 255]))).toBe(true);
    expect(readFileSync(path.join(copy, 'kept.txt'), 'utf8')).toBe('one\nmore\n');
  });

  it('returns no changes where there is no repository', async () => {
    expect((await get('/api/git/changes?path=/proc')).body).toEqual([]);
    expect((await get('/api/git/changes?path=/no/such')).body).toEqual([]);
  });

  it('executes no command that the configuration of the repository names', async () => {
    git('config', 'core.fsmonitor', `touch ${inside('/../ran')}`);
    git('config', 'diff.external', `touch ${inside('/../ran')}`);
    await get(`/api/git/changes?path=${inside('')}`);
    await get(`/api/git/diff?path=${inside('/kept.txt')}`);
    expect(statSync(path.join(worker.place.workspace, 'ran'), { throwIfNoEntry: false })).toBe(undefined);
    expect((await get(`/api/git/changes?path=${inside('')}&ref=--output=x`)).status).toBe(400);
  });
});
