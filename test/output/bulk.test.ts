import { describe, expect, test } from 'vitest';
import { capture } from './capture.ts';

describe('a bulk command', () => {
  const items = [
    { id: 'aaaaaaaaaa', ok: true, changed: true, before: 'running', after: 'paused', error: null },
    {
      id: 'bbbbbbbbbb',
      ok: false,
      changed: false,
      before: 'error',
      after: null,
      error: { code: 'conflict', message: 'busy' },
    },
  ];

  test('prints a document with counts, rows, or the ids of the changed records', async () => {
    const json = capture({ format: 'json' });
    await json.emitter.bulk({ items, matched: 2, failed: 1 });
    expect(JSON.parse(json.out())).toEqual({ items, matched: 2, failed: 1 });
    const tsv = capture();
    await tsv.emitter.bulk({ items, matched: 2, failed: 1 });
    expect(tsv.out()).toBe(
      'aaaaaaaaaa\ttrue\ttrue\trunning\tpaused\t\t\nbbbbbbbbbb\tfalse\tfalse\terror\t\tconflict: busy\t\n',
    );
    const id = capture({ format: 'id' });
    await id.emitter.bulk({ items, matched: 2, failed: 1 });
    expect(id.out()).toBe('aaaaaaaaaa\n');
    const table = capture({}, 80);
    await table.emitter.bulk({ items, matched: 2, failed: 1 });
    expect(table.out()).toBe(
      'ID        OK   CHANGED  BEFORE   AFTER   ERROR\n' +
        'aaaaaaaa  yes  yes      running  paused\n' +
        'bbbbbbbb  no   no       error            conflict: busy\n',
    );
  });

  test('that matched nothing prints a notice on a terminal', async () => {
    const { emitter, out, err } = capture({}, 80);
    await emitter.bulk({ items: [], matched: 0, failed: 0 });
    expect([out(), err()]).toEqual(['', 'nothing matched\n']);
  });
});
