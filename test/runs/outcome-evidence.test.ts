import { describe, expect, it } from 'vitest';
import type { ConversationEvent, RunSignal } from '../../src/domain/event.ts';
import { NO_EVIDENCE, afterEvent, withoutContradiction, beforeRun, type RunEvidence } from '../../src/runs/outcome.ts';
import { conversationEvent } from './support/event.ts';

const event = (signal: RunSignal | null): ConversationEvent => conversationEvent('new', { signal });

/** What an event changes of evidence in which every member is set, and of evidence in which none is. */
const EFFECTS: Record<RunSignal, [Partial<RunEvidence>, Partial<RunEvidence>]> = {
  message: [{ rejected: false, in_progress: false, awaits_user: 'no' }, {}],
  activity: [{ since_message: 'some', rejected: false }, { since_message: 'some' }],
  rejection: [{ since_message: 'some' }, { since_message: 'some', rejected: true }],
  'status:running': [
    { since_message: 'some', rejected: false, awaits_user: 'no' },
    { since_message: 'some', in_progress: true },
  ],
  'status:starting': [
    { since_message: 'some', awaits_user: 'no' },
    { since_message: 'some', in_progress: true },
  ],
  'status:rejected': [
    { since_message: 'some', in_progress: false, awaits_user: 'no' },
    { since_message: 'some', rejected: true },
  ],
  'status:awaiting-user': [
    { since_message: 'some', in_progress: false, awaits_user: 'perhaps' },
    { since_message: 'some', awaits_user: 'perhaps' },
  ],
  'status:other': [{ since_message: 'some', in_progress: false, awaits_user: 'no' }, { since_message: 'some' }],
};

describe('the evidence after an event', () => {
  const none: RunEvidence = { ...NO_EVIDENCE, last_event_id: 'old', since_message: 'none' };
  const all: RunEvidence = { ...none, rejected: true, in_progress: true, awaits_user: 'yes' };

  it.each(Object.entries(EFFECTS))('changes by its signal %s', (signal, [ofAll, ofNone]) => {
    const last_event_id = 'new';
    expect(afterEvent(all, event(signal as RunSignal))).toEqual({ ...all, last_event_id, ...ofAll });
    expect(afterEvent(none, event(signal as RunSignal))).toEqual({ ...none, last_event_id, ...ofNone });
  });

  it('has only its id when the event has no signal', () => {
    for (const known of [all, { ...all, since_message: 'unknown' } as const])
      expect(afterEvent(known, event(null))).toEqual({ ...known, last_event_id: 'new' });
  });

  it('of an agent without a message is not that it awaits the user', () => {
    const unknown: RunEvidence = { ...all, since_message: 'unknown' };
    expect(afterEvent(unknown, event('status:awaiting-user'))).toEqual({
      ...unknown,
      last_event_id: 'new',
      in_progress: false,
      awaits_user: 'no',
    });
    expect(afterEvent(unknown, event('message'))).toMatchObject({ since_message: 'none' });
  });
});

describe('the evidence', () => {
  it.each([
    ['no', 'no'],
    ['perhaps', 'yes'],
    ['yes', 'yes'],
  ] as const)('after a stable status has no older events: awaits_user %s becomes %s', (awaits_user, then) => {
    const known: RunEvidence = {
      last_event_id: 'old',
      since_message: 'none',
      rejected: true,
      in_progress: true,
      awaits_user,
    };
    expect(withoutContradiction(known)).toEqual({
      ...known,
      since_message: 'unknown',
      in_progress: false,
      awaits_user: then,
    });
  });

  it('before a run that the command has started is that no event has come since', () => {
    expect(NO_EVIDENCE).toEqual({
      last_event_id: null,
      since_message: 'unknown',
      rejected: false,
      in_progress: false,
      awaits_user: 'no',
    });
    expect(beforeRun('old')).toEqual({ ...NO_EVIDENCE, last_event_id: 'old', since_message: 'none' });
  });
});
