import { beforeEach, describe, expect, it } from 'vitest';
import { blankConversation, NO_STATUS, type Conversation } from '../../src/domain/conversation.ts';
import type { RunSignal } from '../../src/domain/event.ts';
import { AppError } from '../../src/errors.ts';
import { NOT_READ } from '../../src/runs/endings.ts';
import { type Outcome, outcomeOf, NO_EVIDENCE } from '../../src/runs/outcome.ts';
import { advance, dueMs, initialState, newestOf, unfinished } from '../../src/runs/state-machine.ts';
import {
  type Fact,
  FACTS,
  type Input,
  type Phase,
  type Rules,
  type RunState,
  type Step,
} from '../../src/runs/transitions.ts';
import { conversationEvent } from './support/event.ts';

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
  // The title of a record is what it is by the events.
  judge: (conversation, evidence): Outcome | null => {
    const { title } = conversation;
    const isEnd = title === 'end' || (title === 'contradicted' && !evidence.in_progress);
    return isEnd ? outcomeOf(conversation, evidence, 0, null) : null;
  },
  seen: blankConversation('c', NOT_READ),
  deadlineMs: NOW + 100_000,
  waitMs: 100_000,
  failOnStallMs: null,
  showsEvents: true,
  answers: false,
};
const inProgress = { ...NO_EVIDENCE, since_message: 'some', in_progress: true } as const;

let initial: RunState;
beforeEach(() => {
  initial = initialState(rules, inProgress, NOW);
});

/** What the tracker does then, and what the state is waiting for, in milliseconds from now on. */
function described({ state, next, notice }: Step): string {
  const at = (ms: number) => (ms === Infinity ? '' : ms - state.nowMs);
  const waiting = `${state.phase} read ${at(state.readAtMs)} until ${at(state.untilMs)}`;
  const what = { wait: '', 'follow-rest': ' ' }[next.do as string] ?? '';
  if (notice !== null) return `notice ${notice}`;
  switch (next.do) {
    case 'end':
      return `end ${next.run.outcome.exit_code}`;
    case 'answer':
      return `answer ${waiting}`;
    case 'read':
    case 'ask-sandbox':
      return `${next.do} ${next.mostMs} ${state.phase}`;
    default:
      return `${next.do}${what} ${waiting}`.replace(/ +/g, ' ').trim();
  }
}

const held = { outcome: outcomeOf(record(), NO_EVIDENCE, 7, null), failure: null };
/** A state of each phase. */
const PHASES: Record<Phase, Partial<RunState>> = {
  open: {},
  doubted: { doubtedSinceMs: NOW - 1_000, readAtMs: NOW },
  stable: { doubtedSinceMs: NOW - 1_500, readAtMs: NOW },
  ended: { held, untilMs: NOW + 3_000, readAtMs: NOW },
  late: { untilMs: NOW + 4_000, deadlineMs: Infinity },
};

/** The step after an input that is this fact. */
function stepOn(phase: Phase, fact: Fact, members: Partial<RunState> = {}): Step {
  const [source, title] = fact.split(' ') as [string, string];
  const status = fact === 'event end' ? 'idle' : 'finished';
  const conversation = record({ status, title, sandbox_status: 'paused' });
  const known = source === 'event' || source === 'sandbox' ? { record: conversation } : {};
  const judged = source === 'sandbox' ? { record: { ...conversation, title: 'contradicted' } } : known;
  const state: RunState = { ...initial, phase, ...PHASES[phase], ...judged, ...members };
  return advance(state, inputOf(fact, conversation), NOW);
}

function inputOf(fact: Fact, conversation: Conversation): Input {
  const [source] = fact.split(' ');
  if (source === 'event') return event(null);
  if (source === 'state') return { type: 'state', conversation };
  if (source === 'sandbox') return { type: 'sandbox', isInProgress: fact === 'sandbox in-progress' };
  return { type: 'read', conversation: fact === 'read nothing' ? null : conversation };
}

