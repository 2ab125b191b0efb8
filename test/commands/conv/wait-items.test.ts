import { describe, expect, it } from 'vitest';
import { useFirstRun } from './conv-world.ts';
import { errorOf, json, jsonLines, startHeldRun } from './support.ts';

const at = useFirstRun();
const { conv } = at;

describe('conv wait', () => {
  it('prints an item with its error for an id that cannot be read, and exits with the worst code', async () => {
    const unknown = 'f'.repeat(32);
    const ended = await conv('wait', at.first, unknown, '--json');
    expect(ended.code).toBe(5);
    expect(json<{ items: unknown[]; has_more: boolean }>(ended)).toMatchObject({
      items: [
        { type: 'outcome', conversation_id: at.first, status: 'finished', exit_code: 0 },
        { id: unknown, ok: false, error: { code: 'not-found' } },
      ],
      has_more: false,
    });
    expect(errorOf(ended)).toMatchObject({ code: 'not-found' });
    const rows = await conv('wait', unknown, at.first, '--format', 'tsv');
    expect(rows.code).toBe(5);
    const cells = rows.out.split('\n').map((row) => row.split('\t').slice(0, 3));
    expect(cells).toEqual([[unknown, '', '5'], [at.first, 'finished', '0'], ['']]);
    expect(await conv('wait', unknown, at.first, '-q')).toMatchObject({ code: 5, out: `${at.first}\n` });
    const lines = jsonLines((await conv('wait', unknown, 'ffff', at.first, '--format', 'ndjson')).out);
    expect(lines).toMatchObject([{ id: unknown, ok: false }, { id: 'ffff', ok: false }, { conversation_id: at.first }]);
  });

  it('--any prints the first run that ended, and warns about an id that cannot be read', async () => {
    const unknown = 'f'.repeat(32);
    const held = await startHeldRun(at.world);
    const waiting = conv('wait', unknown, held.id, '--any', '--json');
    await held.release();
    const ended = await waiting;
    expect(ended.code).toBe(0);
    expect(json<{ items: unknown[] }>(ended).items).toMatchObject([{ conversation_id: held.id, exit_code: 0 }]);
    expect(ended.err).toContain(unknown);
    const none = await conv('wait', unknown, 'e'.repeat(32), '--any', '--json');
    expect(none.code).toBe(5);
    expect(json<{ items: unknown[] }>(none).items).toMatchObject([{ ok: false }, { ok: false }]);
  });
});
