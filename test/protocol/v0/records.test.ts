import { expect, it } from 'vitest';
import {
  readConversationInfo,
  readEventsV0,
  readEventV0,
} from '../../../src/protocol/v0/records.ts';

it('a conversation of an old server has null for members that the server does not know', () => {
  const { conversation_id, status, ...rest } = readConversationInfo({
    conversation_id: 'a',
    status: 'RUNNING',
  });
  expect([conversation_id, status]).toEqual(['a', 'RUNNING']);
  expect([...new Set(Object.values(rest))]).toEqual([null]);
});

it('events keep all members of the server, and has_more is false unless it is true', () => {
  const event = { id: 0, source: 'agent', action: 'run', args: { command: 'ls' } };
  expect(readEventsV0({ events: [event], has_more: 'yes' })).toEqual({
    events: [
      { id: 0, timestamp: null, source: 'agent', action: 'run', observation: null, payload: event },
    ],
    has_more: false,
  });
  expect(readEventsV0({ events: [], has_more: true }).has_more).toBe(true);
});

it.each<[string, () => unknown]>([
  ['conversation.conversation_id is not a text', () => readConversationInfo({ status: 'RUNNING' })],
  ['conversation.status is not a text', () => readConversationInfo({ conversation_id: 'a' })],
  [
    'conversation.title is not a text or null',
    () => readConversationInfo({ conversation_id: 'a', status: 'b', title: 1 }),
  ],
  ['event.id is not a number', () => readEventV0({ id: '1' })],
  ['events.events is not a list', () => readEventsV0({})],
  ['events[1] is not an object', () => readEventsV0({ events: [{ id: 1 }, 'x'] })],
])('another shape is refused with its place: %s', (message, read) => {
  expect(read).toThrow(message);
});
