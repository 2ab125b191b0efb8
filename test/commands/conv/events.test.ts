import { describe, expect, it } from 'vitest';
import { useFirstRun } from './conv-world.ts';
import { json, jsonLines } from './support.ts';

const at = useFirstRun();
const { conv } = at;

describe('conv events', () => {
  const rows = async (...args: string[]) => (await conv('events', at.first, ...args)).out.trimEnd().split('\n');

  it('prints rows in a pipe, one document with --json, ids with -q', async () => {
    const cells = (await rows()).map((row) => row.split('\t'));
    const { items, has_more } = json<{ items: Record<string, unknown>[]; has_more: boolean }>(
      await conv('events', at.first, '--json'),
    );
    expect(has_more).toBe(false);
    expect(cells.map(([id]) => id)).toEqual(items.map(({ id }) => id));
    expect(cells[1]?.slice(2)).toEqual(['user', 'MessageEvent', 'Show what you can do.']);
    expect(Object.keys(items[0] ?? {})).toEqual([
      'type',
      'id',
      'conversation_id',
      'timestamp',
      'source',
      'kind',
      'text',
      'payload',
    ]);
    expect(await rows('-q')).toEqual(items.map(({ id }) => id));
    expect(jsonLines((await conv('events', at.first, '--format', 'ndjson')).out)).toEqual(items);
  });

  it('prints a table on a terminal', async () => {
    const { out } = await at.world.invoke({ args: ['conv', 'events', at.first, '--no-color'], columns: 90 });
    const [heading, ...lines] = out.trimEnd().split('\n');
    expect(heading?.trimEnd().split(/ {2,}/)).toEqual(['TIMESTAMP', 'SOURCE', 'KIND', 'TEXT']);
    expect(lines.every((line) => line.length <= 90)).toBe(true);
  });

  it('selects the newest, by kind, by source and from a starting point', async () => {
    const all = await rows('-q');
    expect(await rows('-q', '--tail', '2')).toEqual(all.slice(-2));
    expect(json(await conv('events', at.first, '--tail', '0', '--json'))).toEqual({ items: [], has_more: false });
    expect(await rows('-q', '-L', '2')).toEqual(all.slice(0, 2));
    expect(await rows('-q', '--since', all[2] ?? '')).toEqual(all.slice(3));
    expect(await rows('-q', '--since', '1h')).toEqual(all);
    const kinds = (await rows('--kind', 'ActionEvent', '--source', 'agent')).map((row) => row.split('\t')[3]);
    expect(new Set(kinds)).toEqual(new Set(['ActionEvent']));
  });

  it('exits 2 for an unknown source and a negative number, with the values that are accepted', async () => {
    const source = await conv('events', at.first, '--source', 'agnet');
    expect({ code: source.code, err: source.err }).toMatchObject({ code: 2 });
    expect(source.err).toContain('agent, user, environment, hook');
    const tail = await conv('events', at.first, '--tail', '-1');
    expect(tail.code).toBe(2);
    expect(tail.err).toContain('it must be a whole number of at least 0.');
  });

  it('exits 2 for a malformed starting point', async () => {
    expect((await conv('events', at.first, '--since', 'yesterday')).code).toBe(2);
    expect((await conv('events', at.first, '--since', '0'.repeat(32))).code).toBe(5);
  });
});
