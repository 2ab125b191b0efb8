import { describe, expect, it } from 'vitest';
import { blankConversation } from '../../src/domain/conversation.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';
import { Silence } from '../../src/runs/silence.ts';

const MINUTE = 60_000;
const FROM = 1_000_000;
const running = blankConversation('c', 'running');
const event = { text: 'ls -l' } as ConversationEvent;

describe('a run without events', () => {
  it('is reported after ten minutes, and every ten minutes, in whole minutes', () => {
    const silence = new Silence(null, FROM);
    expect(silence.dueMs).toBe(FROM + 10 * MINUTE);
    expect(silence.notice(running, FROM + 10 * MINUTE)).toBe('no event of c for 10m');
    expect(silence.dueMs).toBe(FROM + 20 * MINUTE);
    expect(silence.notice(running, FROM + 20 * MINUTE + 59_999)).toBe('no event of c for 20m');
    expect(silence.dueMs).toBe(FROM + 30 * MINUTE + 59_999);
  });

  it('is reported with its last event', () => {
    const silence = new Silence(null, FROM);
    silence.onEvent(event, FROM + MINUTE);
    expect(silence.dueMs).toBe(FROM + 11 * MINUTE);
    expect(silence.notice(running, FROM + 11 * MINUTE)).toBe('no event of c for 10m; the last was: ls -l');
  });

  it.each([
    ['starting', 'no event of c for 10m, and its status is starting'],
    ['unknown(no-status)', 'no event of c for 10m, and its status is unknown(no-status)'],
    ['unknown(thinking)', 'no event of c for 10m, and its status is unknown(thinking)'],
    ['waiting', null],
    ['finished', null],
  ] as const)('that is %s is reported with its status: %s', (status, notice) => {
    const silence = new Silence(null, FROM);
    expect(silence.notice(blankConversation('c', status), FROM + 10 * MINUTE)).toBe(notice);
    expect(silence.dueMs).toBe(FROM + 20 * MINUTE);
  });

  it.each(['running', 'starting'] as const)('that is %s fails after the limit', (status) => {
    const silence = new Silence(2 * MINUTE, FROM);
    const conversation = blankConversation('c', status);
    expect(silence.dueMs).toBe(FROM + 2 * MINUTE);
    expect(silence.failure(conversation, FROM + 2 * MINUTE - 1)).toBeNull();
    expect(silence.failure(conversation, FROM + 2 * MINUTE)).toMatchObject({
      message: 'no event of conversation c for 2m',
    });
    silence.onEvent(event, FROM + MINUTE);
    expect(silence.failure(conversation, FROM + 3 * MINUTE - 1)).toBeNull();
    expect(silence.failure(conversation, FROM + 3 * MINUTE)?.message).toContain('; the last was: ls -l');
  });

  it.each(['waiting', 'unknown(no-status)'] as const)('that is %s does not fail, and is watched anew', (status) => {
    const silence = new Silence(2 * MINUTE, FROM);
    const conversation = blankConversation('c', status);
    expect(silence.failure(conversation, FROM + 2 * MINUTE)).toBeNull();
    expect(silence.notice(conversation, FROM + 2 * MINUTE)).toBeNull();
    expect(silence.dueMs).toBe(FROM + 4 * MINUTE);
  });

  it('is reported before a limit that is longer than ten minutes', () => {
    const silence = new Silence(15 * MINUTE, FROM);
    expect(silence.dueMs).toBe(FROM + 10 * MINUTE);
    expect(silence.failure(running, FROM + 10 * MINUTE)).toBeNull();
    expect(silence.notice(running, FROM + 10 * MINUTE)).toBe('no event of c for 10m');
    expect(silence.dueMs).toBe(FROM + 15 * MINUTE);
  });

  it('is watched anew without an event', () => {
    const silence = new Silence(2 * MINUTE, FROM);
    silence.startAnew(FROM + MINUTE);
    expect(silence.dueMs).toBe(FROM + 3 * MINUTE);
    expect(new Silence(null, FROM).failure(running, Number.MAX_SAFE_INTEGER)).toBeNull();
  });
});
