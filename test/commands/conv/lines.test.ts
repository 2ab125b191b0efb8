/** The lines of people: of an event, and of a run on the status line. */
import { describe, expect, it } from 'vitest';
import type { Context } from '../../../src/commands/context.ts';
import { widthOf } from '../../../src/base/text/width.ts';
import { eventView } from '../../../src/commands/conv/event-view.ts';
import { LiveRun } from '../../../src/commands/conv/live-run.ts';
import { blankConversation } from '../../../src/domain/conversation.ts';
import type { ConversationEvent } from '../../../src/domain/event.ts';
import { conversationEvent } from '../../runs/support/source.ts';

describe('the line of an event', () => {
  const line = (members: Partial<ConversationEvent>, startedAt: string | null = null): string => {
    const usual = {
      timestamp: '2026-01-01T00:01:05.000000Z',
      source: 'agent',
      kind: 'ActionEvent',
      text: 'does it',
    };
    const event = conversationEvent('1', { ...usual, ...members });
    const parts = eventView(startedAt).line?.(event) ?? [];
    return parts.map(({ text }) => text).join('');
  };

  it('begins with the time since the start', () => {
    expect(line({}, '2026-01-01T00:00:00Z')).toBe(' 1:05  → does it');
    expect(line({ timestamp: null })).toBe('       → does it');
  });

  it('of an unknown kind is its text', () => {
    expect(line({ kind: 'NewKindOfEvent', text: 'NewKindOfEvent' })).toBe(
      ' 0:00  · NewKindOfEvent',
    );
  });

  it('marks errors', () => {
    expect(line({ kind: 'ConversationErrorEvent', text: 'LLMBadRequestError: no' })).toBe(
      ' 0:00  ✗ LLMBadRequestError: no',
    );
  });

  it('has the first lines of a long command and the count of the others', () => {
    const script = Array.from({ length: 15 }, (_, index) => `line ${index + 1}`);
    const whole = line({
      text: '$ cd x …',
      payload: { action: { kind: 'TerminalAction', command: 'cd x\n  make\n' } },
    });
    expect(whole).toBe(' 0:00  $ cd x\n    make');
    const long = line({
      kind: 'action:run',
      text: '$ line 1 …',
      payload: { args: { command: script.join('\n') } },
    });
    expect(long.split('\n').slice(-2)).toEqual(['  line 12', '  … 3 more lines']);
  });

  it('keeps the columns of the output of a failed command', () => {
    const observed = (text: string) => ({
      kind: 'ObservationEvent',
      payload: { observation: { exit_code: 2, content: [{ text }] } },
    });
    expect(line(observed('a  b\n1  2\n'))).toBe(' 0:00  ✗ exit 2\na  b\n1  2');
    expect(line(observed('no such file'))).toBe(' 0:00  ✗ exit 2  no such file');
  });

  it('has the whole answer, however long it and its lines are', () => {
    const answer = [
      ...Array.from({ length: 100 }, (_, index) => `point ${index}`),
      'x'.repeat(5000),
    ].join('\n');
    const payload = { action: { kind: 'FinishAction', message: answer } };
    expect(line({ payload })).toBe(` 0:00  ✓ ${answer}`);
  });

  it('has whole messages, over both dialects', () => {
    const content = [{ type: 'text', text: 'one\ntwo' }];
    expect(line({ kind: 'MessageEvent', payload: { llm_message: { content } } })).toBe(
      ' 0:00  agent  one\ntwo',
    );
    expect(
      line({
        kind: 'action:message',
        signal: 'message',
        payload: { args: { content: 'one\ntwo' } },
      }),
    ).toBe(' 0:00  you    one\ntwo');
  });
});

const NOW = Date.parse('2026-11-21T10:01:05Z');
const conversation = { ...blankConversation('c', 'running'), cost_usd: 0.5 };
const live = (run: 'known' | 'requested' = 'known') => new LiveRun(conversation, NOW - 5_000, run);
const event = (members: Partial<ConversationEvent>) => conversationEvent('e', members);

