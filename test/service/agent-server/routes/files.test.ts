import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../../support/test-clock.ts';
import { useSharedWorker } from '../support/shared-sandboxes.ts';
import { ID, KEY, type OwnWorker, step } from '../support/worker.ts';

const shared = useSharedWorker([step.finish()]);
const { get, post } = shared;
let worker: OwnWorker;
beforeAll(() => {
  worker = shared.worker;
});

const DOWNLOAD = '/api/file/download';
const UPLOAD = '/api/file/upload';
const MIB = 1024 * 1024;
const onHost = (name: string): string => path.join(worker.place.workspace, name);
const bytes = (length: number) =>
  Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 31) % 256));

async function textOf(answer: IncomingMessage): Promise<{ status: number; body: string }> {
  return { status: answer.statusCode ?? 0, body: (await buffer(answer)).toString('utf8') };
}

/** An upload whose body is sent in parts; a write resolves when the connection has taken it. */
function upstream(route: string, name = 'file') {
  const headers = {
    'X-Session-API-Key': KEY,
    'Content-Type': 'multipart/form-data; boundary=limit',
  };
  const outgoing = request({
    host: '127.0.0.1',
    port: worker.port,
    method: 'POST',
    path: route,
    headers,
  });
  const answered = once(outgoing, 'response').then(([answer]) => textOf(answer as IncomingMessage));
  answered.catch(() => undefined);
  outgoing.write(`--limit\r\nContent-Disposition: form-data; name="${name}"; filename="x"\r\n\r\n`);
  return {
    write: async (data: Uint8Array | string) =>
      void (outgoing.write(data) || (await once(outgoing, 'drain'))),
    cut: () => outgoing.destroy(),
    end: () => (outgoing.end('\r\n--limit--\r\n'), answered),
  };
}

/** The status of an upload by the query form. */
async function upload(target: string, data: Uint8Array | string, name?: string): Promise<number> {
  const body = upstream(`${UPLOAD}?path=${encodeURIComponent(target)}`, name);
  await body.write(data);
  return (await body.end()).status;
}

/** The answer as it begins; its body is read by the test. */
const download = (name: string): Promise<Response> =>
  fetch(
    `http://127.0.0.1:${worker.port}${DOWNLOAD}?path=${encodeURIComponent(`${worker.workingDir}/${name}`)}`,
    {
      headers: { 'X-Session-API-Key': KEY },
    },
  );

