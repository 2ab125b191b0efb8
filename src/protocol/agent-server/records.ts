/** What the agent server of a sandbox answers (interface 7.4, 7.5), as far as acs uses it. */
import { asList, asRecord, optionalNumber, optionalRecord, optionalText, requiredText, type Json } from '../shape.ts';

export interface AgentConversationRecord {
  execution_status: string | null;
  working_dir: string | null;
  payload: Json;
}

export function readAgentConversation(value: unknown, place = 'conversation'): AgentConversationRecord {
  const record = asRecord(value, place);
  const workspace = optionalRecord(record, 'workspace', place);
  return {
    execution_status: optionalText(record, 'execution_status', place),
    working_dir: workspace && optionalText(workspace, 'working_dir', `${place}.workspace`),
    payload: record,
  };
}

/** One piece of a command's output; `exit_code` is null until its last. */
export interface BashOutput {
  order: number;
  exit_code: number | null;
  stdout: string;
  stderr: string;
}

export function readBashOutput(value: unknown, place = 'bash output'): BashOutput {
  const record = asRecord(value, place);
  return {
    order: optionalNumber(record, 'order', place) ?? 0,
    exit_code: optionalNumber(record, 'exit_code', place),
    stdout: optionalText(record, 'stdout', place) ?? '',
    stderr: optionalText(record, 'stderr', place) ?? '',
  };
}

export interface GitChange {
  path: string;
  /** ADDED, UPDATED, DELETED, MOVED; V0: A, M, D, U. */
  status: string;
}

export function readGitChanges(value: unknown, place = 'changes'): GitChange[] {
  return asList(value, place).map((item, index) => {
    const record = asRecord(item, `${place}[${index}]`);
    return { path: requiredText(record, 'path', place), status: requiredText(record, 'status', place) };
  });
}

/** Both sides of a file; null where there is none (or where it is not text). */
export function readGitDiff(value: unknown, place = 'diff'): { original: string | null; modified: string | null } {
  const record = asRecord(value, place);
  return {
    original: optionalText(record, 'original', place),
    modified: optionalText(record, 'modified', place),
  };
}
