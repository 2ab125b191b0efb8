/** Deletions that a server carries out differently from what was asked, or whose answer is lost. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Reply } from '../servers/support/fake-server.ts';
import type { LooseOptions } from '../servers/support/loose-server.ts';
import { looseTrap, type LooseTrap } from './support/trap.ts';

let trap: LooseTrap;
afterEach(() => trap.close());

const V1_ROUTE = 'DELETE /api/v1/app-conversations/:id';
const ONLY_V0_ROUTE = { v0: true, lacks: [V1_ROUTE] } as const;
const json = <T = Record<string, unknown>>({ out }: { out: string }): T => JSON.parse(out) as T;

async function started(sandbox?: string): Promise<{ id: string; sandbox: string }> {
  const flags = sandbox === undefined ? [] : ['--sandbox', sandbox];
  const ended = await trap.acs('conv', 'new', 'hello', '--no-repo', '--wait', '--json', ...flags);
  expect(ended.code, ended.err).toBe(0);
  const { id, sandbox_id } = json<{ id: string; sandbox_id: string }>(ended);
  return { id, sandbox: sandbox_id };
}

/** One conversation in each of its ids, all in one sandbox. */
async function sharing(count: number, options: LooseOptions): Promise<{ ids: string[]; sandbox: string }> {
  trap = await looseTrap(options);
  const { id, sandbox } = await started();
  const ids = [id];
  while (ids.length < count) ids.push((await started(sandbox)).id);
  return { ids, sandbox };
}

const deletions = (route: string): string[] => trap.fake.lines().filter((line) => line.startsWith(`DELETE ${route}`));

describe('conv delete where the server has the route of V1', () => {
  it('deletes the conversation alone, and the sandbox too with --with-sandbox', async () => {
    const { ids, sandbox } = await sharing(2, {});
    const [first = '', second = ''] = ids;
    expect(await trap.acs('conv', 'delete', first, '-y')).toMatchObject({ code: 0 });
    expect([trap.conversations.has(second), trap.sandboxes.has(sandbox)]).toEqual([true, true]);
    expect(await trap.acs('conv', 'delete', second, '--with-sandbox', '-y')).toMatchObject({ code: 0 });
    expect([trap.conversations.size, trap.sandboxes.size]).toEqual([0, 0]);
  });

  it('shows both requests of --with-sandbox in a dry run', async () => {
    const { ids, sandbox } = await sharing(1, {});
    const dry = await trap.acs('conv', 'delete', ids[0] ?? '', '--with-sandbox', '--dry-run', '--json');
    expect(dry.code, dry.err).toBe(0);
    expect(json<{ requests: { method: string; url: string }[] }>(dry).requests).toMatchObject([
      { method: 'DELETE', url: `${trap.url}/api/v1/app-conversations/${ids[0]}` },
      { method: 'DELETE', url: `${trap.url}/api/v1/sandboxes/${sandbox}?sandbox_id=${sandbox}` },
    ]);
    expect(deletions('/api/')).toEqual([]);
  });
});

it.each([
  ['V1', {}],
  ['V0', ONLY_V0_ROUTE],
])('conv delete exits 9 when a server accepts it over %s and keeps the conversation', async (_, options) => {
  const { ids } = await sharing(1, { ...options, ignores: ['delete'] });
  const { code, err } = await trap.acs('conv', 'delete', ids[0] ?? '', '-y');
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
    const { ids, sandbox } = await sharing(1, {});
    const [id = ''] = ids;
    trap.before = ({ method, path }) => (method === 'DELETE' && path.includes('/sandboxes/') ? reply : null);
    const ended = await trap.acs('conv', 'delete', id, '--with-sandbox', '-y', '--json');
    expect([ended.code, ended.out, trap.conversations.size], ended.err).toEqual([code, '', 0]);
    const { error } = JSON.parse(ended.err.trim().split('\n').at(-1) ?? '') as { error: Record<string, unknown> };
    expect(error).toMatchObject({ sandbox_id: sandbox, retryable: false });
    expect(error['message']).toContain(`conversation ${id} was deleted, but its sandbox was not: `);
    expect(error['hint']).toContain(`acs sandbox delete ${sandbox}`);
  });
});
