/**
 * The port to a server: all requests of commands, in terms of the domain. Commands do not depend on the dialect; each
 * adapter (v0/, v1/, and both/ for servers with both dialects) implements this.
 *
 * All methods throw AppError: `auth`, `not-found`, `conflict`, `rate-limited`, `server`, `network`, `unsupported`,
 * `unknown-outcome` (a create or send whose answer was lost). Ids are full ids; commands match prefixes.
 */
import type { Feature, Presence } from './features.ts';
import type { GitPort } from './git/port.ts';
import type { ConfirmationDecision, PendingAction } from '../domain/confirmation.ts';
import type { Conversation, Dialect } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import type { FollowItem, FollowOptions } from '../runs/follow-source.ts';
import type { ModelChoice, ModelProfile } from '../domain/model-profile.ts';
import type { Page } from '../domain/pages.ts';
import type { Program, ProgramStreams } from '../domain/program.ts';
import type { NewConversation } from '../domain/new-conversation.ts';
import type { Sandbox, SandboxSecrets } from '../domain/sandbox.ts';
import type { RawAnswer, RawCall } from '../domain/raw-call.ts';
import type { SandboxFiles } from '../domain/sandbox-files.ts';
import type { Secret } from '../domain/secret.ts';
import type { SettingsSnapshot, SettingsChange, SettingsField } from '../domain/settings.ts';
import type { Spec } from '../domain/spec.ts';

export interface ServerInfo {
  /** Origin and path prefix, without a trailing slash. */
  base_url: string;
  /** The newest dialect it serves, and all of them. */
  dialect: Dialect;
  dialects: Dialect[];
  /** Release of the server; null where its document does not name it. */
  version: string | null;
  flavour: 'local' | 'self-hosted' | 'cloud' | null;
  /** Features that are `present`, and those that are `unknown`. */
  features: Feature[];
  unknown_features: Feature[];
}

export interface Account {
  user: string | null;
  email: string | null;
  organization: string | null;
}

export interface ListQuery {
  /** The most items of one page. */
  pageSize?: number;
  titleContains?: string;
  createdAfter?: string;
  createdBefore?: string;
  sandboxId?: string;
  /** `say`: a notice at the end of the list when the server may have more that it does not list. */
  omissions?: 'say';
}

export interface EventQuery {
  /** From here on, inclusive: RFC 3339. */
  since?: string;
  order?: 'oldest-first' | 'newest-first';
  /** Kinds as the event record shows them. */
  kinds?: readonly string[];
  limit?: number;
}

export interface FileChange {
  path: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed';
}

/** Called with the number of files read so far, first with 0, where a diff needs a request for each. */
export type FilesRead = (read: number, of: number) => void;

/** `start`: the commit the run started from. `nothing`: the files that were added or changed, each as a new one. */
export type DiffBase = 'start' | 'nothing';

export interface DiffOptions {
  onRead?: FilesRead;
  /** Default: `start`. */
  against?: DiffBase;
}

/** The difference of a workspace against the commit the run started from. */
export interface WorkspaceDiff {
  /** The commit that the patch is for; null without a repository, and where the server does not return it. */
  base: string | null;
  /** A unified diff as git prints it; bytes, because paths and content may be in any encoding. */
  patch: Uint8Array;
  changes: FileChange[];
  /** What this server cannot return (binary content, file modes), one line each. */
  omissions: string[];
}

export interface WebPage {
  url: string;
  /** The address can be used once, within this time; null: at any time. */
  valid_seconds: number | null;
}

export interface StartProgress {
  start_task_id: string;
  /** Server's word for the step, lower case with dashes: `waiting-for-sandbox`. */
  step: string;
  conversation_id: string | null;
  sandbox_id: string | null;
}

export interface Server {
  readonly info: ServerInfo;
  presence(feature: Feature): Presence;
  account(): Promise<Account>;
  /** Any request to the app server. Resolves with answers of every status; throws what prevents an answer. */
  call(call: RawCall): Promise<RawAnswer>;
  /** Ends all connections; an open one would keep the process running. May be called twice. */
  close(): Promise<void>;
  /** The same server over the same connections, with another signal: for requests after an interruption. */
  withSignal(signal: AbortSignal): Promise<Server>;

