/** A JSON object a line over stdio; binary data is base64, paths are relative to the workspace. */

/** The output comes as `output` frames, at most `window` bytes more than `read` has granted. */
export interface RunParameters {
  argv: string[];
  cwd: string;
  /** Set on top of the environment of the helper, or the whole environment. */
  env: Record<string, string>;
  inherits: boolean;
  /** False: stdin is /dev/null; true: what `write` sends. */
  stdin: boolean | string;
  /** `closed`: also processes in the background have closed the outputs; `silent`: are silent. */
  until: 'closed' | 'silent';
  window: number;
}

/** 126: cannot be run; 127: does not exist; 128 and the number of the signal that ended it. */
export interface RunEnd {
  exitCode: number;
  pid: number;
}

/** Signals to the process group of a program; SIGKILL ends everything it started. */
export type ProgramSignal = 'SIGHUP' | 'SIGINT' | 'SIGPIPE' | 'SIGTERM' | 'SIGKILL';

/** Chunks of one download or upload share a token. */
export interface ReadParameters {
  path: string;
  /** Names the file that the chunk at offset 0 has opened. Length 0 closes it. */
  token: string;
  offset: number;
  length: number;
  /** The file must not be outside of this folder, also not through a link. */
  within?: string;
}

export interface WriteParameters {
  path: string;
  token: string;
  data: string;
  /** `done`: the file replaces the one at its path; `abandoned`: the part is removed. */
  then: 'more' | 'done' | 'abandoned';
}

type Nothing = Record<string, never>;

/** Each operation with its request and its result. `run` in a request is the number of a run. */
export interface Operations {
  run: { takes: RunParameters; gives: RunEnd };
  signal: { takes: { run: number; signal: ProgramSignal }; gives: Nothing };
  /** `size` is that at the time of the opening. From a run: lets it send so many bytes more. */
  read: {
    takes: ReadParameters | { run: number; bytes: number };
    gives: { data: string; size: number } | Nothing;
  };
  /** To a run: stdin; answered when the program has taken the data, or takes none any more. */
  write: { takes: WriteParameters | { run: number; data: string; last: boolean }; gives: Nothing };
  list: { takes: { path: string }; gives: { entries: { name: string; isFolder: boolean }[] } };
}

export type Operation = keyof Operations;

export type Request = {
  [K in Operation]: { id: number; op: K } & Operations[K]['takes'];
}[Operation];

export const FAILURE_CODES = ['not-found', 'not-a-file', 'invalid', 'failed'] as const;

export interface Failure {
  code: (typeof FAILURE_CODES)[number];
  message: string;
}

/** When the helper has started, it answers the request 0 with `{ workingDir }`. */
export type Answer =
  | { type: 'output'; id: number; stream: 'stdout' | 'stderr'; data: string }
  | { type: 'result'; id: number; result: unknown }
  | { type: 'failure'; id: number; failure: Failure };

/** In bytes: more than a chunk of a file, and than the names in a large folder. */
export const LONGEST_LINE = 32 * 1024 * 1024;
