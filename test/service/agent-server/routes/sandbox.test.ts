/** The path forms of agent server 1.11.4, beside the query forms: `/api/file/…/{path}` and `/api/git/…/{path}`. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KEY, type OwnWorker, startOwnWorker } from '../support/worker.ts';

let worker: OwnWorker;

beforeAll(async () => {
  worker = await startOwnWorker();
  const repository = path.join(worker.place.workspace, 'repository');
  mkdirSync(path.join(repository, 'folder'), { recursive: true });
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  execFileSync('git', ['init', '-q', repository], { env });
  writeFileSync(path.join(repository, 'folder', 'ü 100% a+b.txt'), 'new\n');
});

afterAll(() => worker.close());

/** Sends the path as it is: `fetch` removes the segments `..` before it sends. */
async function call(
  method: string,
  route: string,
  { body, headers }: { body?: FormData; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: string }> {
  const form = body === undefined ? null : new Response(body);
  const bytes = form === null ? null : Buffer.from(await form.arrayBuffer());
  const type = form?.headers.get('content-type');
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: worker.port,
        method,
        path: route,
        headers: { 'X-Session-API-Key': KEY, ...(type == null ? {} : { 'Content-Type': type }), ...headers },
      },
      (answer) => {
        buffer(answer).then((data) => resolve({ status: answer.statusCode ?? 0, body: data.toString('utf8') }), reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(bytes);
  });
}

const get = (route: string) => call('GET', route);

/** The same request in the query form. */
const byQuery = (route: string, file: string) => get(`${route}?path=${encodeURIComponent(file)}`);

const inRepository = (file: string): string => `${worker.workingDir}/repository${file}`;

/** As openhands-sdk sends it: the absolute path behind the slash of the route. */
const encoded = (file: string): string => file.split('/').map(encodeURIComponent).join('/');

describe('files', () => {
  it.each(['/', '%2F'])(
    'are uploaded and downloaded by the path form with %s before an absolute path',
    async (slash) => {
      const rest = `${worker.workingDir.slice(1)}/by%20path/${encodeURIComponent('ü 100% %41 a+b?#')}.bin`;
      const form = new FormData();
      form.set('file', new Blob([`by path ${slash}`]), 'x.bin');
      const sent = await call('POST', `/api/file/upload/${slash}${rest}`, { body: form });
      expect(sent).toEqual({ status: 200, body: '{"success":true}' });
      expect(await get(`/api/file/download/${slash}${rest}`)).toEqual({ status: 200, body: `by path ${slash}` });
      const name = `${worker.workingDir}/by path/ü 100% %41 a+b?#.bin`;
      expect(await byQuery('/api/file/download', name)).toEqual({ status: 200, body: `by path ${slash}` });
      expect((await call('PUT', `/api/file/download/${slash}${rest}`)).status).toBe(405);
    },
  );

  it('with a relative path, no path or a malformed path are refused as in the query form', async () => {
    const route = '/api/file/download';
    for (const file of [
      'a.txt',
      '/no/such',
      worker.workingDir,
      '/\0',
      '/%',
      `${worker.workingDir}/\ud83d`.slice(0, -1),
    ]) {
      const answer = await get(`${route}/${encoded(file)}`);
      expect([file, answer]).toEqual([file, await byQuery(route, file)]);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
    expect((await get(`${route}/`)).status).toBe(307);
    expect((await get(`${route}//%zz`)).status).toBe(404);
  });

  it('named with .. are those of the query form', async () => {
    writeFileSync(path.join(worker.place.workspace, 'near.txt'), 'near');
    const route = '/api/file/download';
    const near = `${worker.workingDir}/repository/../near.txt`;
    for (const form of [near, near.replace('..', '%2e%2e'), near.replace('/..', '%2F..')]) {
      expect([form, await get(`${route}/${form}`)]).toEqual([form, { status: 200, body: 'near' }]);
    }
    // A file of the service beside the workspace: visible only where the sandbox is not isolated, in both forms.
    writeFileSync(path.join(worker.place.dir, 'beside.txt'), 'beside');
    for (const outside of [`${worker.workingDir}/../beside.txt`, `${worker.workingDir}/../../beside.txt`]) {
      const expected = await byQuery(route, outside);
      if (worker.spec === 'bubblewrap') expect(expected.status).toBe(404);
      for (const form of [outside, outside.replaceAll('..', '%2e%2e'), outside.replaceAll('/..', '%2F..')]) {
        expect([form, await get(`${route}/${form}`)]).toEqual([form, expected]);
      }
    }
  });

  it('are not reached without the key through .. behind a route that needs none', async () => {
    writeFileSync(path.join(worker.place.workspace, 'near.txt'), 'near');
    const headers = { 'X-Session-API-Key': '' };
    for (const up of ['..', '%2e%2e', '..%2F..']) {
      const route = `/alive/${up}/api/file/download/${worker.workingDir}/near.txt`;
      const { status, body } = await call('GET', route, { headers });
      expect([route, [401, 404].includes(status), body.includes('near')]).toEqual([route, true, false]);
    }
  });
});

describe('git', () => {
  const changed = 'folder/ü 100% a+b.txt';

  it.each(['/', '%2F'])('changes and diff have a path form with %s before an absolute path', async (slash) => {
    const changes = await get(`/api/git/changes/${slash}${inRepository('').slice(1)}`);
    expect(changes).toEqual(await byQuery('/api/git/changes', inRepository('')));
    expect(JSON.parse(changes.body)).toEqual([{ status: 'ADDED', path: changed }]);
    const diff = await get(`/api/git/diff/${slash}${encoded(inRepository(`/${changed}`)).slice(1)}`);
    expect(diff).toEqual(await byQuery('/api/git/diff', inRepository(`/${changed}`)));
    expect(JSON.parse(diff.body)).toEqual({ modified: 'new', original: '' });
  });

  it('a path with .., a relative path and a path outside of a repository are answered as in the query form', async () => {
    const files = ['/folder/../../repository', '/../..'].map(inRepository);
    for (const route of ['/api/git/changes', '/api/git/diff']) {
      for (const file of [
        ...files,
        inRepository(`/folder/../${changed}`),
        'repository',
        'y/../x',
        '/proc',
        '/no/such',
      ]) {
        const expected = await byQuery(route, file);
        for (const form of [encoded(file), encodeURIComponent(file).replaceAll('..', '%2e%2e')]) {
          expect([route, form, await get(`${route}/${form}`)]).toEqual([route, form, expected]);
        }
      }
      // Above the root of the path: literal segments are resolved with the route, which is then another one.
      const above = inRepository('/../../../../../..');
      expect((await get(`${route}/${above}`)).status).toBe(404);
      expect(await get(`${route}/${encodeURIComponent(above)}`)).toEqual(await byQuery(route, above));
    }
  });

  it('are refused with a wrong key in the path form', async () => {
    const headers = { 'X-Session-API-Key': KEY.replace(/.$/, '#') };
    for (const route of ['changes', 'diff']) {
      expect((await call('GET', `/api/git/${route}/${inRepository('')}`, { headers })).status).toBe(401);
    }
  });
});
