import { describe, expect, it } from 'vitest';
import { eachEvent } from '../../../src/domain/event.ts';
import { connectedV0, ID } from '../support/connected-v0.ts';

const v0 = connectedV0();

describe('a V0 conversation', () => {
  it('has its events read page by page, forwards and backwards', async () => {
    v0.world.events = Array.from({ length: 250 }, (_, id) => ({
      id,
      timestamp: '2026-11-21T10:30:00',
      source: 'agent',
      action: 'run',
      args: { command: `echo ${id}` },
    }));
    const read = async (order: 'oldest-first' | 'newest-first'): Promise<string[]> => {
      const ids: string[] = [];
      for await (const event of eachEvent(v0.server.conversations.eventPages(ID, { order }))) ids.push(event.id);
      return ids;
    };
    const forwards = await read('oldest-first');
    expect([forwards.length, forwards[0], forwards.at(-1)]).toEqual([250, '0', '249']);
    expect(await read('newest-first')).toEqual(forwards.toReversed());
  });
});
