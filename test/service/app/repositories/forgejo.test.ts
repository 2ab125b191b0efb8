import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { gitHostOfEachTest } from '../git-host.ts';
import { appOfEachTest } from '../support.ts';

const app = appOfEachTest();
const host = gitHostOfEachTest(app);

describe('a Forgejo host that is named with its token', () => {
  it('checks the token, and a wrong one is not stored', async () => {
    expect(await host.store('v1', 'wrong')).toMatchObject({
      status: 401,
      body: { detail: 'Invalid token. Please make sure it is a valid forgejo token.' },
    });
    expect(await host.store('v0', 'wrong')).toMatchObject({
      status: 401,
      body: { error: 'Invalid token. Please make sure it is a valid forgejo token.' },
    });
    expect((await host.store('v1')).status).toBe(200);
  });

  it('refuses an unknown repository over V0', async () => {
    await host.store('v0');
    const body = { repository: 'demo/none', git_provider: 'forgejo', replay_json: 'demo' };
    expect(await app.call('POST', '/api/conversations', body)).toMatchObject({
      status: 401,
      body: 'Unable to access repo demo/none',
    });
  });

  it('is answered with 502 when it does not answer', async () => {
    await host.store('v1');
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
      expect((await host.store('v1', undefined, `http://127.0.0.1:${port}`)).status).toBe(200);
      expect((await app.call('GET', '/api/v1/git/repositories/search?provider=forgejo')).status).toBe(502);
    } finally {
      odd.close();
    }
  });

  it('is answered with 502 when its address is not valid, and the token is stored', async () => {
    expect((await host.store('v1', undefined, 'http://a host')).status).toBe(200);
    expect((await app.call('GET', '/api/v1/git/suggested-tasks/search')).status).toBe(502);
  });
});
