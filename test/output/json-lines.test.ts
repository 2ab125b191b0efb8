/** Lines that are encoded together have the bytes of lines that are encoded one by one. */
import { expect, it } from 'vitest';
import { jsonLine, jsonLines } from '../../src/output/json.ts';

const RECORDS: Record<string, unknown>[] = [
  { id: '1', text: 'plain', payload: { a: [1, null, 'b'] } },
  { id: '2', text: 'more follows …', payload: { kind: 'x'.repeat(3_000) } },
  { id: '3', text: 'Grüße, 你好, 👍', payload: { text: 'naïve 日本 🎉' } },
  { id: '4', text: 'no object at the end' },
  { id: '5', payload: null },
  { payload: { only: true } },
  { ['__proto__']: 'a name', payload: [1, 2] },
  { 7: 'a figure', payload: { 'a"b': '\\' } },
  {},
];

const UNSAFE = ['\x7f', '\x9b31m', '\u2028', '\u202egpj.exe', '\u{e0041}', '\ud800', '\x1b[2J\n'];

it('lines of ordinary text are those of each record', () => {
  expect(Buffer.from(jsonLines(RECORDS)).toString()).toBe(RECORDS.map(jsonLine).join(''));
  expect(jsonLines([])).toHaveLength(0);
});

it.each(UNSAFE)('%j is escaped in any member of any line', (unsafe) => {
  const places = [{ text: unsafe }, { text: '…', payload: { inner: unsafe } }, { text: 'a', payload: { [unsafe]: 1 } }];
  for (const place of places) {
    const records = [...RECORDS, place, ...RECORDS];
    const lines = Buffer.from(jsonLines(records)).toString();
    expect(lines).toBe(records.map(jsonLine).join(''));
    expect(lines).not.toContain(unsafe);
  }
});