describe('a fact in a phase', () => {
  const HELD = 'wait ended read until 10000';
  const FOLLOWED: Partial<Record<Fact, string>> = {
    'state end': 'end 0',
    'read end': HELD,
    'state open': 'wait open read until',
    'read open': 'wait open read until',
  };
  const EXPECTED: Record<Phase, Partial<Record<Fact, string>>> = {
    open: {
      ...FOLLOWED,
      'event end': HELD,
      'event contradicted': 'wait open read 250 until',
      'state contradicted': 'wait doubted read 500 until',
      'read contradicted': 'wait doubted read 500 until',
      'read nothing': 'wait open read until',
    },
    doubted: {
      ...FOLLOWED,
      'event end': HELD,
      'event contradicted': 'wait doubted read 0 until',
      'state contradicted': 'wait doubted read 500 until',
      'read contradicted': 'wait doubted read 500 until',
      'read nothing': 'wait doubted read 1000 until',
    },
    stable: {
      ...FOLLOWED,
      'event end': HELD,
      'event contradicted': 'wait stable read 0 until',
      'state contradicted': 'wait doubted read 500 until',
      'read contradicted': 'ask-sandbox 5000 stable',
      'read nothing': 'wait stable read 1000 until',
      'sandbox in-progress': 'wait doubted read 500 until',
      'sandbox nothing': HELD,
    },
    ended: {
      'event end': 'end 0',
      'event contradicted': 'wait ended read 250 until 3000',
      'state end': 'end 0',
      'read end': 'end 0',
      'read contradicted': 'wait ended read 1000 until 3000',
      'read open': 'wait ended read 1000 until 3000',
      'read nothing': 'wait ended read 1000 until 3000',
    },
    late: {
      'read end': 'end 0',
      'read contradicted': 'ask-sandbox 4000 late',
      'read open': 'end 124',
      'read nothing': 'end 124',
      'sandbox in-progress': 'end 124',
      'sandbox nothing': 'follow-rest ended read until 2000',
    },
  };
  const cells = Object.keys(PHASES).flatMap((phase) => FACTS.map((fact) => [phase as Phase, fact] as const));

  it.each(cells)('%s, %s gives the state and the order of the table', (phase, fact) => {
    const state = { ...initial, phase, ...PHASES[phase] };
    const unchanged = described({ state, next: { do: 'wait' }, notice: null });
    expect(described(stepOn(phase, fact))).toBe(EXPECTED[phase][fact] ?? unchanged);
  });

  it.each(['open', 'doubted', 'stable'] as const)(
    '%s, an end that the follower has delivered is the outcome',
    (phase) => {
      expect(described(stepOn(phase, 'read end', { delivered: 'finished' }))).toBe('end 0');
      const hidden = { rules: { ...rules, showsEvents: false } };
      expect(described(stepOn(phase, 'read end', hidden))).toBe('end 0');
    },
  );

  it('late, an accepted end is the outcome at once when no events are shown', () => {
    expect(described(stepOn('late', 'sandbox nothing', { rules: { ...rules, showsEvents: false } }))).toBe('end 0');
  });

  it('late, less time is left to the last events than 2 s when the last look ends before', () => {
    const step = stepOn('late', 'sandbox nothing', { untilMs: NOW + 1_000 });
    expect(described(step)).toBe('follow-rest ended read until 1000');
  });

  it('the end of the follower is the outcome that is held, else that of the newest record', () => {
    const over = (members: Partial<RunState>): Step => advance({ ...initial, ...members }, { type: 'over' }, NOW);
    expect(described(over({ phase: 'ended', ...PHASES.ended }))).toBe('end 7');
    expect(described(over({ record: record({ title: 'end' }) }))).toBe('end 0');
    expect(described(over({ record: record({ title: 'contradicted' }) }))).toBe('end 0');
    expect(over({ record: record({ cost_usd: 2 }) }).next).toMatchObject({
      run: {
        outcome: { exit_code: 6, reason: { code: 'running', text: 'the conversation is running' }, cost_usd: 2 },
        failure: null,
      },
    });
  });

  it('an event before the first record changes nothing but the evidence', () => {
    const { state, next } = advance(initial, event('status:other'), NOW + 1);
    expect([next, state.readAtMs, state.evidence.in_progress]).toEqual([{ do: 'wait' }, Infinity, false]);
  });

  it('an event that does not concern an end leaves the time of the next read', () => {
    const state: RunState = { ...initial, record: record({ title: 'open' }), readAtMs: NOW + 100 };
    expect(described(advance(state, event('activity'), NOW))).toBe('wait open read 100 until');
  });

  it('an event after an end of another status than idle has the record read again', () => {
    const state: RunState = { ...initial, record: record({ status: 'finished', title: 'end' }) };
    expect(described(advance(state, event(null), NOW))).toBe('wait open read 250 until');
  });

  it('an earlier read that is due stays due after an event', () => {
    const members = { readAtMs: NOW + 100 };
    expect(described(stepOn('open', 'event contradicted', members))).toBe('wait open read 100 until');
    expect(described(stepOn('ended', 'event contradicted', members))).toBe('wait ended read 250 until 3000');
  });

  it('a read that fails before another is due leaves that one', () => {
    expect(described(stepOn('open', 'read nothing', { readAtMs: NOW + 100 }))).toBe('wait open read 100 until');
  });
});

