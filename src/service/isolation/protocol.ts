/**
 * The protocol between the worker and `inside.ts` over stdio, one JSON object a line. The worker validates every answer
 * (frames.ts): a command can open the descriptors of the helper and write to them.
 */
import type { EditorCommand } from '../agents/replay/steps.ts';

/** A shell command to run. */
export interface RunParameters {
  command: string;
  /** Commands of one session share working directory and exported environment; null: a shell of its own. */
  session: string | null;
  /** True: a new session begins before the command. */
  reset: boolean;
  /** Where a new session begins; relative to the workspace. */
  startIn: string;
  /** Where to run; relative to where the session is. Null: there. */
  cwd: string | null;
  /** Set on top of the session's environment. */
  env: Record<string, string>;
  /** True: stderr goes where stdout goes, in order, as on a terminal. */
  merged: boolean;
  /** True: the kept beginning is passed on while the command runs. */
  live: boolean;
  /** Characters kept from the beginning and from the end of each stream; the part between is counted and dropped. */
  keepHead: number;
  keepTail: number;
}

/** How a command ended. `exitCode` is -1 when it was ended by `kill`, or could not be started. */
export interface RunEnd {
  exitCode: number;
  killed: boolean;
  stdout: string;
  stderr: string;
  /** Where the session is now. */
  cwd: string;
  pid: number;
}

/** The file editor's parameters; the path may be relative to `cwd`. */
export interface EditParameters {
  command: EditorCommand;
  path: string;
  cwd: string;
  file_text?: string;
  old_str?: string;
  new_str?: string;
  insert_line?: number;
  view_range?: [number, number];
}

/** The result of the editor. `text` is the observation of the agent. */
export interface EditResult {
  text: string;
  isError: boolean;
  path: string;
  previouslyExisted: boolean;
  oldContent: string | null;
  newContent: string | null;
}

export interface GitChange {
  status: 'MOVED' | 'ADDED' | 'DELETED' | 'UPDATED';
  path: string;
}

/** Each operation with its request and its result. Binary data is base64. */
export interface Operations {
  run: { takes: RunParameters; gives: RunEnd };
  kill: { takes: { run: number }; gives: Record<string, never> };
  /** Answered when every request before it has been begun. */
  ping: { takes: Record<string, never>; gives: Record<string, never> };
  edit: { takes: EditParameters; gives: EditResult };
  read: {
    /**
     * Chunks of one download share a token, and the file that the one at offset 0 opened; length 0 closes it. `size` is
     * that at the time of the opening.
     */
    takes: { path: string; token: string; offset: number; length: number };
    gives: { data: string; size: number };
  };
  write: {
    /**
     * Chunks of one upload share a token. With `done` the file appears at its place, with `abandoned` what was written
     * of it is removed.
     */
    takes: { path: string; token: string; data: string; then: 'more' | 'done' | 'abandoned' };
    gives: Record<string, never>;
  };
  home: { takes: Record<string, never>; gives: { home: string } };
  git_changes: { takes: { path: string; ref: string | null }; gives: { changes: GitChange[] } };
  git_diff: {
    takes: { path: string; ref: string | null };
    gives: { original: string | null; modified: string | null };
  };
  git_delta: { takes: { path: string; ref: string | null }; gives: { patch: string } };
}

export type Operation = keyof Operations;

export type Request = { [K in Operation]: { id: number; op: K } & Operations[K]['takes'] }[Operation];

/** `code`: not-found, not-a-file, too-large, invalid, or failed for anything unforeseen. */
export interface Failure {
  code: string;
  message: string;
}

export type Answer =
  | { type: 'hello'; workingDir: string }
  | { type: 'output'; id: number; stream: 'stdout' | 'stderr'; text: string }
  | { type: 'result'; id: number; result: unknown }
  | { type: 'failure'; id: number; failure: Failure };

/**
 * Longest line the worker accepts, in bytes. The longest that comes is the result of a client's own command: 9 Mi
 * characters of each stream, each of them six bytes in JSON when it is a control character.
 */
export const LONGEST_LINE = 128 * 1024 * 1024;