it('the line of a run has its status, the time since the message, and the cost', () => {
  const run = live();
  expect(run.line(NOW)).toBe('running · 0:05 · $0.50');
  run.onEvent(
    event({ signal: 'message', kind: 'MessageEvent', timestamp: '2026-11-21T10:00:00Z' }),
  );
  expect(run.line(NOW)).toBe('running · 1:05 · $0.50');
  run.onState({ ...conversation, status: 'finished', cost_usd: null });
  expect(run.line(NOW)).toBe('finished · 1:05 · $0.50');
  run.onState({ ...conversation, status: 'finished', cost_usd: 0.75 });
  expect(run.line(NOW)).toBe('finished · 1:05 · $0.75');
});

it('the line of a run that was requested does not show the status of the run before', () => {
  expect(live('requested').line(NOW)).toBe('requested · 0:05 · $0.50');
});

it('the line of a run shows the action that has no result yet', () => {
  const run = live();
  run.onEvent(event({ kind: 'ActionEvent', source: 'agent', text: '$ make', payload: {} }));
  run.onEvent(event({ kind: 'ConversationStateUpdateEvent', text: 'title' }));
  expect(run.line(NOW)).toBe('running · 0:05 · $0.50 · $ make');
  run.onEvent(event({ kind: 'ObservationEvent', text: 'made' }));
  expect(run.line(NOW)).toBe('running · 0:05 · $0.50');
});

it.each([
  [
    { value: { usage_to_metrics: { a: { accumulated_cost: 1 }, b: { accumulated_cost: 0.25 } } } },
    ' · $1.25',
  ],
  [{ llm_metrics: { accumulated_cost: 0.001 } }, ' · $0.0010'],
  [{ value: { usage_to_metrics: { a: {} } } }, ''],
  [{ llm_metrics: null, value: null }, ' · $0.50'],
])('the cost after an event with %o is "%s"', (payload, cost) => {
  const run = live();
  run.onEvent(event({ kind: 'other', payload }));
  expect(run.line(NOW)).toBe(`running · 0:05${cost}`);
});

it('the line of a run without a known cost has none', () => {
  expect(new LiveRun({ ...conversation, cost_usd: null }, NOW, 'known').line(NOW)).toBe(
    'running · 0:00',
  );
});

describe('the answer that is being written, above the line of a run', () => {
  const ended = new AbortController();
  let size = { columns: 21, rows: 6 };
  let above: () => readonly string[] = () => [];
  const context = {
    clock: { now: () => NOW },
    signal: ended.signal,
    terminal: {
      io: {
        stderr: {
          get columns() {
            return size.columns;
          },
          get rows() {
            return size.rows;
          },
        },
      },
      progress: (_text: unknown, _elsewhere: unknown, lines = above) => {
        above = lines;
        return Promise.resolve({
          update: () => undefined,
          done: () => Promise.resolve(),
        });
      },
    },
  } as unknown as Context;

  it('is safe, fits to the width with wide characters, and has the newest lines for which there is room', async () => {
    const run = live();
    const { onPartial, progress } = await run.show(context, true);
    expect(above()).toEqual([]);
    let text = 'one \x1b[31mtwo';
    onPartial?.(() => text);
    expect(above().join('\n')).toContain('\\x1b[31mtwo');
    text = '漢'.repeat(30);
    expect(Math.max(...above().map(widthOf))).toBeLessThanOrEqual(20);
    expect(above().join('').match(/漢/gu)).toHaveLength(30);
    text = Array.from({ length: 50 }, (_, index) => `line ${index}`).join('\n');
    expect(above().map((line) => line.trim())).toEqual([
      'line 46',
      'line 47',
      'line 48',
      'line 49',
    ]);
    size = { columns: 21, rows: 2 };
    expect(above()).toEqual([]);
    size = { columns: 21, rows: 6 };
    run.onEvent(event({ source: 'user', signal: 'message' }));
    expect(above()).toHaveLength(4);
    run.onEvent(event({ source: 'agent', signal: 'activity' }));
    expect(above()).toEqual([]);
    onPartial?.(() => text);
    await progress.done();
    expect(above()).toEqual([]);
    onPartial?.(() => text);
    ended.abort();
    expect(above()).toEqual([]);
  });

  it('is not asked for where it is not shown', async () => {
    const { onPartial } = await live().show(context, false);
    expect(onPartial).toBeUndefined();
  });
});