describe('a doubted record', () => {
  const doubtedFor = (ms: number, members: Partial<RunState> = {}): Step =>
    stepOn('doubted', 'read contradicted', { doubtedSinceMs: NOW - ms, ...members });

  it.each([
    ['some', 1_499, 'doubted'],
    ['some', 1_500, 'stable'],
    ['unknown', 1_500, 'stable'],
    ['none', 4_999, 'doubted'],
    ['none', 5_000, 'stable'],
  ] as const)('with events since the message: %s is after %i ms %s', (since_message, ms, phase) => {
    const step = doubtedFor(ms, { evidence: { ...inProgress, since_message } });
    expect(step.state.phase).toBe(phase);
    expect(step.next.do).toBe(phase === 'stable' ? 'ask-sandbox' : 'wait');
  });

  it('is doubted from its first record on', () => {
    const first = advance(
      { ...initial, doubtedSinceMs: 0 },
      { type: 'state', conversation: record({ title: 'contradicted' }) },
      NOW,
    );
    expect(first.state.doubtedSinceMs).toBe(NOW);
    const second = advance(
      first.state,
      { type: 'state', conversation: record({ title: 'contradicted' }) },
      NOW + 1_000,
    );
    expect(second.state).toMatchObject({ phase: 'doubted', doubtedSinceMs: NOW, readAtMs: NOW + 1_500 });
  });

  it('that is stable is doubted again when a message comes', () => {
    const { state } = stepOn('stable', 'event contradicted', {});
    const after = advance(state, event('message'), NOW);
    expect(advance(after.state, { type: 'time' }, NOW).state.phase).toBe('doubted');
    expect(state.phase).toBe('stable');
  });

  it.each([
    ['that the command has started, in a running sandbox', { startedAfter: null }, 'none', 'running', 'open'],
    ['that another client has started', {}, 'none', 'running', 'doubted'],
    ['that has events', { startedAfter: null }, 'some', 'running', 'doubted'],
    ['of a sandbox that does not run', { startedAfter: null }, 'none', 'paused', 'doubted'],
  ] as const)('of a run %s is of the run before or not', (_, own, since_message, sandbox_status, phase) => {
    const state = { ...initial, rules: { ...rules, ...own }, evidence: { ...inProgress, since_message } };
    const conversation = record({ title: 'contradicted', status: 'finished', sandbox_status });
    expect(advance(state, { type: 'state', conversation }, NOW).state.phase).toBe(phase);
  });
});

describe('the events of a run that the command has started', () => {
  it('count from the one before it on', () => {
    const before = conversationEvent('e0', { signal: 'status:other' });
    const state = { ...initial, rules: { ...rules, startedAfter: before } };
    expect(advance(state, { type: 'event', event: before }, NOW).state).toMatchObject({
      evidence: inProgress,
      lastEvent: before,
    });
    expect(advance(state, event('status:other'), NOW).state.evidence).toMatchObject({
      last_event_id: 'e',
      in_progress: false,
    });
  });
});

describe('a record that was read', () => {
  const readIn = (phase: Phase, members: Partial<Conversation>, before: Partial<RunState> = {}): Step =>
    advance(
      { ...initial, phase, ...PHASES[phase], ...before },
      { type: 'read', conversation: record({ title: 'end', status: 'failed', ...members }) },
      NOW,
    );

  it('does not count while it may recover, except at the deadline', () => {
    expect(described(readIn('doubted', { may_recover: true }))).toBe('wait doubted read 1000 until');
    expect(described(readIn('late', { may_recover: true }))).toBe('end 0');
    expect(described(readIn('doubted', { may_recover: true }, { delivered: 'failed' }))).toBe('end 0');
    expect(described(readIn('doubted', { may_recover: true }, { delivered: 'running' }))).toBe(
      'wait doubted read 1000 until',
    );
  });

  it('without a status keeps the record before it, unless that was of the run before', () => {
    const blank = { title: 'open', status: NO_STATUS } as const;
    const running = record();
    expect(readIn('doubted', blank, { record: running }).state.record).toBe(running);
    const other = readIn('doubted', { title: 'open' }, { record: running }).state.record;
    expect(other?.status).toBe('failed');
    expect(readIn('doubted', blank, { record: record({ status: 'finished' }) }).state.record?.status).toBe(NO_STATUS);
    expect(readIn('doubted', blank, { rules: { ...rules, seen: running } }).state.record).toBe(running);
  });
});