  readonly conversations: {
    /**
     * Starts one; yields each step and returns the conversation when it has started. The request goes out once.
     * Throws AppError `failed` with the server's reason when the start task ends in ERROR.
     */
    start(request: NewConversation, options: StartOptions): AsyncGenerator<StartProgress, Conversation, void>;
    /** A start whose answer was not read; null: it was not taken. Throws `unknown-outcome` where the server shows neither. */
    findStart(sent: SentStart): Promise<Conversation | null>;
    list(query: ListQuery, page: string | null): Promise<Page<Conversation>>;
    /** By conversation id or start task id; throws `not-found`. */
    get(id: string): Promise<Conversation>;
    /** As get, with the last state of the run and its reason looked up where the record does not have them. */
    getComplete(id: string): Promise<Conversation>;
    /** Whether the sandbox reports the run as running; false when it does not run or cannot be read. */
    runsInSandbox(id: string): Promise<boolean>;
    /**
     * Sets the title; one that the server generates later does not replace it. For a title that differs: from the
     * answer to the same title acs cannot see whether the server took it.
     */
    rename(id: string, title: string): Promise<Conversation>;
    /**
     * Deletes one and reads it back. Throws `conflict`, before anything is sent, where the server may delete other
     * conversations with its sandbox that `scope` does not allow; `server` when it is still there afterwards.
     */
    remove(id: string, scope?: RemovalScope): Promise<void>;
    /** The events as the server's pages bring them: a page may be empty; no event comes twice. */
    eventPages(id: string, query: EventQuery): AsyncIterable<ConversationEvent[]>;
    follow(id: string, options: FollowOptions): AsyncIterable<FollowItem>;
    /** The final answer to the latest user message; null when there is none yet. */
    result(id: string): Promise<string | null>;
    /** Sends a user message and lets the agent run. Sent once. */
    send(id: string, message: OutgoingMessage): Promise<void>;
    /**
     * The pending actions, oldest first. They are answered together.
     * Throws `conflict` when the sandbox does not run.
     * @param paused `read-copy`: of a paused sandbox the app server's copy of the events is read, where there is one
     */
    pending(id: string, paused?: 'refuse' | 'read-copy'): Promise<PendingAction[]>;
    /**
     * Answers the pending actions, once, and returns them. Throws `conflict` when none is pending, or another one than
     * `action_id`; `unsupported` for a reason where the dialect takes none.
     */
    answer(id: string, answer: ConfirmationAnswer): Promise<PendingAction[]>;
    /** Throws `unsupported` for a reason where the dialect takes none; for use before a sandbox is started. */
    checkAnswer(id: string, answer: ConfirmationAnswer): Promise<void>;
    /**
     * Resumes the agent. Throws `needs-input` while a confirmation is pending, `conflict` when the sandbox is paused.
     */
    run(id: string): Promise<RunStart>;
    /**
     * Starts the sandbox of the conversation; resolves when the server accepts that. Throws `conflict` when it is gone.
     */
    startSandbox(id: string): Promise<void>;
    /** Before the sandbox of an ended run is paused: waits until the app server has its end, as long as that may take. */
    untilStored(id: string): Promise<void>;
    /** Interrupts the run where the server can, else pauses it. Resolves when the server has accepted it. */
    stop(id: string): Promise<void>;
    diff(id: string, options?: DiffOptions): Promise<WorkspaceDiff>;
    /** Where a browser shows the conversation. Throws `unsupported` where the server has no page of it. */
    webPage(id: string): Promise<WebPage>;
  };

  readonly sandboxes: {
    /** @param use `none`: without the conversations in them, which takes one request */
    list(page: string | null, pageSize?: number, use?: 'read' | 'none'): Promise<Page<Sandbox>>;
    get(id: string): Promise<Sandbox>;
    secrets(id: string): Promise<SandboxSecrets>;
    /** Creates one from a spec (null: the server's default). Sent once. */
    create(specId: string | null): Promise<Sandbox>;
    pause(id: string): Promise<void>;
    /** @param spec the spec that it must run with */
    resume(id: string, spec?: string): Promise<void>;
    remove(id: string): Promise<void>;
    /**
     * Runs a program to its end and returns its exit code: 128 and the number of the signal that ended it, 126 and 127
     * as a shell. Throws `conflict` when the sandbox does not run or is paused meanwhile, `unsupported` for stdin and a
     * terminal where the server lacks `exec-socket`, `not-found` for a working directory.
     */
    exec(id: string, program: Program, streams: ProgramStreams): Promise<number>;
    /** The files of a running sandbox. Throws `conflict` when it does not run, `unsupported` where it has no routes. */
    files(id: string): Promise<SandboxFiles>;
  };

