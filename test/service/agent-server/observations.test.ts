import { expect, it } from 'vitest';
import {
  agentError,
  editorObservation,
  finishObservation,
  rejection,
  terminalObservation,
  thinkObservation,
} from '../../../src/service/agent-server/observations.ts';

const CAUSE = { tool_name: 'terminal', tool_call_id: 'call_1', action_id: 'a' };
const RESULT = { exitCode: 3, timedOut: false, killed: false, stdout: '', stderr: '', cwd: '/w', pid: 7 };
const EDIT = { type: 'edit', command: 'create', path: 'a', file_text: '', thought: '' } as const;
const EDITED = {
  text: 'done',
  isError: false,
  path: '/w/a',
  previouslyExisted: false,
  oldContent: null,
  newContent: '',
};

it('every answer to an action names its tool and its call', () => {
  const events = [
    terminalObservation(CAUSE, 'ls', 'out', RESULT),
    editorObservation(CAUSE, EDIT, EDITED),
    finishObservation(CAUSE, 'done'),
    thinkObservation(CAUSE),
    rejection(CAUSE, 'no'),
    agentError(CAUSE, 'interrupted'),
  ];
  for (const event of events) expect(event).toMatchObject({ tool_name: 'terminal', tool_call_id: 'call_1' });
  expect(events.map((event) => event['action_id'])).toEqual(['a', 'a', 'a', 'a', 'a', undefined]);
});

it('an observation of a command has its exit code, and reports a timeout that has ended it', () => {
  const ended = terminalObservation(CAUSE, 'ls', 'out', RESULT)['observation'];
  expect(ended).toMatchObject({ exit_code: 3, timeout: false, metadata: { pid: 7, working_dir: '/w' } });
  expect(ended).toMatchObject({ metadata: { suffix: '\n[The command completed with exit code 3.]' } });
  const late = terminalObservation(CAUSE, 'ls', 'out', { ...RESULT, exitCode: -1, timedOut: true })['observation'];
  expect(late).toMatchObject({
    exit_code: -1,
    timeout: true,
    metadata: { suffix: expect.stringContaining('longer') as string },
  });
});

it('an observation of the editor leaves out contents that are null, and keeps empty ones', () => {
  const observation = editorObservation(CAUSE, EDIT, EDITED)['observation'];
  expect(observation).toMatchObject({ prev_exist: false, new_content: '', path: '/w/a', command: 'create' });
  expect(observation).not.toHaveProperty('old_content');
});
