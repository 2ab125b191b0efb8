import { expect, it } from 'vitest';
import { LiveRun } from '../../../src/commands/conv/live-run.ts';
import { blankConversation } from '../../../src/domain/conversation.ts';
import type { ConversationEvent } from '../../../src/domain/event.ts';
import { conversationEvent } from '../../runs/support/event.ts';

const NOW = Date.parse('2026-11-21T10:01:05Z');
const conversation = { ...blankConversation('c', 'running'), cost_usd: 0.5 };
const live = (run: 'known' | 'requested' = 'known') => new LiveRun(conversation, NOW - 5_000, run);
const event = (members: Partial<ConversationEvent>) => conversationEvent('e', members);

it('the line of a run has its status, the time since the message, and the cost', () => {
  const run = live();
  expect(run.line(NOW)).toBe('running · 0:05 · $0.50');
  run.onEvent(event({ signal: 'message', kind: 'MessageEvent', timestamp: '2026-11-21T10:00:00Z' }));
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
  [{ value: { usage_to_metrics: { a: { accumulated_cost: 1 }, b: { accumulated_cost: 0.25 } } } }, '$1.25'],
  [{ llm_metrics: { accumulated_cost: 0.001 } }, '$0.0010'],
  [{ value: { usage_to_metrics: { a: {} } } }, '$0.50'],
  [{ llm_metrics: null, value: null }, '$0.50'],
])('the cost of an event with %o is %s', (payload, cost) => {
  const run = live();
  run.onEvent(event({ kind: 'other', payload }));
  expect(run.line(NOW)).toBe(`running · 0:05 · ${cost}`);
});

it('the line of a run without a known cost has none', () => {
  expect(new LiveRun({ ...conversation, cost_usd: null }, NOW, 'known').line(NOW)).toBe('running · 0:00');
});
