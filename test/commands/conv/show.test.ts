import { describe, expect, it } from 'vitest';
import { useFirstRun } from './conv-world.ts';
import { endedRun, startHeldRun } from './support.ts';

const at = useFirstRun();
const { conv, show } = at;

describe('conv show', () => {
  it('prints key and value rows on a terminal', async () => {
    const { out } = await at.world.invoke({ args: ['conv', 'show', at.first, '--no-color'], columns: 100 });
    expect(out).toContain(`id                ${at.first}\n`);
    expect(out).toContain('status            finished\n');
  });

  it('--exit-status exits with the code of the status', async () => {
    expect((await conv('show', at.first, '--exit-status')).code).toBe(0);
    const held = await startHeldRun(at.world);
    expect((await conv('show', held.id, '--exit-status')).code).toBe(6);
    expect((await conv('show', held.id)).code).toBe(0);
    await held.release();
    await conv('wait', held.id);
  });

  it('reports a finished run as finished when its sandbox is paused', async () => {
    const id = await endedRun(at.world);
    await at.world.acs('sandbox', 'pause', (await show(id)).sandbox_id ?? '');
    expect(await show(id)).toMatchObject({ status: 'finished', sandbox_status: 'paused' });
    expect((await conv('wait', id)).code).toBe(0);
  });
});
