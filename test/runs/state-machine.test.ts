import { beforeEach, describe, expect, it } from 'vitest';
import { blankConversation, NO_STATUS, type Conversation } from '../../src/domain/conversation.ts';
import type { RunSignal } from '../../src/domain/event.ts';
import { AppError } from '../../src/base/errors.ts';
import { NOT_READ, NO_EVENTS } from '../../src/runs/outcome.ts';
import {
  advance,
  dueMs,
  initialState,
  newestOf,
  unfinished,
  type Fact,
  FACTS,
  type Input,
  type Phase,
  type Rules,
  type TrackerState,
  type Step,
} from '../../src/runs/state-machine.ts';
import { conversationEvent } from './support/source.ts';

const NOW = 1_000_000;
const MINUTE = 60_000;
const record = (members: Partial<Conversation> = {}): Conversation => ({
  ...blankConversation('c', 'running'),
  ...members,
});
const event = (signal: RunSignal | null, text = ''): Input => ({
  type: 'event',
  event: conversationEvent('e', { signal, text }),
});
const rules: Rules = {
  seen: blankConversation('c', NOT_READ),
  deadlineMs: NOW + 100_000,
  waitMs: 100_000,
  failOnStallMs: null,
  answers: false,
};
/** The events contradict an end, and agree with it. */
const inProgress = { ...NO_EVENTS, since_message: 'some', in_progress: true } as const;
const done = { ...inProgress, in_progress: false };

let initial: TrackerState;
beforeEach(() => {
  initial = initialState(rules, inProgress, NOW);
});

/** What the tracker does then, and what the state is waiting for, in milliseconds from now on. */
function described({ state, next, notice }: Step): string {
  const at = (ms: number) => (ms === Infinity ? '' : ` ${ms - state.nowMs}`);
  if (notice !== null) return `notice ${notice}`;
  if (next.do === 'end') return `end ${next.run.outcome.exit_code}`;
  if (next.do === 'ask-sandbox') return `ask-sandbox ${next.mostMs} ${state.phase}`;
  return `${next.do} ${state.phase} read${at(state.readAtMs)}`;
}

/** A state of each phase. */
const PHASES: Record<Phase, Partial<TrackerState>> = {
  open: {},
  unconfirmed: { contradictedSinceMs: NOW - 1_000, readAtMs: NOW + 700 },
  stable: { contradictedSinceMs: NOW - 1_500, readAtMs: NOW + 700 },
  late: { untilMs: NOW + 4_000, deadlineMs: Infinity },
};

/** The step after an input that is this fact. */
function stepOn(phase: Phase, fact: Fact, members: Partial<TrackerState> = {}): Step {
  const [source, shown] = fact.split(' ') as [string, string];
  const status = fact === 'event end' ? 'idle' : shown === 'open' ? 'running' : 'finished';
  const conversation = record({ status, sandbox_status: 'paused' });
  const summary = shown === 'end' ? { ...done, rejected: status === 'idle' } : inProgress;
  const known = source === 'state' ? {} : { record: conversation };
  const state: TrackerState = {
    ...initial,
    phase,
    ...PHASES[phase],
    summary,
    ...known,
    ...members,
  };
  const inputs: Record<string, Input> = {
    event: event(null),
    state: { type: 'state', conversation },
    sandbox: { type: 'sandbox', isInProgress: fact === 'sandbox in-progress' },
  };
  return advance(state, inputs[source] as Input, NOW);
}

