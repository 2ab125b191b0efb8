import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import { endedRun, json, startHeldRun } from './support.ts';

let world: World;
let first: string;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  first = await endedRun(world, '--title', 'The first', '--id', `aaaa${'1'.repeat(28)}`);
});
afterAll(() => world.close());

const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);
const show = async (word: string) => json(await conv('show', word, '--json'));

describe('conv show', () => {
  it('prints key and value rows on a terminal', async () => {
    const { out } = await world.invoke({ args: ['conv', 'show', first, '--no-color'], columns: 100 });
    expect(out).toContain(`id                ${first}\n`);
    expect(out).toContain('status            finished\n');
  });

  it('--exit-status exits with the code of the status', async () => {
    expect((await conv('show', first, '--exit-status')).code).toBe(0);
    const held = await startHeldRun(world);
    expect((await conv('show', held.id, '--exit-status')).code).toBe(6);
    expect((await conv('show', held.id)).code).toBe(0);
    await held.release();
    await conv('wait', held.id);
  });

  it('reports a finished run as finished when its sandbox is paused', async () => {
    const id = await endedRun(world);
    await world.acs('sandbox', 'pause', (await show(id)).sandbox_id ?? '');
    expect(await show(id)).toMatchObject({ status: 'finished', sandbox_status: 'paused' });
    expect((await conv('wait', id)).code).toBe(0);
  });
});
