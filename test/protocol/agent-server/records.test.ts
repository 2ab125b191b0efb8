import { expect, it } from 'vitest';
import {
  readAgentConversation,
  readBashOutput,
  readGitChanges,
  readGitDiff,
} from '../../../src/protocol/agent-server/records.ts';

it('a conversation keeps all members of the server beside those that are read', () => {
  const unread = { title: null, created_at: null, updated_at: null, model: null, tags: {} };
  const sent = { id: 'c', execution_status: 'running', workspace: { working_dir: '/w' }, more: 1 };
  expect(readAgentConversation(sent)).toEqual({
    ...unread,
    id: 'c',
    execution_status: 'running',
    working_dir: '/w',
    payload: sent,
  });
  expect(readAgentConversation({ id: 'c' })).toEqual({
    ...unread,
    id: 'c',
    execution_status: null,
    working_dir: null,
    payload: { id: 'c' },
  });
});

it('an output of a command without its members is an empty piece that is not the last', () => {
  expect(readBashOutput({})).toEqual({ order: 0, exit_code: null, stdout: '', stderr: '' });
  expect(readBashOutput({ order: 2, exit_code: 0, stdout: null, stderr: 'e' })).toEqual({
    order: 2,
    exit_code: 0,
    stdout: '',
    stderr: 'e',
  });
});

it('both sides of a file may be null', () => {
  expect(readGitDiff({ original: null, modified: '' })).toEqual({ original: null, modified: '' });
});

it.each<[string, () => unknown]>([
  ['conversation.workspace is not an object', () => readAgentConversation({ workspace: '/w' })],
  [
    'conversation.workspace.working_dir is not',
    () => readAgentConversation({ id: 'c', workspace: { working_dir: 1 } }),
  ],
  ['bash output.exit_code is not a number', () => readBashOutput({ exit_code: '0' })],
  ['changes is not a list', () => readGitChanges({})],
  ['changes[1] is not an object', () => readGitChanges([{ path: 'a', status: 'ADDED' }, null])],
  ['changes.path is not a text', () => readGitChanges([{ path: '', status: 'ADDED' }])],
  ['diff.modified is not a text', () => readGitDiff({ modified: ['a'] })],
])('another shape is refused with its place: %s', (message, read) => {
  expect(read).toThrow(message);
});
