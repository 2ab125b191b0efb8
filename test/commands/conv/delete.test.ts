import { describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/bulk.ts';
import { useConvWorld } from './conv-world.ts';
import { endedRun, json, startHeldRun } from './support.ts';

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const { conv, show, ended } = useConvWorld({ api, spec: 'process' });

  describe('conv delete', () => {
    it('exits 2 without --yes off a terminal', async () => {
      const id = await ended();
      expect((await conv('delete', id)).code).toBe(2);
      expect((await show(id)).id).toBe(id);
      expect(json(await conv('delete', id, '-y', '--json'))).toMatchObject({ id, changed: true });
      expect((await conv('show', id)).code).toBe(5);
      expect((await conv('delete', id, '-y')).code).toBe(5);
      expect(json(await conv('delete', id, '-y', '--ignore-not-found', '--json'))).toMatchObject({
        changed: false,
        status: 'deleted',
      });
    });

    it('sends nothing in a dry run', async () => {
      const id = await ended();
      const dry = await conv('delete', id, '--dry-run', '--json');
      expect(dry.code).toBe(0);
      expect(json<{ requests: { method: string }[] }>(dry).requests).toMatchObject([{ method: 'DELETE' }]);
      expect((await show(id)).id).toBe(id);
    });

    it('--dry-run --ignore-not-found prints no request for an unknown id', async () => {
      const gone = await conv('delete', 'f'.repeat(32), '--dry-run', '--ignore-not-found', '--json');
      expect({ code: gone.code, out: json(gone) }).toEqual({ code: 0, out: { dry_run: true, requests: [] } });
    });
  });
});

describe('conversation changes', () => {
  const at = useConvWorld({ api: 'v1', spec: 'process' });
  const { conv } = at;

  it('by selector keep runs in progress, unless forced', async () => {
    const done = await endedRun(at.world);
    const busy = await startHeldRun(at.world);
    const spared = await conv('delete', '--all', '-y', '--json');
    expect(spared.code).toBe(1);
    expect(json<BulkResult>(spared)).toMatchObject({ matched: 2, failed: 1 });
    expect((await conv('show', done)).code).toBe(5);
    expect((await conv('show', busy.id)).code).toBe(0);
    expect((await conv('delete', '--all', '-y', '--force')).code).toBe(0);
    expect((await conv('show', busy.id)).code).toBe(5);
  });
});