describe('a fact in a phase', () => {
  const SAME: Partial<Record<Fact, string>> = {
    'event end': 'end 8',
    'state end': 'end 0',
    'state open': 'wait open read',
  };
  const EXPECTED: Record<Phase, Partial<Record<Fact, string>>> = {
    open: {
      ...SAME,
      'event contradicted': 'wait open read 250',
      'state contradicted': 'wait unconfirmed read 500',
    },
    unconfirmed: {
      ...SAME,
      'event contradicted': 'wait unconfirmed read 250',
      'state contradicted': 'wait unconfirmed read 500',
    },
    stable: {
      ...SAME,
      'event contradicted': 'wait stable read 250',
      'state contradicted': 'ask-sandbox 5000 stable',
      'sandbox in-progress': 'wait unconfirmed read 500',
      'sandbox nothing': 'end 0',
    },
    late: {
      'state end': 'end 0',
      'state contradicted': 'ask-sandbox 4000 late',
      'state open': 'end 124',
      'sandbox in-progress': 'end 124',
      'sandbox nothing': 'end 0',
    },
  };
  const cells = Object.keys(PHASES).flatMap((phase) =>
    FACTS.map((fact) => [phase as Phase, fact] as const),
  );

  it.each(cells)('%s, %s gives the state and the order of the table', (phase, fact) => {
    const state = { ...initial, phase, ...PHASES[phase] };
    const unchanged = described({ state, next: { do: 'wait' }, notice: null });
    expect(described(stepOn(phase, fact))).toBe(EXPECTED[phase][fact] ?? unchanged);
  });

  it('the end of the follower is the outcome of the newest record, and no answer after the deadline', () => {
    const over = (members: Partial<TrackerState>): Step =>
      advance({ ...initial, ...members }, { type: 'over' }, NOW);
    expect(described(over({ record: record({ status: 'finished' }), summary: done }))).toBe(
      'end 0',
    );
    expect(described(over({ record: record({ status: 'finished' }) }))).toBe('end 0');
    expect(over({ record: record({ cost_usd: 2 }) }).next).toMatchObject({
      run: {
        outcome: {
          exit_code: 6,
          reason: { code: 'running', text: 'the conversation is running' },
          cost_usd: 2,
        },
        failure: null,
      },
    });
    expect(over({ phase: 'late', record: record() }).next).toMatchObject({
      run: {
        outcome: { exit_code: 124 },
        failure: { message: expect.stringContaining('did not answer') as string },
      },
    });
  });

  it('an event before the first record changes nothing but the summary', () => {
    const { state, next } = advance(initial, event('status:other'), NOW + 1);
    expect([next, state.readAtMs, state.summary.in_progress]).toEqual([
      { do: 'wait' },
      Infinity,
      false,
    ]);
  });

  it('an event that does not concern an end leaves the time of the next read', () => {
    const state: TrackerState = { ...initial, record: record(), readAtMs: NOW + 100 };
    expect(described(advance(state, event('activity'), NOW))).toBe('wait open read 100');
  });

  it('an event after an end of another status than idle has the record read again', () => {
    const state: TrackerState = {
      ...initial,
      record: record({ status: 'finished' }),
      summary: done,
    };
    expect(described(advance(state, event(null), NOW))).toBe('wait open read 250');
  });

  it('an earlier read that is due stays due after an event', () => {
    expect(described(stepOn('open', 'event contradicted', { readAtMs: NOW + 100 }))).toBe(
      'wait open read 100',
    );
  });
});

describe('an unconfirmed record', () => {
  it('is unconfirmed from its first record on', () => {
    const input: Input = { type: 'state', conversation: record({ status: 'finished' }) };
    const first = advance({ ...initial, contradictedSinceMs: 0 }, input, NOW);
    expect(first.state.contradictedSinceMs).toBe(NOW);
    const second = advance(first.state, input, NOW + 1_000);
    expect(second.state).toMatchObject({
      phase: 'unconfirmed',
      contradictedSinceMs: NOW,
      readAtMs: NOW + 1_500,
    });
  });

  it('that is stable is unconfirmed again when a message comes', () => {
    const { state } = stepOn('stable', 'event contradicted', {});
    const after = advance(state, event('message'), NOW);
    expect(advance(after.state, { type: 'time' }, NOW).state.phase).toBe('unconfirmed');
    expect(state.phase).toBe('stable');
  });
});

describe('the events of a run that the command has started', () => {
  it('count from the one before it on', () => {
    const before = conversationEvent('e0', { signal: 'status:other' });
    const state = { ...initial, rules: { ...rules, startedAfter: before } };
    expect(advance(state, { type: 'event', event: before }, NOW).state).toMatchObject({
      summary: inProgress,
      lastEvent: before,
    });
    expect(advance(state, event('status:other'), NOW).state.summary).toMatchObject({
      last_event_id: 'e',
      in_progress: false,
    });
  });
});

