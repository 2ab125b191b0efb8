import { describe, expect, it } from 'vitest';
import { isUpTo } from '../../src/domain/event.ts';
import { conversationEvent } from '../runs/support/source.ts';

const event = (id: string, timestamp: string | null) => conversationEvent(id, { timestamp });

describe('an event', () => {
  const end = event('end', '2026-01-01T00:00:01Z');

  it.each([
    ['the same event', event('end', null), end, true],
    ['an older one', event('other', '2026-01-01T00:00:00.9Z'), end, true],
    ['one of the same time', event('other', end.timestamp), end, false],
    ['a newer one', event('other', '2026-01-01T00:00:02Z'), end, false],
    ['a newer one of the same second', event('other', '2026-01-01T00:00:01.5Z'), end, false],
    ['an older one of the same second', end, event('other', '2026-01-01T00:00:01.5Z'), true],
    ['one without a time', event('other', null), end, false],
    ['one where the end has no time', event('other', end.timestamp), event('end', null), false],
    ['one without an end', end, null, false],
  ])('is up to another: %s', (_, one, other, is) => {
    expect(isUpTo(one, other)).toBe(is);
  });
});
