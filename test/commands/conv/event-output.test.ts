/**
 * The bytes of `conv events` in each format, for events that need escaping, redaction and the removal of duplicates; how
 * many writes they take; and that no line is held back while the next page is awaited. `vitest run … --update` takes a
 * change of the bytes over.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Asked, Reply } from '../../servers/support/fake-server.ts';
import { ID, KEY, SANDBOX_KEY, userMessage } from '../../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';

type Event = Record<string, unknown>;

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished' });
});
afterEach(() => trap.close());

const ids = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => `00000000-0000-4000-8000-00000000000${letter}`);
const [a = '', b = '', c = '', d = '', e = '', f = ''] = ids;

const escapes: Event = {
  id: a,
  timestamp: '2026-11-21T10:00:00.123456',
  source: 'user',
  kind: 'MessageEvent',
  llm_message: {
    role: 'user',
    content: [
      { type: 'text', text: 'tab\there, back\\slash, "quotes", bell \u0007, escape \u001b[2J\r\nsecond line' },
      { type: 'text', text: 'C1 \u009b31m, delete \u007f, bidi \u202egpj.exe\u2066, joiner a\u200db, tag \u{e0041}' },
    ],
  },
  surrogate: 'lone \ud800 and paired \u{1f600}',
  scripts: 'é 日本語 👩‍👩‍👧 می‌خواهم',
};
const redactions: Event = {
  id: b,
  timestamp: '2026-11-21T10:00:01Z',
  source: `agent of ${KEY}`,
  kind: 'ActionEvent',
  thought: [{ type: 'text', text: `sandbox ${SANDBOX_KEY}, account ${encodeURIComponent(KEY)}` }],
  action: { kind: 'TerminalAction', command: `git clone https://user:t0ken@host.example/o/r --token ${KEY}` },
  [`name with ${KEY}`]: 'the name is redacted',
  environment: { HOME: '/root', LEVEL: 3, nested: { inner: 'hidden' } },
  tool_call: { arguments: '{"api_key": "abc", "page_token": "kept"}', argv: ['serve', '--api-key', 'value'] },
  usage: { prompt_tokens: 12, total_tokens: 15, cache: null },
};
const shapes: Event = {
  id: c,
  timestamp: '2026-11-21 12:00:02.5+02:00',
  kind: 'ObservationEvent',
  source: 'environment',
  observation: { kind: 'TerminalObservation', content: [{ type: 'text', text: 'one\ntwo' }], exit_code: 2 },
  10: 'number-like names come first',
  deep: [[[{ empty: {}, none: [], nothing: null, yes: true, small: 1e-7, large: 12345678901234567890 }]]],
};
const pages: Record<string, { items: Event[]; next_page_id: string | null }> = {
  '': { items: [escapes, redactions], next_page_id: 'second' },
  second: {
    // The page begins with the last event of the page before, and has noise.
    items: [redactions, shapes, { id: d, kind: 'StreamingDeltaEvent', content: 'part of a text' }],
    next_page_id: 'third',
  },
  third: {
    items: [
      { ...shapes, source: 'a copy of an earlier event' },
      { id: e, timestamp: null, source: null, kind: 'KindOfLater', value: 'x' },
      { id: f, timestamp: 'no time', kind: 'PauseEvent', source: 'user' },
    ],
    next_page_id: null,
  },
};

function servePages({ path, query }: Asked): Reply | null {
  return path.endsWith('/events/search') ? { json: pages[query.get('page_id') ?? ''] } : null;
}

it.each(['tsv', 'json', 'ndjson', 'id'])('conv events --format %s prints these bytes', async (format) => {
  trap.before = servePages;
  const { code, out, err } = await trap.acs('conv', 'events', ID, '--format', format);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  await expect(out).toMatchFileSnapshot(`events/${format}.txt`);
});

it('conv events --format tsv --fields prints these bytes', async () => {
  trap.before = servePages;
  const fields = 'kind,payload,id,timestamp';
  const { code, out } = await trap.acs('conv', 'events', ID, '--format', 'tsv', '--fields', fields);
  expect(code).toBe(0);
  await expect(out).toMatchFileSnapshot('events/tsv-fields.txt');
});
