import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clockFrom } from '../../src/clock.ts';
import { connect } from '../../src/servers/connect.ts';
import type { Server } from '../../src/servers/server.ts';
import { findOld } from '../../src/wire/prune.ts';
import { startHeldRun } from '../commands/conv/support.ts';
import { until } from '../support/until.ts';
import { createWorld, type World } from '../support/world.ts';

let world: World;
let server: Server;
beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  server = await connect({
    baseUrl: world.service.url,
    key: world.service.key,
    local: true,
    env: {},
    clock: clockFrom(() => Date.now()),
    signal: new AbortController().signal,
    mode: 'live',
  });
});
afterAll(async () => {
  await server.close();
  await world.close();
});

describe('an old record', () => {
  it('is kept when its run has started since the list was read', async () => {
    const { id, release } = await startHeldRun(world);
    const becomes = (status: string) => until(async () => (await server.conversations.get(id)).status === status);
    await server.conversations.stop(id);
    await becomes('paused');
    const { conversations } = await findOld(server, Date.now() + 3_600_000);
    expect(conversations).toMatchObject([{ id, state: 'paused', isUnfinished: true }]);

    await server.conversations.run(id);
    await becomes('running');
    expect(await conversations[0]?.remove()).toBe('at-work');
    expect(await server.conversations.get(id)).toMatchObject({ status: 'running' });

    await release();
    await becomes('finished');
    for (const _ of ['there', 'gone already']) expect(await conversations[0]?.remove()).toBe('gone');
    await expect(server.conversations.get(id)).rejects.toMatchObject({ kind: 'not-found' });
  });
});