describe('a record without a status', () => {
  it('keeps the record before it, unless that was of the run before', () => {
    const running = record();
    const after = (
      before: Partial<TrackerState>,
      status: Conversation['status'] = NO_STATUS,
    ): Conversation | null => {
      const state = { ...initial, summary: done, ...before };
      return advance(state, { type: 'state', conversation: record({ status }) }, NOW).state.record;
    };
    expect(after({ record: running })).toBe(running);
    expect(after({ record: running }, 'failed')?.status).toBe('failed');
    expect(after({ record: record({ status: 'finished' }), summary: inProgress })?.status).toBe(
      NO_STATUS,
    );
    expect(after({ rules: { ...rules, seen: running } })).toBe(running);
  });
});

describe('the newest record', () => {
  it('is the one that was read last, else the one before the tracking, else none', () => {
    const [read, seen] = [record(), record({ status: 'starting' })];
    expect(newestOf({ ...initial, record: read })).toBe(read);
    expect(newestOf({ ...initial, rules: { ...rules, seen } })).toBe(seen);
    expect(newestOf({ ...initial, record: record({ status: 'finished' }) })).toEqual(
      blankConversation('c', NOT_READ),
    );
  });
});

describe('the time', () => {
  const time = (state: TrackerState, nowMs = NOW): string =>
    described(advance(state, { type: 'time' }, nowMs));

  it('has the record read once when that is due', () => {
    const state = { ...initial, readAtMs: NOW + 500 };
    expect(dueMs(state)).toBe(NOW + 500);
    expect(time(state, NOW + 499)).toBe('wait open read 1');
    const { state: reading, next } = advance(state, { type: 'time' }, NOW + 500);
    expect([next.do, reading.isReading, dueMs(reading)]).toEqual(['read', true, NOW + 100_000]);
    const { state: after } = advance(reading, { type: 'state', conversation: record() }, NOW + 600);
    expect(after.isReading).toBe(false);
  });

  it('at the deadline has the record read for 5 s at most', () => {
    expect(dueMs(initial)).toBe(NOW + 100_000);
    const { state } = advance(
      { ...initial, readAtMs: NOW + 100_100 },
      { type: 'time' },
      NOW + 100_000,
    );
    expect(time(initial, NOW + 100_000)).toBe('last-read late read');
    expect([state.deadlineMs, dueMs(state)]).toEqual([Infinity, NOW + 105_000]);
    expect(time(state, NOW + 104_999)).toBe('wait late read');
    expect(time(state, NOW + 105_000)).toBe('end 124');
  });
});

it('a pending confirmation is answered until the deadline, and is the outcome from then on', () => {
  const state = { ...initial, summary: done, rules: { ...rules, answers: true } };
  const waiting: Input = { type: 'state', conversation: record({ status: 'waiting' }) };
  expect(described(advance(state, waiting, NOW + 99_999))).toBe('answer open read');
  expect(described(advance(state, waiting, NOW + 100_000))).toBe('end 8');
});

describe('the reason of a run without progress', () => {
  const because = (code: string) => ({ code, text: `because of ${code}` });
  const notice = (before: Conversation | null, members: Partial<Conversation>): string | null =>
    advance({ ...initial, record: before }, { type: 'state', conversation: record(members) }, NOW)
      .notice;

  it('is a notice when it is new', () => {
    expect(notice(null, { reason: because('a') })).toBe('because of a');
    expect(notice(record({ reason: because('a') }), { reason: because('a') })).toBeNull();
    expect(notice(record({ reason: because('a') }), { reason: because('b') })).toBe('because of b');
    expect(notice(record(), { reason: because('a') })).toBe('because of a');
    expect(notice(null, { reason: null })).toBeNull();
    expect(notice(null, { status: 'idle', reason: because('a') })).toBeNull();
  });
});