describe('files', () => {
  it('are uploaded and downloaded byte for byte, also large and binary ones', async () => {
    const data = bytes(3 * MIB + 7);
    expect(await upload(`${worker.workingDir}/deep/er/ü x.bin`, data)).toBe(200);
    expect(readFileSync(onHost('deep/er/ü x.bin')).equals(data)).toBe(true);
    const response = await download('deep/er/ü x.bin');
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(Buffer.from(await response.arrayBuffer()).equals(data)).toBe(true);
  });

  it('a file that is replaced during its download arrives as it was, with its length announced', async () => {
    const size = 40 * MIB;
    writeFileSync(onHost('replaced.bin'), Buffer.alloc(size, 'a'));
    const response = await download('replaced.bin');
    expect(response.headers.get('content-length')).toBe(String(size));
    writeFileSync(onHost('new'), Buffer.alloc(size, 'b'));
    renameSync(onHost('new'), onHost('replaced.bin'));
    const body = Buffer.from(await response.arrayBuffer());
    expect([body.length, body.includes('b')]).toEqual([size, false]);
  });

  it('the connection ends when a file is truncated during its download', async () => {
    writeFileSync(onHost('truncated.bin'), Buffer.alloc(40 * MIB, 'a'));
    const response = await download('truncated.bin');
    truncateSync(onHost('truncated.bin'), 1024);
    await expect(response.arrayBuffer()).rejects.toThrow('terminated');
    expect((await get('/api/conversations/count')).status).toBe(200);
  });

  it('may be empty, and keep their mode when they are replaced', async () => {
    writeFileSync(onHost('tool'), 'x', { mode: 0o755 });
    expect(await upload(`${worker.workingDir}/tool`, '')).toBe(200);
    const found = statSync(onHost('tool'));
    expect([found.size, found.mode & 0o777]).toEqual([0, 0o755]);
  });

  it('are written while they are received, whatever their size, and keep the order of their bytes', async () => {
    const piece = bytes(MIB + 1);
    const body = upstream(`${UPLOAD}?path=${worker.workingDir}/large.bin`);
    const hash = createHash('sha256');
    // More than the limit of other bodies, 128 MiB.
    for (let count = 0; count < 130; count++) {
      hash.update(piece);
      await body.write(piece);
    }
    expect((await body.end()).status).toBe(200);
    const received = createHash('sha256').update(readFileSync(onHost('large.bin')));
    expect(received.digest('hex')).toBe(hash.digest('hex'));
    rmSync(onHost('large.bin'));
  });

  it('of which the connection is cut are not there, and leave no part behind', async () => {
    const folder = onHost('cut');
    const body = upstream(`${UPLOAD}?path=${worker.workingDir}/cut/file.bin`);
    await body.write(Buffer.alloc(8 * MIB));
    await until(() => existsSync(folder) && readdirSync(folder).length === 1);
    body.cut();
    await until(() => readdirSync(folder).length === 0);
  });

  it('are refused with the messages of genuine servers', async () => {
    const { workingDir } = worker;
    // A pipe would never end.
    await post('/api/bash/execute_bash_command', { command: 'mkfifo pipe' });
    for (const [file, status, detail] of [
      ['a.txt', 400, 'Path must be absolute'],
      [`${workingDir}/zzz`, 404, 'File not found'],
      [workingDir, 400, 'Path is not a file'],
      [`${workingDir}/pipe`, 400, 'Path is not a file'],
    ]) {
      expect(await get(`${DOWNLOAD}?path=${file}`)).toEqual({ status, body: { detail } });
    }
    expect((await get(DOWNLOAD)).status).toBe(422);
    const uploads = [
      upload(workingDir, 'x'),
      upload('up.txt', 'x'),
      upload(`${workingDir}/x`, 'x', 'other'),
    ];
    expect(await Promise.all(uploads)).toEqual([400, 400, 422]);
  });

  it('are neither read nor written with a wrong key of the same length', async () => {
    writeFileSync(onHost('secret.txt'), 'secret');
    const file = `${worker.workingDir}/secret.txt`;
    const headers = { 'X-Session-API-Key': KEY.replace(/.$/, '#') };
    const refused = { status: 401, body: { detail: 'Unauthorized' } };
    for (const [method, route] of [
      ['GET', `${DOWNLOAD}?path=${file}`],
      ['GET', `${DOWNLOAD}/${file}`],
      ['POST', `${UPLOAD}?path=${file}`],
      ['POST', `${UPLOAD}/${file}`],
      ['GET', '/api/file/home'],
      ['GET', `/api/file/archive?path=${worker.workingDir}`],
      ['GET', `/api/file/download-trajectory/${ID}`],
      ['GET', `/api/git/changes/${worker.workingDir}`],
      ['GET', `/api/git/diff/${worker.workingDir}`],
    ] as const) {
      expect([route, await worker.call(method, route, undefined, headers)]).toMatchObject([
        route,
        refused,
      ]);
    }
  });

  it('have a route that returns the home folder', async () => {
    const home = worker.spec === 'process' ? process.env['HOME'] : '/home/agent';
    expect((await get('/api/file/home')).body).toMatchObject({ home });
  });
});

/** Sends the path as it is: `fetch` removes the segments `..` before it sends. */
async function getText(route: string, headers: object = {}) {
  const where = { host: '127.0.0.1', port: worker.port, path: route };
  const outgoing = request({ ...where, headers: { 'X-Session-API-Key': KEY, ...headers } }).end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return textOf(answer);
}

/** The same request in the query form. */
const byQuery = (route: string, file: string) =>
  getText(`${route}?path=${encodeURIComponent(file)}`);

const inRepository = (file: string): string => `${worker.workingDir}/repository${file}`;

/** As openhands-sdk sends it: the absolute path behind the slash of the route. */
const encoded = (file: string): string => file.split('/').map(encodeURIComponent).join('/');

