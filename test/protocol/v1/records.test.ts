import { expect, it } from 'vitest';
import {
  readAppConversation,
  readEvent,
  readSandbox,
  readSpec,
  readStartTask,
} from '../../../src/protocol/v1/records.ts';

it('members that are left out are null', () => {
  const { id, ...rest } = readAppConversation({ id: 'a' });
  expect(id).toBe('a');
  expect([...new Set(Object.values(rest))]).toEqual([null]);
  expect(readStartTask({ id: 'a', status: 'WORKING' })).toMatchObject({
    detail: null,
    request: {},
  });
  expect(readSandbox({ id: 'a', status: 'RUNNING' })).toMatchObject({
    exposed_urls: [],
    last_active_at: null,
  });
  expect(readSpec({ id: 'a' })).toMatchObject({ command: null });
});

it('an event without a kind is unknown, and keeps all members of the server', () => {
  const sent = { id: 'a', more: [1] };
  expect(readEvent(sent)).toEqual({
    id: 'a',
    timestamp: null,
    source: null,
    kind: 'unknown',
    payload: sent,
  });
});

it.each<[string, () => unknown]>([
  ['conversation.id is not a text', () => readAppConversation({ id: 7 })],
  ['conversation is not an object', () => readAppConversation(null)],
  ['start task.status is not a text', () => readStartTask({ id: 'a' })],
  [
    'start task.request is not an object',
    () => readStartTask({ id: 'a', status: 'b', request: 'x' }),
  ],
  [
    'sandbox.exposed_urls is not a list',
    () => readSandbox({ id: 'a', status: 'b', exposed_urls: {} }),
  ],
  [
    'sandbox.exposed_urls[] is not an object',
    () => readSandbox({ id: 'a', status: 'b', exposed_urls: ['x'] }),
  ],
  [
    'sandbox.url is not a text',
    () => readSandbox({ id: 'a', status: 'b', exposed_urls: [{ name: 'x' }] }),
  ],
  ['spec.command', () => readSpec({ id: 'a', command: ['node', 7] })],
  ['event.kind is not a text', () => readEvent({ id: 'a', kind: 5 })],
])('another shape is refused with its place: %s', (message, read) => {
  expect(read).toThrow(message);
});