  readonly specs: {
    list(page: string | null, pageSize?: number): Promise<Page<Spec>>;
    get(id: string): Promise<Spec>;
  };

  readonly settings: {
    /** The 25 fields under their flat names, whatever the dialect; nothing stored yet: `stored` is false. */
    read(): Promise<SettingsSnapshot>;
    /**
     * Writes what differs, keeping everything else. Throws `conflict` when a known secret would be lost.
     * @param beforeWrite called when no check has refused the change, before the first request that writes
     */
    write(change: SettingsChange, beforeWrite?: () => Promise<void>): Promise<SettingsSnapshot>;
    schema(): Promise<SettingsField[]>;
  };

  /** What sandboxes get as environment variables. Values go in and never come out. */
  readonly secrets: {
    list(page: string | null, pageSize?: number): Promise<Page<Secret>>;
    /**
     * Stores a value under a name; the description stays unless another is given. Where the server cannot replace a
     * value the secret is deleted and created, after a notice; an error then states whether the old value still exists.
     */
    set(secret: NewSecret): Promise<Secret & { before: 'absent' | 'present' }>;
    /** Deletes one and reads the list. Throws `not-found`; `server` when it is still there. */
    remove(name: string): Promise<void>;
  };

  readonly git: GitPort;

  /** Named model settings; `unsupported` where the server keeps none. */
  readonly modelProfiles: {
    list(): Promise<ModelProfile[]>;
    /** `config`: all model settings of it under the server's names, keys redacted. */
    get(name: string): Promise<ModelProfile & { config: Record<string, unknown> }>;
    /** Keeps the current model settings (null), or these. An existing one is replaced. */
    save(name: string, choice: ModelChoice | null): Promise<ModelProfile>;
    /** Makes it the current model settings. */
    use(name: string): Promise<ModelProfile>;
    rename(name: string, newName: string): Promise<ModelProfile>;
    remove(name: string): Promise<void>;
  };
}

/** What a dialect implements of the port. */
export type Adapter = Omit<Server, 'info' | 'presence' | 'call' | 'close' | 'withSignal'>;

export interface RemovalScope {
  /** Whether a conversation, as it was read right before, may be deleted along with the sandbox; `any`: all may. */
  alsoGone: ((other: Conversation) => boolean) | 'any';
}

export interface NewSecret {
  name: string;
  value: string;
  /** Null: that of the secret it replaces. */
  description: string | null;
}

/** A start as it goes out. */
export interface SentStart {
  /** The id that it carries; null where it carries none, and what it creates cannot be recognised. */
  id: string | null;
  dialect: Dialect;
  /** RFC 3339. */
  sent_at: string;
}

export interface StartOptions {
  signal: AbortSignal;
  /** Called right before the start is sent; when it throws, nothing is sent. */
  beforeSend?: (start: SentStart) => Promise<void>;
  /** 'started': until the conversation exists (the default). 'accepted': return with the start task. */
  until: 'started' | 'accepted';
}

/** `already-running`: it needed nothing. */
export type RunStart = 'started' | 'already-running';

export interface ConfirmationAnswer {
  decision: ConfirmationDecision;
  /** For the agent, with a rejection. */
  reason: string | null;
  /** The action that is meant; null: whatever waits. */
  action_id: string | null;
}

export interface OutgoingMessage {
  text: string;
  /** http(s) or data URLs. */
  image_urls: string[];
  /**
   * `run` (the default) continues the agent with it. `store` leaves the run as it is, where the dialect can: a run
   * that is under way sees the message, and an action that waits stays waiting.
   */
  effect?: 'run' | 'store';
}
