import { describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/bulk.ts';
import { json, useSecrets, VALUE } from './support.ts';

describe.each(['v1', 'v0', 'both'] as const)('over %s', (api) => {
  const at = useSecrets(api);
  const { secret, fromStdin, all } = at;

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
    const many = await at.world.invoke({
      args: ['secret', 'delete', '-', '-y', '--json'],
      stdin: 'ONE\nTWO NOT_THERE\n',
    });
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
