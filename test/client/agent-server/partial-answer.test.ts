import { expect, it } from 'vitest';
import { PartialAnswer } from '../../../src/client/agent-server/partial-answer.ts';
import { Redaction } from '../../../src/client/http/redaction.ts';

function answer() {
  const partial = new PartialAnswer(
    { deltas: true, signal: AbortSignal.abort() },
    new Redaction(['secret-key-1']),
  );
  const add = (
    content: string | null,
    reasoning_content: string | null = null,
    kind = 'StreamingDeltaEvent',
  ) =>
    partial.add({
      id: '',
      timestamp: null,
      kind,
      source: 'agent',
      payload: { content, reasoning_content },
    })?.();
  return { partial, add };
}

it('parts are one text without secrets until the event of the answer', () => {
  const { add } = answer();
  expect([add(''), add('a secret-'), add('', 'thinks'), add(null), add('b')].at(-1)).toBe('b');
  expect([add(' secret-'), add('key-1')].at(-1)).not.toContain('secret-key-1');
  expect(add(null, null, 'MessageEvent')).toBeUndefined();
  expect(add('next')).toBe('next');
});

it('a socket that was opened again marks the lost parts, and a long text is bounded', () => {
  const { partial, add } = answer();
  partial.reopened();
  expect(add('first')).toBe('first');
  partial.reopened();
  expect(add(' end')).toBe('… end');
  for (let part = 0; part < 100; part += 1) add('x'.repeat(1000));
  expect(add('y')?.length).toBeLessThan(40_000);
});
