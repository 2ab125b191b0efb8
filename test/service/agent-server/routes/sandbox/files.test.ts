import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ID, KEY, step } from '../../support/worker.ts';
import { until } from '../../../../support/until.ts';
import { useSharedWorker } from '../../support/shared-worker.ts';

const shared = useSharedWorker([step.finish()]);
const { get, post } = shared;

describe('files', () => {
  const upload = async (target: string, data: Uint8Array<ArrayBuffer>, name = 'file'): Promise<Response> => {
    const form = new FormData();
    form.set(name, new Blob([data]), 'x.bin');
    return fetch(`http://127.0.0.1:${shared.worker.port}/api/file/upload?path=${encodeURIComponent(target)}`, {
      method: 'POST',
      headers: { 'X-Session-API-Key': KEY },
      body: form,
    });
  };

  /** The body of an upload in parts; a write resolves when the connection has taken it. */
  const upstream = (name: string) => {
    const outgoing = request({
      ...{ host: '127.0.0.1', port: shared.worker.port, method: 'POST' },
      path: `/api/file/upload?path=${shared.worker.workingDir}${name}`,
      headers: { 'X-Session-API-Key': KEY, 'Content-Type': 'multipart/form-data; boundary=limit' },
    });
    const answered = new Promise<number>((resolve, reject) => {
      outgoing.on('error', reject);
      outgoing.on('response', (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
    });
    answered.catch(() => undefined);
    const write = async (bytes: Uint8Array | string): Promise<void> => {
      if (!outgoing.write(bytes)) await once(outgoing, 'drain');
    };
    outgoing.write('--limit\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n');
    return {
      write,
      cut: () => outgoing.destroy(),
      end: () => {
        outgoing.end('\r\n--limit--\r\n');
        return answered;
      },
    };
  };

  it('are uploaded and downloaded byte for byte, also large and binary ones', async () => {
    const data = new Uint8Array(3 * 1024 * 1024 + 7).map((_, index) => (index * 31) % 256);
    const target = `${shared.worker.workingDir}/deep/er/ü x.bin`;
    expect(await (await upload(target, data)).json()).toEqual({ success: true });
    expect(readFileSync(path.join(shared.worker.place.workspace, 'deep/er/ü x.bin')).equals(Buffer.from(data))).toBe(
      true,
    );
    const response = await fetch(
      `http://127.0.0.1:${shared.worker.port}/api/file/download?path=${encodeURIComponent(target)}`,
      {
        headers: { 'X-Session-API-Key': KEY },
      },
    );
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(data))).toBe(true);
  });

  it('a file that is replaced during its download arrives as it was, with its length announced', async () => {
    const size = 40 * 1024 * 1024;
    const file = path.join(shared.worker.place.workspace, 'replaced.bin');
    writeFileSync(file, Buffer.alloc(size, 'a'));
    const response = await fetch(
      `http://127.0.0.1:${shared.worker.port}/api/file/download?path=${shared.worker.workingDir}/replaced.bin`,
      { headers: { 'X-Session-API-Key': KEY } },
    );
    expect(response.headers.get('content-length')).toBe(String(size));
    writeFileSync(`${file}.new`, Buffer.alloc(size, 'b'));
    renameSync(`${file}.new`, file);
    const body = Buffer.from(await response.arrayBuffer());
    expect([body.length, body.includes('b')]).toEqual([size, false]);
  });

  it('the connection ends when a file is truncated during its download', async () => {
    const file = path.join(shared.worker.place.workspace, 'truncated.bin');
    writeFileSync(file, Buffer.alloc(40 * 1024 * 1024, 'a'));
    const response = await fetch(
      `http://127.0.0.1:${shared.worker.port}/api/file/download?path=${shared.worker.workingDir}/truncated.bin`,
      { headers: { 'X-Session-API-Key': KEY } },
    );
    truncateSync(file, 1024);
    await expect(response.arrayBuffer()).rejects.toThrow('terminated');
    expect((await get('/api/conversations/count')).status).toBe(200);
  });

  it('may be empty, and keep their mode when they are replaced', async () => {
    writeFileSync(path.join(shared.worker.place.workspace, 'tool'), 'x', { mode: 0o755 });
    expect((await upload(`${shared.worker.workingDir}/tool`, new Uint8Array())).status).toBe(200);
    const found = statSync(path.join(shared.worker.place.workspace, 'tool'));
    expect([found.size, found.mode & 0o777]).toEqual([0, 0o755]);
  });

  it('are written while they are received, whatever their size, and keep the order of their bytes', async () => {
    const piece = Buffer.from(Uint8Array.from({ length: 1024 * 1024 + 1 }, (_, index) => (index * 31) % 256));
    const body = upstream('/large.bin');
    const hash = createHash('sha256');
    for (let count = 0; count < 150; count++) {
      hash.update(piece);
      await body.write(piece);
    }
    expect(await body.end()).toBe(200);
    const file = path.join(shared.worker.place.workspace, 'large.bin');
    expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(hash.digest('hex'));
    rmSync(file);
  });

  it('of which the connection is cut are not there, and leave no part behind', async () => {
    const folder = path.join(shared.worker.place.workspace, 'cut');
    const body = upstream('/cut/file.bin');
    await body.write(Buffer.alloc(8 * 1024 * 1024));
    await until(() => existsSync(folder) && readdirSync(folder).length === 1);
    body.cut();
    await until(() => readdirSync(folder).length === 0);
  });

  it('are refused with the messages of genuine servers', async () => {
    const download = '/api/file/download?path=';
    expect(await get(`${download}a.txt`)).toEqual({ status: 400, body: { detail: 'Path must be absolute' } });
    expect(await get(`${download}${shared.worker.workingDir}/zzz`)).toEqual({
      status: 404,
      body: { detail: 'File not found' },
    });
    expect(await get(`${download}${shared.worker.workingDir}`)).toEqual({
      status: 400,
      body: { detail: 'Path is not a file' },
    });
    expect((await get('/api/file/download')).status).toBe(422);
    expect((await upload(shared.worker.workingDir, new Uint8Array(1))).status).toBe(400);
    expect((await upload('up.txt', new Uint8Array(1))).status).toBe(400);
    expect((await upload(`${shared.worker.workingDir}/x`, new Uint8Array(1), 'other')).status).toBe(422);
  });

  it('are neither read nor written with a wrong key of the same length', async () => {
    writeFileSync(path.join(shared.worker.place.workspace, 'secret.txt'), 'secret');
    const file = `${shared.worker.workingDir}/secret.txt`;
    const headers = { 'X-Session-API-Key': KEY.replace(/.$/, '#') };
    const refused = { status: 401, body: { detail: 'Unauthorized' } };
    for (const [method, route] of [
      ['GET', `/api/file/download?path=${file}`],
      ['GET', `/api/file/download/${file}`],
      ['POST', `/api/file/upload?path=${file}`],
      ['POST', `/api/file/upload/${file}`],
      ['GET', '/api/file/home'],
      ['GET', `/api/file/archive?path=${shared.worker.workingDir}`],
      ['GET', `/api/file/download-trajectory/${ID}`],
    ] as const) {
      expect([route, await shared.worker.call(method, route, undefined, headers)]).toMatchObject([route, refused]);
    }
  });

  it('cannot be a pipe, which would never end', async () => {
    await post('/api/bash/execute_bash_command', { command: 'mkfifo pipe' });
    expect((await get(`/api/file/download?path=${shared.worker.workingDir}/pipe`)).status).toBe(400);
  });

  it('have a route that returns the home folder', async () => {
    expect((await get('/api/file/home')).body).toMatchObject({
      home: shared.worker.spec === 'process' ? process.env['HOME'] : '/home/agent',
    });
  });
});
