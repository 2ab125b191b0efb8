import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { HttpError } from '../../../../src/service/http/answer.ts';
import {
  connectedForgejo,
  providerAccess,
  providerHostsOf,
  readProviders,
  replaceProviders,
  storeProviders,
} from '../../../../src/service/app/settings/providers.ts';
import { storeOfEachTest } from '../../storage/support.ts';

const db = storeOfEachTest();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function hostThat(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const refused = (text: string): HttpError => new HttpError(401, text);

describe('tokens of git providers', () => {
  it('replace those of before: one that is left out is dropped, an empty one keeps its token and host', () => {
    const { documents } = db.store;
    replaceProviders(documents, {
      github: { token: 'g', host: 'git.example.org', user_id: '1' },
      gitlab: { token: 'l' },
      bitbucket: { token: '' },
    });
    expect(readProviders(documents)).toEqual({
      github: { token: 'g', host: 'git.example.org', user_id: '1' },
      gitlab: { token: 'l', host: null, user_id: null },
    });
    replaceProviders(documents, { github: { token: '' } });
    expect(readProviders(documents)).toEqual({ github: { token: 'g', host: 'git.example.org', user_id: null } });
  });

  it('are not part of what settings show', () => {
    const { documents } = db.store;
    replaceProviders(documents, { github: { token: 'g' }, forgejo: { token: 'f', host: 'git.example.org' } });
    expect(providerHostsOf(documents)).toEqual({ github: null, forgejo: 'git.example.org' });
    expect(providerAccess(documents, 'forgejo')).toEqual({ token: 'f', host: 'git.example.org' });
    expect(providerAccess(documents, 'gitlab')).toEqual({ token: null, host: null });
  });

  it('of an unknown provider are refused at their place, and nothing is stored', async () => {
    for (const name of ['nope', 'constructor']) {
      const storing = storeProviders(db.store.documents, { github: { token: 'g' }, [name]: { token: 'x' } }, refused);
      await expect(storing).rejects.toMatchObject({
        status: 422,
        body: { detail: [{ type: 'enum', loc: ['body', 'provider_tokens', name, '[key]'], input: name }] },
      });
    }
    expect(readProviders(db.store.documents)).toEqual({});
  });
});

describe('a token of a Forgejo host', () => {
  it.each([
    [401, false],
    [403, false],
    [200, true],
    [500, true],
  ])('whose host answers %i is stored: %s', async (status, isStored) => {
    const host = await hostThat((_, answer) => answer.writeHead(status).end('{}'));
    const error = await storeProviders(db.store.documents, { forgejo: { token: 'f', host } }, refused).then(
      () => null,
      (caught: unknown) => caught,
    );
    expect(error === null).toBe(isStored);
    expect(connectedForgejo(db.store.documents) !== null).toBe(isStored);
  });

  it('without a host of the user is stored without a request', async () => {
    await storeProviders(db.store.documents, { forgejo: { token: 'f' } }, refused);
    expect(readProviders(db.store.documents)).toMatchObject({ forgejo: { token: 'f', host: null } });
  });
});
