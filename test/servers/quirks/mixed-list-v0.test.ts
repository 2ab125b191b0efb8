import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeTrap, type FakeTrap } from '../../traps/support/trap.ts';
import { createV0Server, older, userSays, V0_ID, type V0Server } from '../../traps/support/v0.ts';
import type { Handler } from '../support/fake-server.ts';

const OLD_V1_ID = '3a8430ff71164a77bfc3d81dfddc83cf';

/** The V0 list of such a server mixes its V1 conversations in, and hides the old of both. */
function createBothServer(): Handler {
  const v0 = createV0Server();
  v0.before = ({ path: route }) => {
    if (route === '/openapi.json') return older.reply('probe.openapi');
    if (route === '/api/v1/web-client/config') return older.reply('probe.web-client');
    if (route === '/api/v1/app-conversations/count') return { json: 1 };
    if (route !== '/api/v1/app-conversations/search') return null;
    const old = { id: OLD_V1_ID, title: 'old', created_at: '2026-10-01T10:00:00Z', updated_at: '2026-10-01T10:00:00Z' };
    return { json: { items: [{ ...old, sandbox_status: 'MISSING', execution_status: null }], next_page_id: null } };
  };
  return v0.handler;
}

let server: V0Server;
let trap: FakeTrap;

beforeEach(async () => {
  server = createV0Server();
  trap = await fakeTrap((asked) => server.handler(asked));
});
afterEach(() => trap.close());

describe('the list', () => {
  const HIDDEN = 'V0 conversations older than ten days may be missing';

  it('ends with a notice that old conversations are hidden', async () => {
    const listed = await trap.acs('conv', 'list', '--json');
    expect(JSON.parse(listed.out)).toMatchObject({ items: [{ id: V0_ID }], has_more: false });
    expect(listed.err.match(new RegExp(HIDDEN, 'g'))).toHaveLength(1);
  });

  it('prints the notice before a change by selector that misses old ones', async () => {
    const { code, out, err } = await trap.acs('conv', 'delete', '--older-than', '30d', '-y', '--json');
    expect({ code, ...(JSON.parse(out) as object) }).toMatchObject({ code: 0, matched: 0 });
    expect(err).toContain(HIDDEN);
  });

  it('finds an old conversation by its id', async () => {
    server.listed = [];
    userSays(server, 'do it');
    expect(await trap.acs('conv', 'show', V0_ID)).toMatchObject({ code: 0, err: '' });
  });

  it('of a server that speaks V1 too has the old conversations of V1, which V1 lists', async () => {
    const both = createBothServer();
    await trap.close();
    trap = await fakeTrap(both);
    const { out } = await trap.acs('conv', 'list', '--json');
    const { items } = JSON.parse(out) as { items: { id: string; dialect: string }[] };
    expect(items.map(({ id, dialect }) => [id, dialect])).toEqual([
      [V0_ID, 'v0'],
      [OLD_V1_ID, 'v1'],
    ]);
  });

  it('prints no notice without --all-pages', async () => {
    expect((await trap.acs('whoami')).err).toBe('');
  });
});
