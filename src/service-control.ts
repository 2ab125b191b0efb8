/**
 * What the CLI may ask of the local service; wire.ts joins it to src/service. `dataDir` names the one that is meant;
 * default: the user's own.
 */
export interface LocalService {
  /** Runs in the foreground until a signal, a stop or idleness ends it. */
  run(options: ServeOptions): Promise<void>;
  /** Starts one in the background, or finds the one that runs. */
  ensure(
    options: ServeOptions,
  ): Promise<{ url: string; key: string; pid: number; started: 'now' | 'before'; notice: string | null }>;
  /** Address and key of the one that runs now; null when none does. Starts nothing. */
  running(): Promise<{ url: string; key: string; pid: number } | null>;
  status(dataDir?: string): Promise<LocalServiceStatus>;
  /** How many rules a scenario has; exit 3 when it cannot be used. */
  checkScenario(file: string): Promise<number>;
  /** Reads the replay of a start; exit 3 when it cannot be used. */
  checkReplay(named: string): Promise<void>;
  /** Whether sandboxes can be isolated on this machine, by a trial. */
  isolation(signal: AbortSignal): Promise<Isolation>;
  /** Ends it and everything it started. */
  stop(dataDir?: string): Promise<{ stopped: 'now' | 'was-not-running'; pid: number | null }>;
  /** Path of the log of a service in the background. */
  logFile(dataDir?: string): Promise<string>;
  /**
   * Records unused for longer than the retention (milliseconds), to be deleted. Starts a service in the background when
   * none runs.
   */
  old(retentionMs: number, dataDir?: string): Promise<OldThings & { pid: number; started: 'now' | 'before' }>;
}

/** `unavailable`: not installed or not permitted. `failed`: the trial failed otherwise, and a service would not start. */
export type Isolation = { state: 'works' } | { state: 'unavailable' | 'failed'; why: string };

/** Without records that are in use, or were used since. */
export interface OldThings {
  conversations: OldConversation[];
  /** Those that hold no conversation. */
  sandboxes: OldThing[];
}

export interface OldThing {
  id: string;
  /** Deletes it; fine when it is gone already. `at-work`: it is left alone, for it has begun to work since. */
  remove(): Promise<'gone' | 'at-work'>;
}

export interface OldConversation extends OldThing {
  /** The status of its run, read from the events when its sandbox is paused. */
  state: string;
  /** It was stopped before its end and could be resumed. */
  isUnfinished: boolean;
}

type SpecName = 'bubblewrap' | 'bubblewrap-offline' | 'process';

export interface ServeOptions {
  host?: string;
  port?: number;
  dataDir?: string;
  api?: 'v0' | 'v1' | 'both';
  /** Spec of sandboxes whose creator names none. Default: bubblewrap where it works, else process. */
  spec?: SpecName;
  /** Ends after this long with no conversation running and no client; 0 = never. */
  idleTimeoutMs?: number;
  /** Absolute path of a scenario file: faults that are injected on purpose. */
  scenario?: string;
  /** What conversations play that name no replay: `demo` or an absolute path. */
  replay?: string;
  /** Called once it answers (foreground). */
  onReady?: (service: { url: string; pid: number; data_dir: string }) => Promise<void> | void;
  /** Ends it (foreground), or the wait for its start (background). */
  signal?: AbortSignal;
}

export type LocalServiceStatus = RunningStatus | StoppedStatus;

export interface RunningStatus extends StatusOfEither {
  running: true;
  url: string;
  pid: number;
  version: string;
  started_at: string;
  /** What it runs with, to compare with the flags of a further start. */
  flags: RunningFlags;
}

export interface StoppedStatus extends StatusOfEither {
  running: false;
  url: null;
  pid: null;
  version: null;
  started_at: null;
}

interface StatusOfEither {
  data_dir: string;
  conversations_running: number | null;
  sandboxes_running: number | null;
  /** The scenario file; null: no faults are injected. */
  scenario: string | null;
  /** What conversations play that name no replay: `demo` or a path; null: nothing. */
  replay: string | null;
}

export interface RunningFlags {
  host: string;
  port: number;
  api: 'v0' | 'v1' | 'both';
  /** Null: none was named. */
  spec: SpecName | null;
  idleTimeoutMs: number;
  replay: string | null;
}
