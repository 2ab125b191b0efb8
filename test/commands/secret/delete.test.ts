import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/options.ts';
import { createWorld, type Ended, type World } from '../../support/world.ts';

const VALUE = 'value-of-a-secret-4711';

function json<T>({ out }: Ended): T {
  return JSON.parse(out) as T;
}

interface SecretJson {
  name: string;
  description: string | null;
  changed?: boolean;
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
  const all = async () =>
    json<{ items: SecretJson[] }>(await secret('list', '--all-pages', '--json')).items.map(({ name }) => name);

  it('deletes with --yes, and exits 5 the second time', async () => {
    await fromStdin('GONE', VALUE);
    expect((await secret('delete', 'GONE')).code).toBe(2);
    expect(json(await secret('delete', 'GONE', '-y', '--json'))).toMatchObject({ name: 'GONE', changed: true });
    expect((await secret('rm', 'GONE', '-y')).code).toBe(5);
    expect(json(await secret('delete', 'GONE', '-y', '--ignore-not-found', '--json'))).toMatchObject({
      changed: false,
    });
  });

  it('deletes several, and lists those that failed', async () => {
    await fromStdin('ONE', VALUE);
    await fromStdin('TWO', VALUE);
    const many = await world.invoke({ args: ['secret', 'delete', '-', '-y', '--json'], stdin: 'ONE\nTWO NOT_THERE\n' });
    expect(many.code).toBe(1);
    expect(json<BulkResult>(many)).toMatchObject({ matched: 3, failed: 1 });
    expect(await all()).not.toContain('ONE');
  });

  it('--dry-run exits 5 for an unknown name', async () => {
    await fromStdin('DRY', VALUE);
    const known = await secret('delete', 'DRY', '--dry-run', '--json');
    expect(json<{ requests: { method: string }[] }>(known).requests).toMatchObject([{ method: 'DELETE' }]);
    expect((await secret('delete', 'NOT_THERE', '--dry-run')).code).toBe(5);
    const ignored = await secret('delete', 'NOT_THERE', '--ignore-not-found', '--dry-run', '--json');
    expect(json(ignored)).toEqual({ dry_run: true, requests: [] });
    expect(await all()).toContain('DRY');
  });
});
