/**
 * What a command is handed. Types only: wire.ts builds the real one, tests build theirs. Everything expensive is a
 * function, so that a command pays for what it uses.
 */
import type { BranchOnRemote, Checkout, RepositoryChoice } from './checkout/index.ts';
import type { Retriever } from './checkout/pull/index.ts';
import type { Clock } from './clock.ts';
import type { Emitter } from './output/emit.ts';
import type { ProfileStore } from './profiles/store.ts';
import type { NewKey, ResolvedTarget } from './profiles/resolve.ts';
import type { DeviceFlow } from './servers/device-flow.ts';
import type { Server } from './servers/server.ts';
import type { LineInput } from './terminal/line-input.ts';
import type { Progress, Text } from './terminal/progress.ts';
import type { Prompt } from './terminal/prompt.ts';
import type { LocalService } from './service-control.ts';
import type { Machine } from './machine.ts';
import type { Reach } from './servers/reach/reach.ts';
import type { Palette } from './text/palette.ts';

export interface OutputStream {
  /** Resolves when the stream has taken the bytes; rejects with AppError interrupted (141) when the reader is gone. */
  write(chunk: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  /** Columns of a terminal; undefined elsewhere. */
  readonly columns: number | undefined;
  /** Of a terminal: its rows, and the changes of its size; returns what ends the calls. */
  readonly rows?: number | undefined;
  onResize?(listener: () => void): () => void;
}

export interface InputStream {
  readonly isTTY: boolean;
  /** Everything until the end. Throws `usage` on a second reader: one command may read stdin once. */
  readAll(limitBytes?: number): Promise<Uint8Array>;
  /** The stream itself, for prompts and programs. */
  readonly raw: NodeJS.ReadableStream;
  /** Of a terminal: passes every key on as it is, until what is returned is called. */
  rawMode?(): () => void;
}

export interface Io {
  stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
}

export type Format = 'table' | 'tsv' | 'json' | 'ndjson' | 'id';

/** The global flags as given; nothing here is resolved. */
export interface GlobalOptions {
  profile?: string;
  baseUrl?: string;
  apiKeyFile?: string;
  format?: Format;
  fields?: string[];
  /** An expression that is applied to the JSON. */
  jq?: string;
  output?: string;
  input: 'allowed' | 'never';
  yes: 'given' | 'not-given';
  mode: 'live' | 'dry-run';
  requestTimeoutMs?: number;
  /** Requests a second. */
  rate?: number;
  color: 'auto' | 'never';
  debug: 'on' | 'off';
}

/** A request that --dry-run kept back; secrets are redacted. */
export interface DryRunRequest {
  method: string;
  url: string;
  body: unknown;
}

export interface Context {
  readonly io: Io;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** Aborts on SIGINT, SIGTERM and SIGHUP; its reason is the AppError `interrupted` with the right exit code. */
  readonly signal: AbortSignal;
  /** Set once the command line has been read. */
  globals: GlobalOptions;

  /** Whether prompts are possible: stdin and stderr are terminals, no CI, no --no-input. */
  readonly interactive: boolean;
  /** True when stdin or stderr is not a terminal, or CI is set. */
  readonly offTerminal: boolean;

  /** Data to stdout (or --output). */
  readonly out: Emitter;
  /** Set by a command that ends well in itself but whose outcome is not 0, e.g. `wait` on a run that failed. */
  exitCode: number;
  readonly dryRun: { requests: DryRunRequest[] };
  /** Closes connections and timers, so that nothing keeps the process open. */
  dispose(): Promise<void>;
  /** One line to stderr: plain text, or {"notice":…} with json and ndjson. */
  notice(text: string): Promise<void>;
  /** As notice, for what a user should act on. */
  warn(text: string): Promise<void>;
  /** Colours of stderr. */
  palette(): Promise<Palette>;
  /** Makes sure that this value never appears in any output. */
  keepSecret(secret: string): void;
  /** Text without the secrets of this run. */
  redact(text: string): string;
  /** @param elsewhere `nothing`: what is not a terminal gets no lines */
  progress(text: Text, elsewhere?: 'lines' | 'nothing'): Promise<Progress>;
  prompt(): Promise<Prompt>;
  /** Takes the keyboard until it is closed; for a command that is interactive. */
  lineInput(): Promise<LineInput>;
  /** Opens an address in the user's browser; false when there is none. */
  openBrowser(url: string): Promise<boolean>;

  /**
   * The active server, resolved and probed. Starts the local service when `local` is active and no service answers.
   * @param within ends that, besides the context's own signal; the server obeys that one alone
   */
  server(within?: AbortSignal): Promise<Server>;
  /** For `a,b,c` in --profile: each server by its profile name; an unreachable one rejects on its own. */
  servers(within?: AbortSignal): Promise<{ profile: string; server: Promise<Server> }[]>;
  /** Which server and key would be used and where they came from; no request, nothing started. */
  target(): Promise<ResolvedTarget>;
  profiles(): Promise<ProfileStore>;
  /** The checkout the command runs in or at `dir`; null when there is none. */
  checkout(dir?: string): Promise<Checkout | null>;
  /** Reads what `--repo` names; throws `usage`. */
  readRepository(text: string): Promise<RepositoryChoice>;
  /** Whether a remote (a URL, a path, or a remote's name in the checkout `dir`) has a branch. */
  branchOnRemote(remote: string, branch: string, dir?: string): Promise<BranchOnRemote>;
  /** Puts changes among the user's files. */
  retriever(): Promise<Retriever>;
  localService(): Promise<LocalService>;
  /**
   * Locks a file for this process, by another file beside it; `pid`: the process that has it. A lock whose process has
   * ended is taken over. Throws `config` where the folder cannot be written.
   */
  lockFile(file: string): Promise<{ release(): void } | { pid: number }>;
  /** @param timeoutMs of each step */
  reach(timeoutMs: number): Promise<Reach>;
  machine(): Promise<Machine>;
  /** The URLs of the servers that the command has connected to, or has tried to. */
  connectedServers(): readonly string[];
  /** Connects to a server that is not the active one, e.g. to try a key before it is stored. */
  connect(
    target: {
      base_url: string;
      key: string | null;
      local?: boolean;
      sources?: Pick<ResolvedTarget, 'base_url_source' | 'key_source'>;
      /** `now`: the server is probed, whatever is known of it from an earlier command. */
      probed?: 'now';
    },
    within?: AbortSignal,
  ): Promise<Server>;
  /** The sign-in in a browser at a server of which no key is known; nothing is sent yet. */
  deviceFlow(baseUrl: string): Promise<DeviceFlow>;
  /** Fetches a key that belongs to no server yet; null for `none`. Throws `config` when it cannot be had or sent. */
  readKey(from: NewKey): Promise<string | null>;
  /** Remembers and recalls `@last` for a server origin. */
  lastConversation: { get(origin: string): Promise<string | null>; set(origin: string, id: string): Promise<void> };
}
