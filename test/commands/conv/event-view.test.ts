/**
 * The bytes of `conv events` in each format, for events that need escaping, redaction and the
 * removal of duplicates; how many writes they take; and that no line is held back while the next
 * page is awaited. `vitest run … --update` takes a change of the bytes over.
 */
import { beforeEach, expect, it } from 'vitest';
import type { Asked, Reply } from '../../support/server.ts';
import { ID, KEY, SANDBOX_KEY, userMessage } from '../../client/support/v1-server.ts';
import { useV1 } from '../../support/use-scripted.ts';

type Event = Record<string, unknown>;

const at = useV1();

beforeEach(() => void at.v1.addConversation({ execution_status: 'finished' }));

const ids = ['a', 'b', 'c', 'd', 'e', 'f'].map(
  (letter) => `00000000-0000-4000-8000-00000000000${letter}`,
);
const [a = '', b = '', c = '', d = '', e = '', f = ''] = ids;

const escapes: Event = {
  id: a,
  timestamp: '2026-11-21T10:00:00.123456',
  source: 'user',
  kind: 'MessageEvent',
  llm_message: {
    role: 'user',
    content: [
      {
        type: 'text',
        text: 'tab\there, back\\slash, "quotes", bell \u0007, escape \u001b[2J\r\nsecond line',
      },
      {
        type: 'text',
        text:
          'C1 \u009b31m, delete \u007f, bidi \u202egpj.exe\u2066, joiner a\u200db, tag ' +
          '\u{e0041}',
      },
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
  action: {
    kind: 'TerminalAction',
    command: `git clone https://user:t0ken@host.example/o/r --token ${KEY}`,
  },
  [`name with ${KEY}`]: 'the name is redacted',
  environment: { HOME: '/root', LEVEL: 3, nested: { inner: 'hidden' } },
  tool_call: {
    arguments: '{"api_key": "abc", "page_token": "kept"}',
    argv: ['serve', '--api-key', 'value'],
  },
  usage: { prompt_tokens: 12, total_tokens: 15, cache: null },
};
const shapes: Event = {
  id: c,
  timestamp: '2026-11-21 12:00:02.5+02:00',
  kind: 'ObservationEvent',
  source: 'environment',
  observation: {
    kind: 'TerminalObservation',
    content: [{ type: 'text', text: 'one\ntwo' }],
    exit_code: 2,
  },
  10: 'number-like names come first',
  deep: [
    [[{ empty: {}, none: [], nothing: null, yes: true, small: 1e-7, large: 12345678901234567890 }]],
  ],
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

it.each(['tsv', 'json', 'ndjson', 'id'])(
  'conv events --format %s prints these bytes',
  async (format) => {
    at.v1.before = servePages;
    const { code, out, err } = await at.acs('conv', 'events', ID, '--format', format);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    await expect(out).toMatchFileSnapshot(`events/${format}.txt`);
  },
);

it('conv events --format tsv --fields prints these bytes', async () => {
  at.v1.before = servePages;
  const fields = 'kind,payload,id,timestamp';
  const { code, out } = await at.acs('conv', 'events', ID, '--format', 'tsv', '--fields', fields);
  expect(code).toBe(0);
  await expect(out).toMatchFileSnapshot('events/tsv-fields.txt');
});

/** Pages of 100 events; `reply` gives the answer to the request for one of them, counted from 0. */
function serveMany(
  count: number,
  reply: (page: number, answer: Reply) => Reply | Promise<Reply>,
): void {
  const all = Array.from({ length: count }, (_, index) => userMessage(`message ${index}`));
  at.v1.before = ({ path, query }) => {
    if (!path.endsWith('/events/search')) return null;
    const page = Number(query.get('page_id') ?? 0);
    const next = (page + 1) * 100 < count ? String(page + 1) : null;
    return reply(page, {
      json: { items: all.slice(page * 100, (page + 1) * 100), next_page_id: next },
    });
  };
}

it.each(['tsv', 'ndjson', 'id'])(
  'conv events --format %s takes one write for each page',
  async (format) => {
    serveMany(950, (_page, answer) => answer);
    const writes: string[] = [];
    const args = ['conv', 'events', ID, '--format', format];
    const { code, out } = await at.invoke({ args, onOut: (text) => void writes.push(text) });
    expect(code).toBe(0);
    expect(out.split('\n')).toHaveLength(951);
    expect(writes).toHaveLength(10);
  },
);

it.each(['tsv', 'ndjson', 'id'])(
  'conv events --format %s prints a page before the next one arrives',
  async (format) => {
    let lines = 0;
    let answerRest = (): void => undefined;
    const firstIsOut = new Promise<void>((resolve) => (answerRest = resolve));
    // The second page is answered only when all lines of the first one are out.
    serveMany(150, async (page, answer) => {
      if (page === 1) await firstIsOut;
      return answer;
    });
    const onOut = (text: string): void => {
      lines += text.split('\n').length - 1;
      if (lines === 100) answerRest();
    };
    const { code } = await at.invoke({ args: ['conv', 'events', ID, '--format', format], onOut });
    expect({ code, lines }).toEqual({ code: 0, lines: 150 });
  },
);
