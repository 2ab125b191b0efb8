/** Deletions that a server carries out differently from the request, or whose answer is lost. */
import { describe, expect, it } from 'vitest';
import type { Reply } from '../servers/support/fake-server.ts';
import { json, useLooseStarts } from './support/loose-starts.ts';

const V1_ROUTE = 'DELETE /api/v1/app-conversations/:id';
const ONLY_V0_ROUTE = { v0: true, lacks: [V1_ROUTE] } as const;
const starts = useLooseStarts();

describe('conv delete where the server has the route of V1', () => {
  it('deletes the conversation alone, and the sandbox too with --with-sandbox', async () => {
    const { ids, sandbox } = await starts.sharing(2, {});
    const [first = '', second = ''] = ids;
    expect(await starts.trap.acs('conv', 'delete', first, '-y')).toMatchObject({ code: 0 });
    expect([starts.trap.conversations.has(second), starts.trap.sandboxes.has(sandbox)]).toEqual([true, true]);
    expect(await starts.trap.acs('conv', 'delete', second, '--with-sandbox', '-y')).toMatchObject({ code: 0 });
    expect([starts.trap.conversations.size, starts.trap.sandboxes.size]).toEqual([0, 0]);
  });

  it('shows both requests of --with-sandbox in a dry run', async () => {
    const { ids, sandbox } = await starts.sharing(1, {});
    const dry = await starts.trap.acs('conv', 'delete', ids[0] ?? '', '--with-sandbox', '--dry-run', '--json');
    expect(dry.code, dry.err).toBe(0);
    expect(json<{ requests: { method: string; url: string }[] }>(dry).requests).toMatchObject([
      { method: 'DELETE', url: `${starts.trap.url}/api/v1/app-conversations/${ids[0]}` },
      { method: 'DELETE', url: `${starts.trap.url}/api/v1/sandboxes/${sandbox}?sandbox_id=${sandbox}` },
    ]);
    expect(starts.deletions('/api/')).toEqual([]);
  });
});

it.each([
  ['V1', {}],
  ['V0', ONLY_V0_ROUTE],
])('conv delete exits 9 when a server accepts it over %s and keeps the conversation', async (_, options) => {
  const { ids } = await starts.sharing(1, { ...options, ignores: ['delete'] });
  const { code, err } = await starts.trap.acs('conv', 'delete', ids[0] ?? '', '-y');
  expect(code).toBe(9);
  expect(err).toContain('was not deleted');
});

describe('conv delete --with-sandbox names the conversation that was deleted and the sandbox that was not', () => {
  it.each<[string, number, Reply]>([
    ['accepts its deletion and keeps it', 9, { json: { success: true } }],
    ['has no route to delete it', 12, { status: 404, json: { detail: 'Not Found' } }],
    ['does not allow it', 4, { status: 403, json: { detail: 'not yours' } }],
    ['fails', 9, { status: 500, json: { detail: 'Internal Server Error' } }],
  ])('when the server %s', async (_, code, reply) => {
    const { ids, sandbox } = await starts.sharing(1, {});
    const [id = ''] = ids;
    starts.trap.before = ({ method, path }) => (method === 'DELETE' && path.includes('/sandboxes/') ? reply : null);
    const ended = await starts.trap.acs('conv', 'delete', id, '--with-sandbox', '-y', '--json');
    expect([ended.code, ended.out, starts.trap.conversations.size], ended.err).toEqual([code, '', 0]);
    const { error } = JSON.parse(ended.err.trim().split('\n').at(-1) ?? '') as { error: Record<string, unknown> };
    expect(error).toMatchObject({ sandbox_id: sandbox, retryable: false });
    expect(error['message']).toContain(`conversation ${id} was deleted, but its sandbox was not: `);
    expect(error['hint']).toContain(`acs sandbox delete ${sandbox}`);
  });
});
