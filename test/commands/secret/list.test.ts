import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';

const VALUE = 'value-of-a-secret-4711';

function json<T>({ out }: Ended): T {
  return JSON.parse(out) as T;
}

describe.each(['v1', 'v0', 'both'] as const)('over %s', (api) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api, spec: 'process' });
  });
  afterAll(() => world.close());

  const secret = (...args: string[]): Promise<Ended> => world.acs('secret', ...args);
  const fromStdin = (name: string, value: string, ...flags: string[]) =>
    world.invoke({ args: ['secret', 'set', name, '-', ...flags], stdin: value });

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
