/** Deletions that a server carries out differently from the request, or whose answer is lost. */
import { describe, expect, it } from 'vitest';
import type { Reply } from '../support/server.ts';
import { useLoose } from '../support/use-scripted.ts';
import { errorOf } from '../support/use-world.ts';

const at = useLoose();

describe('conv delete where the server has the route of V1', () => {
  it('deletes the conversation alone, and the sandbox too with --with-sandbox', async () => {
    const { ids, sandbox } = await at.sharing(2);
    const [first, second = ''] = ids;
    await at.ends(`conv delete ${first} -y`, {});
    expect([at.loose.conversations.has(second), at.loose.sandboxes.has(sandbox)]).toEqual([
      true,
      true,
    ]);
    await at.ends(`conv delete ${second} --with-sandbox -y`, {});
    expect([at.loose.conversations.size, at.loose.sandboxes.size]).toEqual([0, 0]);
  });

  it('prints the first request of --with-sandbox in a dry run', async () => {
    const { id } = await at.start('hello', '--wait');
    const url = `${at.server.url}/api/v1/app-conversations/${id}`;
    const out = { requests: [{ method: 'DELETE', url }] };
    await at.ends(`conv delete ${id} --with-sandbox --dry-run --json`, { out });
    expect(at.deletions('/api/')).toEqual([]);
  });
});

describe('conv delete --with-sandbox names the conversation that was deleted and the sandbox that was not', () => {
  it.each<[string, number, Reply]>([
    ['accepts its deletion and keeps it', 9, { json: { success: true } }],
    ['has no route to delete it', 12, { status: 404, json: { detail: 'Not Found' } }],
    ['does not allow it', 4, { status: 403, json: { detail: 'not yours' } }],
    ['fails', 9, { status: 500, json: { detail: 'Internal Server Error' } }],
  ])('when the server %s', async (_, code, reply) => {
    const { id, sandbox } = await at.start('hello', '--wait');
    at.loose.before = ({ method, path }) =>
      method === 'DELETE' && path.includes('/sandboxes/') ? reply : null;
    const error = errorOf(
      await at.ends(`conv delete ${id} --with-sandbox -y --json`, { code, out: '' }),
    );
    expect(at.loose.conversations.size).toBe(0);
    expect(error).toMatchObject({ sandbox_id: sandbox, retryable: false });
    expect(error.message).toContain(`conversation ${id} was deleted, but its sandbox was not: `);
    expect(error.hint).toContain(`acs sandbox delete ${sandbox}`);
  });
});
