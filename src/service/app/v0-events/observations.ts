/** Observations of V1 as V0 has them. */
import { asRecord, asText, textsOf } from './actions.ts';
import type { V0Draft } from './event.ts';

type Members = Record<string, unknown>;

/** An ObservationEvent; null: V0 has none, as for the end of a run. */
export function observationDraft(event: Members, cause: number | undefined): V0Draft | null {
  const observation = asRecord(event.observation);
  const content = textsOf(observation.content);
  const draft = draftOf(asText(observation.kind), observation, content);
  if (draft === null) return null;
  return { source: 'agent', ...(cause === undefined ? {} : { cause }), ...draft };
}

type Draft = Pick<V0Draft, 'message' | 'observation' | 'content' | 'extras'> & { success?: boolean };

function draftOf(kind: string, observation: Members, content: string): Draft | null {
  const isError = observation.is_error === true;
  switch (kind) {
    case 'TerminalObservation':
    case 'ExecuteBashObservation':
      return runDraft(observation, content);
    case 'FileEditorObservation':
      return isError ? errorDraft(content) : editorDraft(observation, content);
    case 'FinishObservation':
      return null;
    case 'ThinkObservation':
      return {
        message: 'I have noted the thought.',
        observation: 'think',
        content: 'Your thought has been logged.',
        extras: {},
      };
    default:
      return isError ? errorDraft(content) : { message: content, observation: 'mcp', content, extras: { name: kind } };
  }
}

function runDraft(observation: Members, content: string): Draft {
  const command = asText(observation.command);
  const exitCode = typeof observation.exit_code === 'number' ? observation.exit_code : -1;
  const metadata = { username: null, hostname: null, py_interpreter_path: null, ...asRecord(observation.metadata) };
  return {
    message: `Command \`${command}\` executed with exit code ${exitCode}.`,
    observation: 'run',
    content,
    extras: { command, metadata: { ...metadata, exit_code: exitCode }, hidden: false },
    success: exitCode === 0,
  };
}

function editorDraft(observation: Members, content: string): Draft {
  const path = asText(observation.path);
  const command = observation.command;
  if (command === 'view') {
    return {
      message: `I read the file ${path}.`,
      observation: 'read',
      content,
      extras: { path, impl_source: 'default' },
    };
  }
  if (command === 'create')
    return { message: `I wrote to the file ${path}.`, observation: 'write', content, extras: { path } };
  const { prev_exist = true, old_content = null, new_content = null } = observation;
  const extras = { path, prev_exist, old_content, new_content, impl_source: 'default', diff: null };
  return { message: `I edited the file ${path}.`, observation: 'edit', content, extras };
}

/** Something that could not be carried out. */
export function errorDraft(content: string): Draft {
  return { message: content, observation: 'error', content, extras: { error_id: '' }, success: false };
}