/** Of agent server 1.11.4, beside the query form: `/api/file/…/{path}` and `/api/git/…/{path}`. */
describe('the path form', () => {
  const changed = 'folder/ü 100% a+b.txt';

  beforeAll(() => {
    mkdirSync(onHost('repository/folder'), { recursive: true });
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
    execFileSync('git', ['init', '-q', onHost('repository')], { env });
    writeFileSync(path.join(onHost('repository'), changed), 'new\n');
    writeFileSync(onHost('near.txt'), 'near');
  });

  it.each(['/', '%2F'])(
    'with %s before an absolute path uploads and downloads files',
    async (slash) => {
      const rest = `${worker.workingDir.slice(1)}/by%20path/${encodeURIComponent('ü 100% %41 a+b?#')}.bin`;
      const answer = { status: 200, body: `by path ${slash}` };
      const sent = upstream(`${UPLOAD}/${slash}${rest}`);
      await sent.write(answer.body);
      expect(await sent.end()).toEqual({ status: 200, body: '{"success":true}' });
      expect(await getText(`${DOWNLOAD}/${slash}${rest}`)).toEqual(answer);
      expect(await byQuery(DOWNLOAD, `${worker.workingDir}/by path/ü 100% %41 a+b?#.bin`)).toEqual(
        answer,
      );
      expect((await worker.call('PUT', `${DOWNLOAD}/${slash}${rest}`)).status).toBe(405);
    },
  );

  it('with a relative path, no path or a malformed path is refused as the query form', async () => {
    const malformed = ['/\0', '/%', `${worker.workingDir}/\ud83d`.slice(0, -1)];
    for (const file of ['a.txt', '/no/such', worker.workingDir, ...malformed]) {
      const answer = await getText(`${DOWNLOAD}/${encoded(file)}`);
      expect([file, answer]).toEqual([file, await byQuery(DOWNLOAD, file)]);
      expect(String(answer.status)).toMatch(/^4/);
    }
    expect((await getText(`${DOWNLOAD}/`)).status).toBe(307);
    expect((await getText(`${DOWNLOAD}//%zz`)).status).toBe(404);
  });

  it('with .. names the files of the query form', async () => {
    const near = `${worker.workingDir}/repository/../near.txt`;
    expect(await byQuery(DOWNLOAD, near)).toEqual({ status: 200, body: 'near' });
    // A file of the service beside the workspace: visible only where the sandbox is not isolated,
    // in both forms.
    writeFileSync(path.join(worker.place.dir, 'beside.txt'), 'beside');
    const outside = ['/../beside.txt', '/../../beside.txt'].map((up) => worker.workingDir + up);
    for (const file of [near, ...outside]) {
      const expected = await byQuery(DOWNLOAD, file);
      if (file !== near && worker.spec === 'bubblewrap') expect(expected.status).toBe(404);
      for (const form of [file, file.replaceAll('..', '%2e%2e'), file.replaceAll('/..', '%2F..')]) {
        expect([form, await getText(`${DOWNLOAD}/${form}`)]).toEqual([form, expected]);
      }
    }
  });

  it.each(['..', '%2e%2e', '..%2F..'])(
    'without the key reads no file by %s behind a route without one',
    async (up) => {
      const route = `/alive/${up}${DOWNLOAD}/${worker.workingDir}/near.txt`;
      const { status, body } = await getText(route, { 'X-Session-API-Key': '' });
      expect([[401, 404].includes(status), body.includes('near')]).toEqual([true, false]);
    },
  );

  it.each(['/', '%2F'])(
    'with %s before an absolute path returns changes and a diff',
    async (slash) => {
      const changes = await getText(`/api/git/changes/${slash}${inRepository('').slice(1)}`);
      expect(changes).toEqual(await byQuery('/api/git/changes', inRepository('')));
      expect(JSON.parse(changes.body)).toEqual([{ status: 'ADDED', path: changed }]);
      const diff = await getText(
        `/api/git/diff/${slash}${encoded(inRepository(`/${changed}`)).slice(1)}`,
      );
      expect(diff).toEqual(await byQuery('/api/git/diff', inRepository(`/${changed}`)));
      expect(JSON.parse(diff.body)).toEqual({ modified: 'new', original: '' });
    },
  );

  it.each(['/api/git/changes', '/api/git/diff'])(
    '%s with .., a relative path or no repository answers as the query form',
    async (route) => {
      const files = ['/folder/../../repository', '/../..', `/folder/../${changed}`].map(
        inRepository,
      );
      for (const file of [...files, 'repository', 'y/../x', '/proc', '/no/such']) {
        const expected = await byQuery(route, file);
        for (const form of [encoded(file), encodeURIComponent(file).replaceAll('..', '%2e%2e')]) {
          expect([form, await getText(`${route}/${form}`)]).toEqual([form, expected]);
        }
      }
      // Above the root of the path: literal segments are resolved with the route, which is then
      // another one.
      const above = inRepository('/../../../../../..');
      expect((await getText(`${route}/${above}`)).status).toBe(404);
      expect(await getText(`${route}/${encodeURIComponent(above)}`)).toEqual(
        await byQuery(route, above),
      );
    },
  );
});
