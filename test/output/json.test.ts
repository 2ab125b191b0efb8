import { describe, expect, it } from 'vitest';
import { jsonLine } from '../../src/base/text/safe-text.ts';
import { jsonDocument, jsonLines, jsonList } from '../../src/output/json.ts';
import { toEvent } from '../../src/client/agent-server/event-records.ts';
import { readEvent } from '../../src/protocol/v1/records.ts';
import { eventView } from '../../src/commands/conv/event-view.ts';
import { Redaction } from '../../src/client/http/redaction.ts';
import { createSecretKeeper } from '../../src/base/text/redact.ts';
import { capture } from './capture.ts';

function printer() {
  const keeper = createSecretKeeper(['first-secret-1']);
  const redacted: string[] = [];
  const redact = (text: string) => (redacted.push(text), keeper.text(text));
  return {
    keeper,
    redacted,
    ...capture({ format: 'ndjson' }, undefined, { redact, isRedacted: keeper.isRedacted }),
  };
}

describe('redaction', () => {
  it('is applied to each text of a payload once', async () => {
    const { keeper, redacted, emitter, out } = printer();
    const payload = new Redaction(['second-secret-2'], keeper).value({
      a: 'first-secret-1',
      b: ['second-secret-2', 'c'],
    });
    await emitter.record({ id: 'x', payload });
    expect(redacted).toEqual(['x']);
    expect(out()).toBe('{"id":"x","payload":{"a":"<redacted>","b":["<redacted>","c"]}}\n');
  });

  it('hides a secret that is registered after a value was redacted', async () => {
    const { keeper, emitter, out } = printer();
    const redaction = new Redaction([], keeper);
    const payload = redaction.value({ a: 'later-secret-3' });
    keeper.keep('later-secret-3');
    await emitter.record({ payload, next: redaction.value({ b: 'later-secret-3' }) });
    expect(out()).toBe('{"payload":{"a":"<redacted>"},"next":{"b":"<redacted>"}}\n');
  });

  const printedEvent = async (members: Record<string, unknown>, late?: string) => {
    const { keeper, emitter, out, redacted } = printer();
    const record = readEvent({ id: 'e1', kind: 'PauseEvent', source: 'user', ...members });
    const event = toEvent(
      record,
      '0a1b2c3d4e5f60718293a4b5c6d7e8f9',
      new Redaction(['second-secret-2'], keeper),
    );
    if (late !== undefined) keeper.keep(late);
    await emitter.lines(eventView(null), [event]);
    return { out: out(), redacted };
  };

  it('of an event is not repeated at the output, unless a secret was registered since', async () => {
    const { out, redacted } = await printedEvent({ note: 'first-secret-1 and second-secret-2' });
    expect(redacted).toEqual([]);
    expect(out).toContain('"note":"<redacted> and <redacted>"');
    expect((await printedEvent({ note: 'later-secret-3' }, 'later-secret-3')).out).toContain(
      '"note":"<redacted>"',
    );
  });

  it.each([{ id: 'first-secret-1' }, { kind: 'first-secret-1' }, { source: 'first-secret-1' }])(
    'of a secret beside the payload of an event is done at the output: %j',
    async (members) => {
      const { out } = await printedEvent(members);
      expect(out).toContain('<redacted>');
      expect(out).not.toContain('first-secret-1');
    },
  );
});

const RECORDS: Record<string, unknown>[] = [
  { id: '1', text: 'plain', payload: { a: [1, null, 'b'] } },
  { id: '3', text: 'Grüße, 你好, 👍', payload: { text: 'naïve 日本 🎉' } },
  { payload: { only: true } },
  { ['__proto__']: 'a name', payload: [1, 2] },
  { 7: 'a figure', payload: { 'a"b': '\\' } },
  {},
];

it.each([
  'plain',
  '\x7f',
  '\x9b31m',
  '\u2028',
  '\u202egpj.exe',
  '\u{e0041}',
  '\ud800',
  '\x1b[2J\n',
])('lines are those of each record, in which %j is escaped in any member', (unsafe) => {
  const places = [
    { text: unsafe },
    { text: '…', payload: { inner: unsafe } },
    { payload: { [unsafe]: 1 } },
  ];
  for (const place of places) {
    const records = [...RECORDS, place, ...RECORDS];
    const lines = Buffer.from(jsonLines(records)).toString();
    expect(lines).toBe(records.map(jsonLine).join(''));
    expect(lines.includes(unsafe)).toBe(unsafe === 'plain');
  }
});

describe('a JSON list that is encoded record by record', () => {
  const deep = {
    id: 'a',
    payload: { lines: ['one\ntwo', ''], none: {}, empty: [], at: [[1, { x: null }]] },
  };
  it.each<[string, Record<string, unknown>[], Record<string, unknown>]>([
    ['no record', [], { has_more: false }],
    ['one record', [deep], { has_more: false }],
    [
      'several records',
      [deep, {}, { text: 'é 你好 \u009b\u202e\u007f "quoted" \\n' }, deep],
      { has_more: true },
    ],
    ['several members', [deep], { matched: 3, failed: 1, note: 'x\ny' }],
    ['no members', [deep], {}],
    ['nothing at all', [], {}],
  ])('has the same bytes as one document: %s', (_, records, members) => {
    const written = Buffer.from(jsonList(records, members)).toString('utf8');
    expect(written).toBe(jsonDocument({ items: records, ...members }));
  });
});