describe('the newest record', () => {
  it('is the one that was read last, else the one before the tracking, else none', () => {
    const [read, seen] = [record(), record({ status: 'starting' })];
    expect(newestOf({ ...initial, record: read })).toBe(read);
    expect(newestOf({ ...initial, rules: { ...rules, seen } })).toBe(seen);
    expect(newestOf({ ...initial, record: record({ status: 'finished' }) })).toEqual(blankConversation('c', NOT_READ));
  });
});

describe('the time', () => {
  const time = (state: RunState, nowMs = NOW): string => described(advance(state, { type: 'time' }, nowMs));

  it('ends an ended run when its last events do not come', () => {
    const state: RunState = { ...initial, phase: 'ended', held, untilMs: NOW + 3_000 };
    expect(dueMs(state)).toBe(NOW + 3_000);
    expect(time(state, NOW + 2_999)).toBe('wait ended read until 1');
    expect(time(state, NOW + 3_000)).toBe('end 7');
  });

  it('has the record read when that is due, within what is left', () => {
    const state = { ...initial, readAtMs: NOW + 500 };
    expect(dueMs(state)).toBe(NOW + 500);
    expect(time(state, NOW + 499)).toBe('wait open read 1 until');
    expect(time(state, NOW + 500)).toBe('read 99500 open');
    const late: RunState = { ...state, phase: 'ended', held, untilMs: NOW + 3_000 };
    expect(time(late, NOW + 500)).toBe('read 2500 ended');
  });

  it('at the deadline has the record read for 5 s at most', () => {
    expect(dueMs(initial)).toBe(NOW + 100_000);
    const { state } = advance(initial, { type: 'time' }, NOW + 100_000);
    expect(time(initial, NOW + 100_000)).toBe('read 5000 late');
    expect([state.deadlineMs, state.untilMs]).toEqual([Infinity, NOW + 105_000]);
  });

  it('after the last look has the record read again while there is no outcome', () => {
    const state: RunState = { ...initial, phase: 'late', untilMs: NOW, deadlineMs: Infinity };
    expect(time(state, NOW + 1)).toBe('read -1 late');
  });

  it('at the deadline ends the tracking when the run is to be stopped', () => {
    expect(time({ ...initial, rules: { ...rules, atDeadline: 'stop' } }, NOW + 100_000)).toBe('end 124');
  });

  it('at the deadline leaves 2 s to the last events of an ended run', () => {
    const state: RunState = { ...initial, phase: 'ended', held, untilMs: NOW + 109_000 };
    expect(time(state, NOW + 100_000)).toBe('follow-rest ended read until 2000');
    expect(time({ ...state, untilMs: NOW + 101_000 }, NOW + 100_000)).toBe('follow-rest ended read until 1000');
  });

  it('after an answered confirmation has the record read in 250 ms', () => {
    expect(described(advance({ ...initial, readAtMs: NOW + 10 }, { type: 'answered' }, NOW))).toBe(
      'wait open read 250 until',
    );
  });
});

describe('a pending confirmation', () => {
  const waiting = (members: Partial<RunState>, nowMs = NOW, status: Conversation['status'] = 'waiting'): Step =>
    advance({ ...initial, ...members }, { type: 'state', conversation: record({ title: 'end', status }) }, nowMs);
  const answers = { rules: { ...rules, answers: true } };

  it('is answered while the run is tracked, until the deadline', () => {
    const step = waiting({ ...answers, phase: 'doubted', readAtMs: NOW, held, untilMs: NOW });
    expect(described(step)).toBe('answer open read  until ');
    expect(step.state).toMatchObject({ held: null, quietSinceMs: NOW, noticeAtMs: NOW + 10 * MINUTE });
    expect(described(waiting(answers, NOW + 99_999))).toBe('answer open read  until ');
    expect(described(waiting(answers, NOW + 100_000))).toBe('end 0');
  });

  it('is the outcome when it is not answered, as every other end', () => {
    expect(described(waiting({}))).toBe('end 0');
    expect(described(waiting(answers, NOW, 'finished'))).toBe('end 0');
  });
});

