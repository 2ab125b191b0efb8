import { describe, expect, it, test } from 'vitest';
import { createEmitter } from '../../src/output/emit.ts';
import { toEvent } from '../../src/servers/v1/event-records.ts';
import { readEvent } from '../../src/protocol/v1/records.ts';
import { eventView } from '../../src/commands/conv/event-view.ts';
import { createRedaction } from '../../src/servers/transport/redaction.ts';
import { createSecretKeeper } from '../../src/text/secret-keeper.ts';
import { capture, NOW, TASKS, taskView } from './capture.ts';

const PAGE = { has_more: false };

function printer() {
  const keeper = createSecretKeeper(['first-secret']);
  const redacted: string[] = [];
  let out = '';
  const stdout = { write: (chunk: string | Uint8Array) => Promise.resolve(void (out += String(chunk))) };
  const emitter = createEmitter({
    io: { stdout: { ...stdout, isTTY: false, columns: undefined }, stderr: { write: () => Promise.resolve() } },
    globals: { format: 'ndjson' },
    now: () => NOW,
    redact: (text) => (redacted.push(text), keeper.text(text)),
    isRedacted: keeper.isRedacted,
  });
  return { keeper, redacted, emitter, out: () => out };
}

describe('a list on a pipe', () => {
  test('json is one document with complete records and no raw control characters', async () => {
    const { emitter, out } = capture({ format: 'json' });
    await emitter.list(taskView, TASKS, { has_more: true });
    expect(out()).toContain('\\u009b31m \\u202egpj');
    expect(out().endsWith('\n}\n')).toBe(true);
    expect(JSON.parse(out())).toEqual({ items: TASKS.map((task) => ({ ...task, beyond: true })), has_more: true });
  });

  test('an empty json list is still a document', async () => {
    const { emitter, out } = capture({ format: 'json' });
    await emitter.list(taskView, [], PAGE);
    expect(JSON.parse(out())).toEqual({ items: [], has_more: false });
  });

  test('ndjson is one object a line', async () => {
    const { emitter, out } = capture({ format: 'ndjson' });
    await emitter.list(taskView, TASKS, PAGE);
    const lines = out().trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(TASKS.map((task) => ({ ...task, beyond: true })));
  });
});

it('each text of a payload is redacted once', async () => {
  const { keeper, redacted, emitter, out } = printer();
  const payload = createRedaction(['second-secret'], keeper).value({ a: 'first-secret', b: ['second-secret', 'c'] });
  await emitter.record({ id: 'x', payload });
  expect(redacted).toEqual(['x']);
  expect(out()).toBe('{"id":"x","payload":{"a":"<redacted>","b":["<redacted>","c"]}}\n');
});

it('a secret registered after a value was redacted is not printed', async () => {
  const { keeper, emitter, out } = printer();
  const redaction = createRedaction([], keeper);
  const payload = redaction.value({ a: 'later-secret' });
  keeper.keep('later-secret');
  await emitter.record({ payload, next: redaction.value({ b: 'later-secret' }) });
  expect(out()).toBe('{"payload":{"a":"<redacted>"},"next":{"b":"<redacted>"}}\n');
});

const CONVERSATION = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';

function printedEvent(members: Record<string, unknown>) {
  const kit = printer();
  const record = readEvent({ id: 'e1', kind: 'PauseEvent', source: 'user', ...members });
  const event = toEvent(record, CONVERSATION, createRedaction(['second-secret'], kit.keeper));
  return { ...kit, event, print: () => kit.emitter.lines(eventView(null), [event]) };
}

it('no text of an event is redacted at the output', async () => {
  const { redacted, print, out } = printedEvent({ note: 'first-secret and second-secret' });
  await print();
  expect(redacted).toEqual([]);
  expect(out()).toContain('"note":"<redacted> and <redacted>"');
});

it.each([{ id: 'first-secret' }, { kind: 'first-secret' }, { source: 'first-secret' }])(
  'an event with a secret beside its payload is redacted at the output: %j',
  async (members) => {
    const { print, out } = printedEvent(members);
    await print();
    expect(out()).toContain('<redacted>');
    expect(out()).not.toContain('first-secret');
  },
);

it('a secret registered after an event was read is not printed', async () => {
  const { keeper, print, out } = printedEvent({ note: 'later-secret' });
  keeper.keep('later-secret');
  await print();
  expect(out()).toContain('"note":"<redacted>"');
});
