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

/** Signals that a client may send to its program. */
export const PROGRAM_SIGNALS = ['SIGHUP', 'SIGINT', 'SIGPIPE', 'SIGTERM'] as const;
export type ProgramSignal = (typeof PROGRAM_SIGNALS)[number];

/**
 * A program of a client, run without a shell. Its output comes as `output` frames in base64, at most `window` bytes
 * more than `exec_more` has granted.
 */
export interface ExecParameters {
  /** Null: an interactive shell, which needs `terminal`. */
  argv: string[] | null;
  /** Relative to the workspace; null: there. */
  cwd: string | null;
  /** Set on top of the environment of commands. */
  env: Record<string, string>;
  /** `none`: stdin is /dev/null. */
  stdin: 'none' | 'stream';
  /** Not null: it runs on a pseudo-terminal of this size, and all of its output is stdout. */
  terminal: TerminalSize | null;
  window: number;
}

export interface TerminalSize {
  columns: number;
  rows: number;
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
  /** 126: the program cannot be run; 127: it does not exist; 128 and the number of the signal that ended it. */
  exec: { takes: ExecParameters; gives: { exitCode: number } };
  /** Answered when the program has taken the data, or takes none any more. */
  exec_write: { takes: { run: number; data: string; last: boolean }; gives: Record<string, never> };
  exec_more: { takes: { run: number; bytes: number }; gives: Record<string, never> };
  /** To the process group of the program. */
  exec_signal: { takes: { run: number; signal: ProgramSignal }; gives: Record<string, never> };
  exec_resize: { takes: { run: number; size: TerminalSize }; gives: Record<string, never> };
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

/** `code`: not-found, not-a-file, too-large, invalid, unsupported, or failed for anything unforeseen. */
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
