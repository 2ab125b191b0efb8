/** A conversation that servers list again after its deletion: they write back what they had read before. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { AppError } from '../../../src/errors.ts';
import { connectTo, quickClock } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import { createV1World, ID, type V1World } from '../support/v1-world.ts';

const RELEASES = { '1.11.0': `/api/v1/app-conversations/${ID}`, '1.6.0': `/api/conversations/${ID}` } as const;

describe.each(Object.entries(RELEASES))('deletion over V1 of %s', (release, path) => {
  let world: V1World;
  let server: Server;
  /** How often it is written back. */
  let comesBack: number;

  beforeEach(async () => {
    world = await createV1World(release as keyof typeof RELEASES);
    server = await connectTo(world.fake.url);
    comesBack = 0;
    world.addConversation();
    world.before = (asked) => {
      if (asked.method !== 'DELETE' || asked.path !== path) return null;
      const was = world.conversations.get(ID);
      if (comesBack === 0) world.conversations.delete(ID);
      else comesBack -= 1;
      return was === undefined && release === '1.11.0' ? { status: 404, json: {} } : { json: was !== undefined };
    };
    world.fake.asked.length = 0;
  });
  afterEach(async () => {
    await server.close();
    await world.close();
  });

  const deletions = (): number => world.fake.lines().filter((line) => line.startsWith('DELETE ')).length;

  it('reads once when it is gone', async () => {
    await server.conversations.remove(ID);
    expect(deletions()).toBe(1);
    expect((await failure(server.conversations.remove(ID))).kind).toBe('not-found');
  });

  it('deletes it again when it has come back', async () => {
    comesBack = 1;
    await server.conversations.remove(ID);
    expect(deletions()).toBe(2);
    expect(world.conversations.size).toBe(0);
  });

  it('fails after three tries when it stays', async () => {
    comesBack = 100;
    expect((await failure(server.conversations.remove(ID))).kind).toBe('server');
    expect(deletions()).toBe(3);
  });

  it('reports the deletion when a signal comes before the read after it', async () => {
    const stop = new AbortController();
    const clock = quickClock();
    clock.onSleep = () => {
      if (deletions() > 0) stop.abort(new AppError('interrupted', 'interrupted by SIGINT'));
    };
    const stopped = await connectTo(world.fake.url, { signal: stop.signal, clock });
    await stopped.conversations.remove(ID);
    await stopped.close();
    expect([stop.signal.aborted, deletions(), world.conversations.size]).toEqual([true, 1, 0]);
  });

  it('reports the deletion when the read after it fails', async () => {
    const { before } = world;
    world.before = (asked) =>
      asked.path === '/api/v1/app-conversations' && world.conversations.size === 0
        ? { status: 500, json: { detail: 'broken' } }
        : before(asked);
    await server.conversations.remove(ID);
    expect([deletions(), world.conversations.size]).toEqual([1, 0]);
  });
});
