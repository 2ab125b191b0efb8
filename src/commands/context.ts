/** What a command is handed: types only. Everything expensive is a function. */
import type { BranchOnRemote, Checkout, RepositoryChoice } from '../local/checkout/index.ts';
import type { Retriever } from '../local/checkout/pull.ts';
import type { Clock } from '../base/clock.ts';
import type { Emitter } from '../output/emit.ts';
import type { ProfileStore } from '../local/profiles/store.ts';
import type { NewKey, ResolvedTarget, TargetPlan } from '../local/profiles/resolve.ts';
import type { DeviceFlow } from '../client/device-flow.ts';
import type { ModelEndpoint } from '../client/model-endpoint.ts';
import type { Server } from '../client/shared/server.ts';
import type { LineInput } from '../terminal/line-input.ts';
import type { Progress, Text } from '../terminal/progress.ts';
import type { Prompt } from '../terminal/prompt.ts';
import type { LocalService } from '../cli/create-context/local-service.ts';
import type { Palette } from '../base/text/notice.ts';

export interface OutputStream {
  /**
   * Resolves when the stream has taken the bytes; rejects with AppError interrupted (141) when the
   * reader is gone.
   */
  write(chunk: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  /** Columns of a terminal; undefined elsewhere. */
  readonly columns: number | undefined;
  readonly rows?: number | undefined;
  onResize?(listener: () => void): () => void;
}

export interface InputStream {
  readonly isTTY: boolean;
  /** A pipe or a file, as after `|` and `<` in a shell; whether it has bytes is not known. */
  readonly isPiped?: boolean;
  /** Throws `usage` on a second reader. */
  readAll(limitBytes?: number): Promise<Uint8Array>;
  readonly raw: NodeJS.ReadableStream;
  rawMode?(): () => void;
}

export interface Io {
  stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
}

export type Format = 'table' | 'tsv' | 'json' | 'ndjson' | 'id';

export interface GlobalOptions {
  profile?: string;
  baseUrl?: string;
  apiKeyFile?: string;
  format?: Format;
  fields?: string[];
  jq?: string;
  output?: string;
  input: 'allowed' | 'never';
  yes: 'given' | 'not-given';
  mode: 'live' | 'dry-run';
  requestTimeoutMs?: number;
  color: 'auto' | 'never';
  pager: 'auto' | 'never';
  debug: 'on' | 'off';
}

export interface Context {
  readonly io: Io;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  /**
   * Aborts on SIGINT, SIGTERM and SIGHUP; its reason is the AppError `interrupted` with the right
   * exit code.
   */
  readonly signal: AbortSignal;
  /** Set once the command line has been read. */
  globals: GlobalOptions;

  /** Whether prompts are possible: stdin and stderr are terminals, no CI, no --no-input. */
  readonly interactive: boolean;
  /** True when stdin or stderr is not a terminal, or CI is set. */
  readonly offTerminal: boolean;

  readonly out: Emitter;
  /**
   * Set by a command that ends well in itself but whose outcome is not 0, e.g. `wait` on a run that
   * failed.
   */
  exitCode: number;
  dispose(): Promise<void>;
  /**
   * One line to stderr: plain text, or {"notice":…} with json and ndjson. With -q nothing, unless a
   * question needs it.
   */
  notice(text: string, of?: 'question'): Promise<void>;
  /** Nothing with -q. */
  warn(text: string): Promise<void>;
  /**
   * Only with -q: a failure that does not end the command, and that other formats have in a record
   * or a notice.
   */
  quietError(text: string): Promise<void>;
  /** Colours of stderr. */
  palette(): Promise<Palette>;
  keepSecret(secret: string): boolean;
  redact(text: string): string;
  /** Nothing with -q. @param elsewhere `nothing`: what is not a terminal gets no lines */
  progress(text: Text, elsewhere?: 'lines' | 'nothing'): Promise<Progress>;
  prompt(): Promise<Prompt>;
  lineInput(): Promise<LineInput>;
  /** False when there is no browser. */
  openBrowser(url: string): Promise<boolean>;

  /**
   * Resolved and probed; starts the local service when `local` is active and none answers. `within`
   * ends that too.
   */
  server(within?: AbortSignal, use?: ConnectTarget['use']): Promise<Server>;
  /** Sends no request and starts nothing. */
  target(): Promise<ResolvedTarget>;
  /** As `target`, without the key: runs no command that prints one. */
  plan(): Promise<TargetPlan>;
  profiles(): Promise<ProfileStore>;
  /** Null when there is no checkout. */
  checkout(dir?: string): Promise<Checkout | null>;
  readRepository(text: string): Promise<RepositoryChoice>;
  /** Whether a remote (a URL, a path, or a remote's name in the checkout `dir`) has a branch. */
  branchOnRemote(remote: string, branch: string, dir?: string): Promise<BranchOnRemote>;
  retriever(): Promise<Retriever>;
  localService(): Promise<LocalService>;
  /** `pid`: the process that has the lock. Throws `config` where the folder cannot be written. */
  lockFile(file: string): Promise<{ release(): void } | { pid: number }>;
  machine(): Promise<{
    /** Folder of the package, where bin/, completions/ and dist/ are. */
    root: string;
    platform: string;
    nodeVersion: string;
    acsVersion: string;
    /** Null: git is not installed. */
    gitVersion(): Promise<string | null>;
  }>;
  connectedServers(): readonly string[];
  connect(target: ConnectTarget, within?: AbortSignal): Promise<Server>;
  deviceFlow(baseUrl: string): Promise<DeviceFlow>;
  modelEndpoint(baseUrl: string, key: string | null): Promise<ModelEndpoint>;
  /** Null for `none`. Throws `config` when the key cannot be had or sent. */
  readKey(from: NewKey): Promise<string | null>;
  lastConversation: {
    get(origin: string): Promise<string | null>;
    set(origin: string, id: string | null): Promise<void>;
  };
}

export interface ConnectTarget {
  base_url: string;
  key: string | null;
  local?: boolean;
  sources?: Pick<ResolvedTarget, 'base_url_source' | 'key_source'>;
  /** `none`: the server is probed, and nothing is stored. */
  cache?: 'none';
  /** `calls`: an agent server is accepted too; only `call` works there. */
  use?: 'calls' | undefined;
}

export interface Platform {
  /** Folder of the package, where bin/ and dist/ are. */
  root: string;
  io: Io;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  home: string;
  platform: string;
  clock: Clock;
  signal: AbortSignal;
}