describe('the reason of a run without progress', () => {
  const because = (code: string) => ({ code, text: `because of ${code}` });
  const notice = (before: Conversation | null, members: Partial<Conversation>): string | null =>
    advance({ ...initial, record: before }, { type: 'state', conversation: record(members) }, NOW).notice;

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
  const quiet = (failOnStallMs: number | null): RunState =>
    initialState({ ...rules, deadlineMs: Infinity, failOnStallMs }, NO_EVIDENCE, NOW);
  const read = (state: RunState, minutes: number, status: Conversation['status'] | null = 'running', ms = 0): Step =>
    advance(
      state,
      { type: 'read', conversation: status === null ? null : record({ status }) },
      NOW + minutes * MINUTE + ms,
    );
  const dueIn = ({ state }: Step): number => (dueMs(state) - NOW) / MINUTE;

  it('is reported after ten minutes, and every ten minutes, in whole minutes', () => {
    expect(dueMs(quiet(null))).toBe(NOW + 10 * MINUTE);
    expect(described(advance(quiet(null), { type: 'time' }, NOW + 10 * MINUTE))).toBe('read Infinity open');
    const first = read(quiet(null), 10);
    expect([first.notice, dueIn(first)]).toEqual(['no event of c for 10m', 20]);
    const second = read(first.state, 20, 'running', 59_999);
    expect([second.notice, dueMs(second.state)]).toEqual(['no event of c for 20m', NOW + 30 * MINUTE + 59_999]);
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
    ['waiting', null],
    ['finished', null],
  ] as const)('that is %s is reported with its status: %s', (status, notice) => {
    const step = read(quiet(null), 10, status);
    expect([step.notice, dueIn(step)]).toEqual([notice, 20]);
  });

  it.each(['running', 'starting'] as const)('that is %s ends the tracking after the limit', (status) => {
    expect(dueMs(quiet(2 * MINUTE))).toBe(NOW + 2 * MINUTE);
    expect(described(read(quiet(2 * MINUTE), 1, status, 59_999))).toBe('wait open read until');
    const { next } = read(quiet(2 * MINUTE), 2, status, 5_000);
    expect(next).toMatchObject({ do: 'end', run: { outcome: { status, exit_code: 124 } } });
    expect(next).toMatchObject({ run: { failure: { message: 'no event of conversation c for 2m' } } });
    const { state } = advance(quiet(2 * MINUTE), event(null, 'ls -l'), NOW + MINUTE);
    expect(read(state, 2).next.do).toBe('wait');
    expect(read(state, 3).next).toMatchObject({
      run: { failure: { message: 'no event of conversation c for 2m; the last was: ls -l' } },
    });
  });

  it.each(['waiting', NO_STATUS, null] as const)(
    'that is %s does not end the tracking, and the limit starts again',
    (status) => {
      const step = read(quiet(2 * MINUTE), 2, status);
      expect([step.next.do, step.notice, dueIn(step)]).toEqual(['wait', null, 4]);
    },
  );

  it('has ended when the record is an end at that time', () => {
    const state = { ...quiet(2 * MINUTE), delivered: 'failed' as const };
    const input: Input = { type: 'read', conversation: record({ status: 'failed', title: 'end' }) };
    expect(described(advance(state, input, NOW + 2 * MINUTE))).toBe('end 0');
  });

  it('is reported before a limit that is longer than ten minutes', () => {
    const step = read(quiet(15 * MINUTE), 10);
    expect([step.notice, dueIn(step)]).toEqual(['no event of c for 10m', 15]);
  });

  it.each(['ended', 'late'] as const)('is not reported in phase %s', (phase) => {
    expect(dueMs({ ...quiet(MINUTE), phase })).toBe(Infinity);
  });
});

describe('tracking that ends before the run', () => {
  it.each<[string, AppError, string]>([
    ['its reason', new AppError('timeout', 'too late', { data: { reason: 'no-events' } }), 'no-events'],
    ['its kind where it has no reason', new AppError('timeout', 'too late'), 'timeout'],
    ['its kind where the reason is not text', new AppError('timeout', 'too late', { data: { reason: 1 } }), 'timeout'],
  ])('has the newest record, and of the failure %s', (_, failure, code) => {
    const newest = record({ waiting_for: 'user', cost_usd: 2 });
    const evidence = { ...inProgress, last_event_id: 'e1' };
    expect(unfinished({ ...initial, record: newest, evidence }, failure)).toEqual({
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
