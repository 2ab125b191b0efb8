import { describe, expect, it } from 'vitest';
import { observationDraft } from '../../../../src/service/app/v0-events/observations.ts';

const content = [{ type: 'text', text: 'the content' }];
const observation = (members: object, cause?: number) =>
  observationDraft({ observation: { content, ...members } }, cause);

describe('an observation of V1 in V0', () => {
  it.each([
    [
      { kind: 'TerminalObservation', command: 'ls', exit_code: 0, metadata: { username: 'u' } },
      { observation: 'run', success: true, extras: { command: 'ls', metadata: { username: 'u', exit_code: 0 } } },
    ],
    [
      { kind: 'ExecuteBashObservation', command: 'ls', exit_code: 3 },
      { observation: 'run', success: false, message: 'Command `ls` executed with exit code 3.' },
    ],
    [
      { kind: 'TerminalObservation', command: 'sleep 9', exit_code: null, metadata: { exit_code: 0 } },
      { success: false, extras: { metadata: { exit_code: -1 } } },
    ],
    [
      { kind: 'FileEditorObservation', command: 'view', path: '/a' },
      { observation: 'read', extras: { path: '/a' } },
    ],
    [{ kind: 'FileEditorObservation', command: 'create', path: '/a' }, { observation: 'write' }],
    [
      { kind: 'FileEditorObservation', command: 'insert', path: '/a', old_content: 'o', new_content: 'n' },
      { observation: 'edit', extras: { prev_exist: true, old_content: 'o', new_content: 'n' } },
    ],
    [
      { kind: 'FileEditorObservation', command: 'view', is_error: true },
      { observation: 'error', success: false },
    ],
    [{ kind: 'ThinkObservation' }, { observation: 'think', content: 'Your thought has been logged.' }],
    [{ kind: 'MCPToolObservation' }, { observation: 'mcp', extras: { name: 'MCPToolObservation' } }],
    [
      { kind: 'MCPToolObservation', is_error: true },
      { observation: 'error', content: 'the content' },
    ],
  ])('%j has %j', (members, expected) => {
    expect(observation(members)).toMatchObject({ source: 'agent', ...expected });
  });

  it('of the end of a run is none', () => {
    expect(observation({ kind: 'FinishObservation' })).toBeNull();
  });

  it('has the id of its action where that is known', () => {
    expect(observation({ kind: 'ThinkObservation' }, 0)).toMatchObject({ cause: 0 });
    expect(observation({ kind: 'ThinkObservation' })).not.toHaveProperty('cause');
  });
});
