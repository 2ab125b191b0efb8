import { describe, expect, it } from 'vitest';
import { older, userSays, useV0, V0_ID } from '../../support/use-scripted.ts';

const OLD_V1_ID = '3a8430ff71164a77bfc3d81dfddc83cf';

describe('the list', () => {
  const at = useV0();
  const HIDDEN = 'V0 conversations older than ten days may be missing';

  it('ends with a notice that old conversations are hidden', async () => {
    const out = { items: [{ id: V0_ID }], has_more: false };
    const { err } = await at.ends('conv list --json', { out });
    expect(err.match(new RegExp(HIDDEN, 'g'))).toHaveLength(1);
  });

  it('prints the notice before a change by selector that misses old ones', async () => {
    await at.ends('conv delete --older-than 30d -y --json', { out: { matched: 0 }, err: HIDDEN });
  });

  it('finds an old conversation by its id', async () => {
    at.v0.listed = [];
    userSays(at.v0, 'do it');
    await at.ends(`conv show ${V0_ID}`, { err: '' });
  });

  it('prints no notice without --all-pages', async () => {
    await at.ends('whoami', { err: '' });
  });
});

describe('the list of a server that speaks V1 too', () => {
  const at = useV0();

  it('mixes conversations of V1 in and hides the old of both, of which V1 lists its own', async () => {
    const old = {
      id: OLD_V1_ID,
      title: 'old',
      created_at: '2026-10-01T10:00:00Z',
      updated_at: '2026-10-01T10:00:00Z',
    };
    const record = { ...old, sandbox_status: 'MISSING', execution_status: null };
    at.script({
      '/openapi.json': older.reply('probe.openapi'),
      '/api/v1/web-client/config': older.reply('probe.web-client'),
      '/api/v1/app-conversations/count': { json: 1 },
      '/api/v1/app-conversations/search': { json: { items: [record], next_page_id: null } },
    });
    const { items } = await at.json<{ items: { id: string; dialect: string }[] }>('conv list');
    expect(items.map(({ id, dialect }) => [id, dialect])).toEqual([
      [V0_ID, 'v0'],
      [OLD_V1_ID, 'v1'],
    ]);
  });
});
