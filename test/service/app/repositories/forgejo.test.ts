import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GIT_TOKEN, startGitHost, type GitHost } from '../../../genuine/git-host.ts';
import { createTestApp, type TestApp } from '../support.ts';

let app: TestApp;
let host: GitHost;
beforeEach(async () => {
  app = await createTestApp();
  host = await startGitHost(path.join(app.dir, 'git-host'));
});
afterEach(async () => {
  await host.close();
  await app.close();
});

const V0 = '/api/add-git-providers';
const V1 = '/api/v1/secrets/git-providers';
const store = (at: string, token: string, address = host.url) =>
  app.call('POST', at, { provider_tokens: { forgejo: { token, host: address } } });

describe('a Forgejo host that is named with its token', () => {
  it('checks the token, and a wrong one is not stored', async () => {
    expect(await store(V1, 'wrong')).toMatchObject({
      status: 401,
      body: { detail: 'Invalid token. Please make sure it is a valid forgejo token.' },
    });
    expect(await store(V0, 'wrong')).toMatchObject({
      status: 401,
      body: { error: 'Invalid token. Please make sure it is a valid forgejo token.' },
    });
    expect((await store(V1, GIT_TOKEN)).status).toBe(200);
  });

  it('refuses an unknown repository over V0', async () => {
    await store(V0, GIT_TOKEN);
    const body = { repository: 'demo/none', git_provider: 'forgejo', replay_json: 'demo' };
    expect(await app.call('POST', '/api/conversations', body)).toMatchObject({
      status: 401,
      body: 'Unable to access repo demo/none',
    });
  });

  it('is answered with 502 when it does not answer', async () => {
    await store(V1, GIT_TOKEN);
    await host.close();
    expect(await app.call('GET', '/api/v1/git/repositories/search?provider=forgejo')).toMatchObject({
      status: 502,
      body: { detail: expect.stringContaining('The git provider cannot be read') },
    });
  });

  it.each([
    ['an answer that breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[{"id"'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n'],
    ['no HTTP', 'hello\r\n\r\n'],
  ])('is answered with 502 when it sends %s, and the token is stored', async (_, answer) => {
    const odd = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(answer));
    });
    await once(odd.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = odd.address() as AddressInfo;
      expect((await store(V1, GIT_TOKEN, `http://127.0.0.1:${port}`)).status).toBe(200);
      expect((await app.call('GET', '/api/v1/git/repositories/search?provider=forgejo')).status).toBe(502);
    } finally {
      odd.close();
    }
  });

  it('is answered with 502 when its address is not valid, and the token is stored', async () => {
    expect((await store(V1, GIT_TOKEN, 'http://a host')).status).toBe(200);
    expect((await app.call('GET', '/api/v1/git/suggested-tasks/search')).status).toBe(502);
  });
});
