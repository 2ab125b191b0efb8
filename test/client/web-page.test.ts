import { describe, expect, it } from 'vitest';
import { connectedV1 } from './support/client.ts';

const v1 = connectedV1();
const ID = 'c'.repeat(32);
const LINK = `/local/conversations/${ID}/page-link`;

/** Connects to a server whose document has these routes besides those of V1. */
async function connect(
  routes: readonly string[],
  features: Record<string, boolean>,
  link: unknown = {},
) {
  const paths = Object.fromEntries(routes.map((route) => [route, { post: {} }]));
  const info = { title: 'acs local service', version: '1.0.0', 'x-features': features };
  v1.on({
    'GET /openapi.json': () => ({
      json: { info, paths: { '/api/v1/app-conversations': { get: {} }, ...paths } },
    }),
    [`POST ${LINK}`]: () => ({ json: link }),
  });
  await v1.reconnect({});
}

const PAGE_LINK = '/local/conversations/{conversation_id}/page-link';

describe('the page of a conversation', () => {
  it('is the link that the server makes, where its document has the route for it', async () => {
    await connect(
      [PAGE_LINK],
      { 'web-interface': false },
      { token: 'abc_DEF-123', expires_in_seconds: 60 },
    );
    const url = `${v1.world.fake.url}/conversations/${ID}?once=abc_DEF-123`;
    expect(await v1.server.conversations.webPage(ID)).toEqual({ url, valid_seconds: 60 });
  });

  it('is that of the web interface of other servers, without a request', async () => {
    v1.world.fake.asked.length = 0;
    const url = `${v1.world.fake.url}/conversations/${ID}`;
    expect(await v1.server.conversations.webPage(ID)).toEqual({ url, valid_seconds: null });
    expect(v1.world.fake.asked).toEqual([]);
  });

  it('is unsupported on a server that has neither, before anything is sent', async () => {
    await connect([], { 'web-interface': false });
    v1.world.fake.asked.length = 0;
    await expect(v1.server.conversations.webPage(ID)).rejects.toMatchObject({
      kind: 'unsupported',
    });
    expect(v1.world.fake.asked).toEqual([]);
  });

  it.each(['a&b=c', 'a#b', 'a b', '../x', '', 7, null])(
    'is not opened when the server answers the token %j',
    async (token) => {
      await connect([PAGE_LINK], { 'web-interface': false }, { token });
      await expect(v1.server.conversations.webPage(ID)).rejects.toMatchObject({ kind: 'server' });
    },
  );
});
