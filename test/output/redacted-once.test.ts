/** Values that the connection redacted are not redacted again at the output, unless a secret was learned in between. */
import { expect, it } from 'vitest';
import { createEmitter } from '../../src/output/emit.ts';
import { createRedaction } from '../../src/servers/transport/redaction.ts';
import { createSecretKeeper } from '../../src/text/secret-keeper.ts';
import { NOW } from './capture.ts';

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

it('each text of a payload is redacted once', async () => {
  const { keeper, redacted, emitter, out } = printer();
  const payload = createRedaction(['second-secret'], keeper).value({ a: 'first-secret', b: ['second-secret', 'c'] });
  await emitter.record({ id: 'x', payload });
  expect(redacted).toEqual(['x']);
  expect(out()).toBe('{"id":"x","payload":{"a":"<redacted>","b":["<redacted>","c"]}}\n');
});

it('a secret learned after a value was redacted is not printed', async () => {
  const { keeper, emitter, out } = printer();
  const redaction = createRedaction([], keeper);
  const payload = redaction.value({ a: 'later-secret' });
  keeper.keep('later-secret');
  await emitter.record({ payload, next: redaction.value({ b: 'later-secret' }) });
  expect(out()).toBe('{"payload":{"a":"<redacted>"},"next":{"b":"<redacted>"}}\n');
});
