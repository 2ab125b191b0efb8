/** What a command is handed: types only. Everything expensive is a function. */
import type { BranchOnRemote, Checkout, RepositoryChoice } from '../local/checkout/index.ts';
import type { Retriever } from '../local/checkout/pull.ts';
import type { UncommittedFile } from '../local/checkout/snapshot.ts';
import type { Clock } from '../base/clock.ts';
import type { Io } from '../base/streams.ts';
import type { Emitter, Format } from '../output/emit.ts';
import type { ProfileStore } from '../local/profiles/store.ts';
import type { NewKey, ResolvedTarget, TargetPlan } from '../local/profiles/resolve.ts';
import type { DeviceFlow } from '../client/device-flow.ts';
import type { ModelEndpoint, ModelInterface } from '../client/model-endpoint.ts';
import type { Server } from '../client/shared/server.ts';
import type { CheckoutChanges, CheckoutProof } from '../domain/new-conversation.ts';
import type { LineInput } from '../terminal/line-input.ts';
import type { Progress, Text } from '../terminal/progress.ts';
import type { Prompt } from '../terminal/prompt.ts';
import type { Screen } from '../terminal/status-line.ts';
import type { LocalService } from '../cli/create-context/local-service.ts';
import type { Palette } from '../base/text/notice.ts';

export interface GlobalOptions {
  profile?: string;
  baseUrl?: string;
  apiKeyFile?: string;
  format?: Format;
  fields?: string[];
  jq?: string;
  output?: string;
  /** --output of a command that writes more than its data: a folder, or a file of its own. */
  target?: string;
  input: 'allowed' | 'never';
  yes: 'given' | 'not-given';
  mode: 'live' | 'dry-run';
  requestTimeoutMs?: number;
  color: 'auto' | 'never';
  pager: 'auto' | 'never';
  debug: 'on' | 'off';
}

/** The flags that choose the active server and what is sent to it. */
export type ServerChoice = Partial<
  Pick<GlobalOptions, 'profile' | 'baseUrl' | 'apiKeyFile' | 'mode'>
>;

export interface Context {
  readonly globals: GlobalOptions;
  readonly clock: Clock;
  /** Aborts on SIGINT, SIGTERM and SIGHUP; its reason is an AppError `interrupted`. */
  readonly signal: AbortSignal;
  readonly out: Emitter;
  /** Set by a command that ends well but whose outcome is not 0, e.g. `wait` on a failed run. */
  exitCode: number;
  /** A line on stderr, {"notice":…} with json and ndjson. With -q only what a question needs. */
  notice(text: string, of?: 'question'): Promise<void>;
  /** Nothing with -q. */
  warn(text: string): Promise<void>;
  readonly terminal: Terminal;
  readonly git: Git;
  readonly profiles: Profiles;
  readonly servers: Servers;
  readonly local: Local;
}

/** The standard streams, and what is shown and asked there. */
export interface Terminal {
  readonly io: Io;
  /** Whether prompts are possible: stdin and stderr are terminals, no CI, no --no-input. */
  readonly interactive: boolean;
  /** True when stdin or stderr is not a terminal, or CI is set. */
  readonly offTerminal: boolean;
  /** Colours of stderr. */
  palette(): Promise<Palette>;
  /** Only with -q: a failure that other formats have in a record or a notice. */
  quietError(text: string): Promise<void>;
  /** Masks a value in all output from now on; false when it is too short for that, or masked. */
  keepSecret(secret: string): boolean;
  redact(text: string): string;
  /**
   * Nothing with -q. @param elsewhere `nothing`: what is not a terminal gets no lines
   * @param above safe lines above a text that is a function
   */
  progress(
    text: Text,
    elsewhere?: 'lines' | 'nothing',
    above?: () => readonly string[],
  ): Promise<Progress>;
  /** Lines on stdout that are drawn again in place, above a status line; they stay at the end. */
  screen(lines: () => readonly string[], status: () => string): Promise<Screen>;
  prompt(): Promise<Prompt>;
  lineInput(): Promise<LineInput>;
  /** False when there is no browser. */
  openBrowser(url: string): Promise<boolean>;
}

export interface Git {
  /** Null when there is no checkout. */
  checkout(dir?: string): Promise<Checkout | null>;
  readRepository(text: string): Promise<RepositoryChoice>;
  /** Whether a remote (a URL, a path, or a remote's name in the checkout `dir`) has a branch. */
  branchOnRemote(remote: string, branch: string, dir?: string): Promise<BranchOnRemote>;
  /** Null for a branch that neither the checkout nor its copy of the remote has. */
  branchCommit(branch: string, dir: string): Promise<string | null>;
  /** Of the checkout and, as of the last fetch, of its `origin`; empty without a checkout. */
  localBranches(): Promise<string[]>;
  /** Writes a file into the checkout, which the caller removes. */
  prove(dir: string): Promise<CheckoutProof>;
  retriever(): Promise<Retriever>;
  uncommitted(dir: string): Promise<UncommittedFile[]>;
  /** Writes objects that no branch has. `names`: of uncommitted files. */
  snapshot(checkout: Checkout, names: readonly string[]): Promise<CheckoutChanges | null>;
}

export interface Profiles {
  store(): Promise<ProfileStore>;
  /** Null for `none`. Throws `config` when the key cannot be had or sent. */
  readKey(from: NewKey): Promise<string | null>;
}

export interface Servers {
  /**
   * Resolved and probed, once; starts the local service when `local` is active and none answers.
   * `within` ends that too.
   */
  active(use?: ConnectTarget['use'], within?: AbortSignal): Promise<Server>;
  /** Sends no request and starts nothing. */
  target(): Promise<ResolvedTarget>;
  /** Like `target`, without the key: runs no command that prints one. */
  plan(): Promise<TargetPlan>;
  connect(target: ConnectTarget, within?: AbortSignal): Promise<Server>;
  /** Includes servers that failed to open, and not those that were only tried. */
  urls(): readonly string[];
  deviceFlow(baseUrl: string): Promise<DeviceFlow>;
  modelEndpoint(
    at: { baseUrl: string; api: ModelInterface },
    key: string | null,
  ): Promise<ModelEndpoint>;
  readonly lastConversation: {
    get(origin: string): Promise<string | null>;
    set(origin: string, id: string | null): Promise<void>;
  };
  /** For `derivedContext`: the active server is that of other flags. */
  of(flags: ServerChoice): Servers;
}

export interface Local {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly home: string;
  service(): Promise<LocalService>;
  machine(): {
    /** Folder of the package, where bin/, completions/ and dist/ are. */
    root: string;
    platform: string;
    nodeVersion: string;
    acsVersion: string;
    /** Null: git is not installed. */
    gitVersion(): Promise<string | null>;
  };
}

export interface ConnectTarget {
  base_url: string;
  key: string | null;
  local?: boolean;
  /** Identifies the local service: another process on the same port may serve another dialect. */
  pid?: number | undefined;
  sources?: Pick<ResolvedTarget, 'base_url_source' | 'key_source'>;
  /** `none`: the server is probed, and nothing is stored. */
  cache?: 'none';
  /** `calls`: an agent server is accepted too; only `call` works there. */
  use?: 'calls' | undefined;
  /** `once`: a gateway's 502 is an error at once; without it acs waits for the server to start. */
  startUp?: 'once';
}

export interface Platform {
  /** Folder of the package, where bin/ and dist/ are. */
  root: string;
  io: Io;
  env: NodeJS.ProcessEnv;
  cwd: string;
  home: string;
  platform: string;
  clock: Clock;
  signal: AbortSignal;
}