describe('a run without events', () => {
  const quiet = (failOnStallMs: number | null): TrackerState =>
    initialState({ ...rules, deadlineMs: Infinity, failOnStallMs }, NO_EVENTS, NOW);
  const read = (
    state: TrackerState,
    minutes: number,
    status: Conversation['status'] = 'running',
    ms = 0,
  ): Step =>
    advance(
      state,
      { type: 'state', conversation: record({ status }) },
      NOW + minutes * MINUTE + ms,
    );
  const dueIn = ({ state }: Step): number => (dueMs(state) - NOW) / MINUTE;

  it('is reported after ten minutes, and every ten minutes, in whole minutes', () => {
    expect(dueMs(quiet(null))).toBe(NOW + 10 * MINUTE);
    expect(described(advance(quiet(null), { type: 'time' }, NOW + 10 * MINUTE))).toBe(
      'read open read',
    );
    const first = read(quiet(null), 10);
    expect([first.notice, dueIn(first)]).toEqual(['no event of c for 10m', 20]);
    const second = read(first.state, 20, 'running', 59_999);
    expect([second.notice, dueMs(second.state)]).toEqual([
      'no event of c for 20m',
      NOW + 30 * MINUTE + 59_999,
    ]);
    expect(read(quiet(null), 9).notice).toBeNull();
  });

  it('is reported with its last event', () => {
    const { state } = advance(quiet(null), event(null, 'ls -l'), NOW + MINUTE);
    expect(dueMs(state)).toBe(NOW + 11 * MINUTE);
    expect(read(state, 11).notice).toBe('no event of c for 10m; the last was: ls -l');
  });

  it.each([
    ['starting', 'no event of c for 10m, and its status is starting'],
    [NO_STATUS, `no event of c for 10m, and its status is ${NO_STATUS}`],
    ['unknown(thinking)', 'no event of c for 10m, and its status is unknown(thinking)'],
    ['idle', null],
  ] as const)('that is %s is reported with its status: %s', (status, notice) => {
    const step = read(quiet(null), 10, status);
    expect([step.notice, dueIn(step)]).toEqual([notice, 20]);
  });

  it.each(['running', 'starting'] as const)(
    'that is %s ends the tracking after the limit',
    (status) => {
      expect(dueMs(quiet(2 * MINUTE))).toBe(NOW + 2 * MINUTE);
      expect(described(read(quiet(2 * MINUTE), 1, status, 59_999))).toBe('wait open read');
      const { next } = read(quiet(2 * MINUTE), 2, status, 5_000);
      expect(next).toMatchObject({ do: 'end', run: { outcome: { status, exit_code: 124 } } });
      expect(next).toMatchObject({
        run: { failure: { message: 'no event of conversation c for 2m' } },
      });
      const { state } = advance(quiet(2 * MINUTE), event(null, 'ls -l'), NOW + MINUTE);
      expect(read(state, 2).next.do).toBe('wait');
      expect(read(state, 3).next).toMatchObject({
        run: { failure: { message: 'no event of conversation c for 2m; the last was: ls -l' } },
      });
    },
  );

  it.each(['idle', NO_STATUS] as const)(
    'that is %s does not end the tracking, and the limit starts again',
    (status) => {
      const step = read(quiet(2 * MINUTE), 2, status);
      expect([step.next.do, step.notice, dueIn(step)]).toEqual(['wait', null, 4]);
    },
  );

  it('has ended when the record is an end at that time', () => {
    expect(described(read(quiet(2 * MINUTE), 2, 'failed'))).toBe('end 1');
  });

  it('is reported before a limit that is longer than ten minutes', () => {
    const step = read(quiet(15 * MINUTE), 10);
    expect([step.notice, dueIn(step)]).toEqual(['no event of c for 10m', 15]);
  });

  it('is not reported after the deadline', () => {
    expect(dueMs({ ...quiet(MINUTE), phase: 'late' })).toBe(Infinity);
  });
});

describe('tracking that ends before the run', () => {
  it.each<[string, AppError, string]>([
    [
      'its reason',
      new AppError('timeout', 'too late', { data: { reason: 'no-events' } }),
      'no-events',
    ],
    ['its kind where it has no reason', new AppError('timeout', 'too late'), 'timeout'],
    [
      'its kind where the reason is not text',
      new AppError('timeout', 'too late', { data: { reason: 1 } }),
      'timeout',
    ],
  ])('has the newest record, and of the failure %s', (_, failure, code) => {
    const newest = record({ waiting_for: 'user', cost_usd: 2 });
    const summary = { ...inProgress, last_event_id: 'e1' };
    expect(unfinished({ ...initial, record: newest, summary }, failure)).toEqual({
      outcome: {
        type: 'outcome',
        conversation_id: 'c',
        status: 'running',
        reason: { code, text: 'too late' },
        waiting_for: 'user',
        exit_code: 124,
        cost_usd: 2,
        last_event_id: 'e1',
      },
      failure,
    });
  });
});
