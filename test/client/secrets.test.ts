/** Secrets and model profiles over the shapes of genuine servers. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Server } from '../../src/client/shared/server.ts';
import { connectTo, failure } from './support/client.ts';
import type { Asked, Reply } from '../support/server.ts';
import { createV1World, type V1World } from './support/v1-server.ts';

let world: V1World;
let server: Server;

async function open(
  release: '1.11.0' | '1.6.0',
  routes: (asked: Asked) => Reply | null,
): Promise<void> {
  world = await createV1World(release);
  world.before = routes;
  server = await connectTo(world.fake.url);
  world.fake.asked.length = 0;
}
afterEach(async () => {
  await server.close();
  await world.close();
});

describe('secrets', () => {
  /** The routes of a V1 server with two secrets on two pages. */
  const twoPages =
    (post: () => Reply) =>
    ({ method, path, query }: Asked): Reply | null => {
      if (path === '/api/v1/secrets/search')
        return query.get('page_id') === null
          ? { json: { items: [{ name: 'TOKEN_A', description: '' }], next_page_id: 'TOKEN_A' } }
          : { json: { items: [{ name: 'TOKEN_B', description: 'old' }], next_page_id: null } };
      if (method === 'DELETE') return { json: { message: 'Secret deleted successfully' } };
      return method === 'POST' ? post() : null;
    };
  const created: Reply = { status: 201, json: { message: 'Secret created successfully' } };
  const writes = (): string[] => world.fake.lines().filter((line) => !line.startsWith('GET'));

  it('are replaced by one request at a V1 server, with the description that is stored', async () => {
    await open(
      '1.11.0',
      twoPages(() => created),
    );
    expect(await server.secrets.set({ name: 'TOKEN_B', value: 'v', description: null })).toEqual({
      name: 'TOKEN_B',
      description: 'old',
      scope: null,
      before: 'present',
    });
    expect(writes()).toEqual(['POST /api/v1/secrets']);
    expect(world.fake.asked.at(-1)?.body).toEqual({
      name: 'TOKEN_B',
      value: 'v',
      description: 'old',
    });
  });

  it('are sent again after a lost answer when the request replaces them', async () => {
    let isLost = false;
    await open(
      '1.11.0',
      twoPages(() => {
        if (isLost) return created;
        isLost = true;
        return { cut: true };
      }),
    );
    await server.secrets.set({ name: 'TOKEN_B', value: 'v', description: null });
    expect(writes()).toEqual(['POST /api/v1/secrets', 'POST /api/v1/secrets']);
  });

  it('are not deleted when a V1 server refuses the new value', async () => {
    await open(
      '1.11.0',
      twoPages(() => ({ status: 400, json: { detail: 'this already exists in no form' } })),
    );
    expect(
      (await failure(server.secrets.set({ name: 'TOKEN_B', value: 'v', description: null }))).kind,
    ).toBe('usage');
    expect(writes()).toEqual(['POST /api/v1/secrets']);
  });

  it('go over V0 at a server that speaks both, whose V1 has no such calls', async () => {
    await open('1.6.0', ({ method, path }) => {
      if (path === '/api/secrets' && method === 'GET')
        return { json: { custom_secrets: [{ name: 'TOKEN_B', description: 'd' }] } };
      if (path === '/api/secrets' && method === 'POST')
        return { status: 201, json: { message: 'created' } };
      return path.startsWith('/api/secrets/') ? { json: { message: 'deleted' } } : null;
    });
    expect(await server.secrets.list(null)).toEqual({
      items: [{ name: 'TOKEN_B', description: 'd', scope: null }],
      next: null,
    });
    expect(
      await server.secrets.set({ name: 'TOKEN_B', value: 'v', description: 'e' }),
    ).toMatchObject({
      before: 'present',
    });
  });

  it('are created once: a lost answer is reported', async () => {
    await open('1.11.0', ({ method, path }) => {
      if (path === '/api/v1/secrets/search') return { json: { items: [], next_page_id: null } };
      return method === 'POST' ? { cut: true } : null;
    });
    const lost = await failure(server.secrets.set({ name: 'A', value: 'v', description: null }));
    expect(lost.kind).toBe('unknown-outcome');
    expect(world.fake.lines().filter((line) => line.startsWith('POST'))).toHaveLength(1);
  });
});

describe('model profiles', () => {
  const ROOT = '/api/v1/settings/profiles';

  it('report why they are not saved', async () => {
    const refusals: Reply[] = [
      { status: 404, json: { detail: 'Settings not found' } },
      { status: 409, json: { detail: 'Profile limit reached' } },
      {
        status: 422,
        json: { detail: [{ type: 'value_error', loc: ['body', 'llm'], msg: 'Value error, bad' }] },
      },
    ];
    await open('1.11.0', ({ method, path }) =>
      method === 'POST' && path.startsWith(ROOT) ? (refusals.shift() ?? null) : null,
    );
    for (const kind of ['config', 'conflict', 'usage'])
      expect((await failure(server.modelProfiles.save('x', null))).kind).toBe(kind);
  });

  it('are unsupported on a server without them', async () => {
    await open('1.6.0', () => null);
    for (const call of [
      server.modelProfiles.list(),
      server.modelProfiles.use('x'),
      server.modelProfiles.remove('x'),
    ])
      expect((await failure(call)).kind).toBe('unsupported');
  });
});
