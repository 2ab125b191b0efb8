import { describe, expect, it } from 'vitest';
import { json, useSecrets, VALUE } from './support.ts';

describe.each(['v1', 'v0', 'both'] as const)('over %s', (api) => {
  const { secret, fromStdin } = useSecrets(api);

  it('prints an empty list without secrets', async () => {
    expect(json(await secret('list', '--json'))).toEqual({ items: [], has_more: false });
  });

  it('prints at most --limit items', async () => {
    for (const name of ['LIST_A', 'LIST_B', 'LIST_C']) await fromStdin(name, VALUE);
    const two = await secret('list', '-L', '2', '--json');
    expect(json(two)).toMatchObject({ items: [{}, {}], has_more: true });
    const ids = (await secret('list', '--all-pages', '-q')).out.trim().split('\n');
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids).toEqual(expect.arrayContaining(['LIST_A', 'LIST_B', 'LIST_C']));
  });
});
