/** The port to a server, which the adapters implement. Its methods throw AppError. */
import type { Feature, Presence } from './features.ts';
import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import type { Conversation, Dialect } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { FollowItem, FollowOptions } from '../../runs/follow-source.ts';
import type {
  Model,
  ModelChoice,
  ModelProfile,
  Secret,
  SettingsSnapshot,
  SettingsChange,
  SettingsField,
} from '../../domain/settings.ts';
import type { Page } from '../../domain/pages.ts';
import type { FileLines } from '../../domain/patch.ts';
import type { Program, ProgramStreams } from '../../domain/program.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import type { Sandbox, SandboxSecrets, Spec } from '../../domain/sandbox.ts';
import type { RawAnswer, RawCall } from '../../domain/raw-call.ts';
import type { SandboxFiles } from '../../domain/sandbox-files.ts';
import type { Branch, GitProvider, Repository } from '../../domain/git-provider.ts';
import type {
  Automation,
  AutomationDraft,
  AutomationRun,
  DraftProblem,
} from '../../domain/automation.ts';
import type { Json } from '../../protocol/shape.ts';

export interface Account {
  user: string | null;
  email: string | null;
  organization: string | null;
}

export interface ListQuery {
  pageSize?: number;
  sandboxId?: string;
  /** `say`: a notice at the end of the list when the server may have more that it does not list. */
  omissions?: 'say';
}

export interface EventQuery {
  since?: string;
  order?: 'oldest-first' | 'newest-first';
  limit?: number;
}

export interface FileChange {
  path: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed';
}

/** `start`: the commit the run started from. `nothing`: each changed file as a new one. */
export type DiffBase = 'start' | 'nothing';

export interface DiffOptions {
  onRead?: (read: number, of: number) => void;
  against?: DiffBase;
}

export interface WorkspaceDiff {
  /** The commit that the patch is for; null without a repository, or where it is not known. */
  base: string | null;
  /** A unified diff as git prints it; bytes, because paths and content may be in any encoding. */
  patch: Uint8Array;
  changes: FileChange[];
  omissions: string[];
}

export interface WebPage {
  url: string;
  valid_seconds: number | null;
}

export interface StartProgress {
  start_task_id: string;
  /** The state in the words of the server, with what it waits for. */
  step: string;
  conversation_id: string | null;
  sandbox_id: string | null;
}

/** A record that the server has just returned is not read again; a copy of one is. */
export type IdOrRecord = string | Conversation;

export interface Server {
  readonly info: {
    base_url: string;
    dialect: Dialect;
    dialects: Dialect[];
    version: string | null;
    flavour: 'local' | 'self-hosted' | 'cloud' | null;
    features: Feature[];
    unknown_features: Feature[];
  };
  presence(feature: Feature): Presence;
  account(): Promise<Account>;
  /** Resolves with answers of every status; throws what prevents an answer. */
  call(call: RawCall): Promise<RawAnswer>;
  /** Without the keys of the server and its sandboxes, and other texts that look like secrets. */
  redact(text: string): string;
  close(): Promise<void>;
  /** The same server over the same connections, for requests after an interruption. */
  withSignal(signal: AbortSignal): Promise<Server>;

  readonly conversations: {
    /** Sent once. Throws `failed` with the server's reason when the start task ends in ERROR. */
    start(
      request: NewConversation,
      options: StartOptions,
    ): AsyncGenerator<StartProgress, Conversation, void>;
    /** Null: the start was not taken. Throws `unknown-outcome` where that cannot be seen. */
    findStart(sent: SentStart): Promise<Conversation | null>;
    list(query: ListQuery, page: string | null): Promise<Page<Conversation>>;
    get(id: string): Promise<Conversation>;
    getComplete(of: IdOrRecord): Promise<Conversation>;
    runsInSandbox(id: string): Promise<boolean>;
    rename(id: string, title: string): Promise<Conversation>;
    /** Throws `conflict`, before anything is sent, where others outside `scope` may be deleted. */
    remove(id: string, scope?: RemovalScope): Promise<void>;
    /** Throws `conflict` for what would be lost; a notice where the folder was not made for it. */
    removeWorktree(id: string, unmerged: 'refuse' | 'remove'): Promise<void>;
    /** A page may be empty; no event comes twice. */
    eventPages(of: IdOrRecord, query: EventQuery): AsyncIterable<ConversationEvent[]>;
    follow(id: string, options: FollowOptions): AsyncIterable<FollowItem>;
    result(of: IdOrRecord): Promise<FinalAnswer | null>;
    send(to: IdOrRecord, message: OutgoingMessage): Promise<void>;
    /** Oldest first. Throws `conflict` unless the sandbox runs; `read-copy` allows a paused one. */
    pending(id: string, paused?: 'refuse' | 'read-copy'): Promise<PendingAction[]>;
    answer(id: string, answer: ConfirmationAnswer): Promise<PendingAction[]>;
    checkAnswer(id: string, answer: ConfirmationAnswer): Promise<void>;
    /** Throws `needs-input` while a confirmation is pending, `conflict` in a paused sandbox. */
    run(id: string): Promise<RunStart>;
    /** Resolves when the server accepts that. Throws `conflict` when the sandbox is gone. */
    startSandbox(id: string): Promise<void>;
    /** Waits until the app server has the end of the run; for use before its sandbox is paused. */
    untilStored(id: string): Promise<void>;
    stop(id: string): Promise<void>;
    diff(id: string, options?: DiffOptions): Promise<WorkspaceDiff>;
    /** At most two requests after the record. Throws where they, or the sandbox, do not suffice. */
    changedFiles(of: IdOrRecord): Promise<FileLines[]>;
    /** The folder of its repository in its sandbox; null where the server does not return it. */
    folder(id: string): Promise<string | null>;
    /** For a sandbox that does not run, where the server has `stored-changes`. */
    storedPatch(id: string): Promise<string>;
    webPage(id: string): Promise<WebPage>;
  };

  readonly sandboxes: {
    /** @param use `none`: without the conversations in them, which takes one request */
    list(page: string | null, pageSize?: number, use?: 'read' | 'none'): Promise<Page<Sandbox>>;
    get(id: string): Promise<Sandbox>;
    secrets(id: string): Promise<SandboxSecrets>;
    /** Null: the server's default. Sent once. */
    create(specId: string | null): Promise<Sandbox>;
    pause(id: string): Promise<void>;
    resume(id: string, spec?: string): Promise<void>;
    remove(id: string): Promise<void>;
    /**
     * 128 + signal, and 126 and 127, as in a shell. Throws `conflict` when the sandbox does not
     * run, `unsupported` for stdin without `exec-socket`, `not-found` for a working directory.
     */
    exec(id: string, program: Program, streams: ProgramStreams): Promise<number>;
    files(id: string): Promise<SandboxFiles>;
  };

  readonly specs: {
    list(page: string | null, pageSize?: number): Promise<Page<Spec>>;
  };

  readonly settings: {
    read(): Promise<SettingsSnapshot>;
    /** Keeps all other values. Throws `conflict` when a known secret would be lost. */
    write(change: SettingsChange): Promise<SettingsSnapshot>;
    schema(): Promise<SettingsField[]>;
  };

  readonly secrets: {
    list(page: string | null, pageSize?: number): Promise<Page<Secret>>;
    /** May delete and create, after a notice. Description null: that of the secret it replaces. */
    set(
      secret: Omit<Secret, 'scope'> & { value: string },
    ): Promise<Secret & { before: 'absent' | 'present' }>;
    remove(name: string): Promise<void>;
  };

  readonly git: {
    /** Throws `conflict` where the server has tokens and does not report whose. */
    providers(): Promise<GitProvider[]>;
    /**
     * Host null: that of the token it replaces. Throws `auth` when the provider refuses the token,
     * `conflict` where unreported tokens would be dropped.
     */
    connect(
      token: GitProvider & { token: string },
      loss: 'refuse' | 'allow',
    ): Promise<GitProvider & { before: 'absent' | 'present' }>;
    disconnect(name: string, loss: 'refuse' | 'allow'): Promise<void>;
    repositories(
      query: RepositoryQuery,
      page: string | null,
      pageSize?: number,
    ): Promise<Page<Repository>>;
    branches(query: BranchQuery, page: string | null, pageSize?: number): Promise<Page<Branch>>;
  };

  readonly modelProfiles: {
    list(): Promise<ModelProfile[]>;
    /** Null: the current model settings. An existing profile is replaced. */
    save(name: string, choice: ModelChoice | null): Promise<ModelProfile>;
    use(name: string): Promise<ModelProfile & { changed: boolean }>;
    remove(name: string): Promise<void>;
  };

  readonly models: {
    /** Throws `unsupported` where the server does not list them. */
    list(page: string | null, pageSize?: number): Promise<Page<Model>>;
  };

  readonly automations: Automations;
}

/** Each method throws `unsupported` where the server is neither a backend nor a cloud. */
export interface Automations {
  list(page: string | null, pageSize?: number): Promise<Page<Automation>>;
  get(id: string): Promise<Automation>;
  /** Changes nothing. Empty: the server accepts the draft. */
  validate(draft: AutomationDraft): Promise<DraftProblem[]>;
  /** With a `template` that an automation has, that automation, unchanged. */
  create(draft: AutomationDraft): Promise<Automation>;
  /** `difference`: the members that change, in the words of the server. */
  change(id: string, difference: Json): Promise<Automation>;
  remove(id: string): Promise<void>;
  /** Sent once. Throws `conflict` while the automation is disabled. */
  dispatch(id: string): Promise<AutomationRun>;
  /** Newest first. */
  runs(id: string, page: string | null, pageSize?: number): Promise<Page<AutomationRun>>;
  /** Stops its conversation too. `changed` is false for an ended run: only its status is known. */
  cancel(runId: string): Promise<{ run: AutomationRun; changed: boolean }>;
  /** Null while the conversation of the run is not known. */
  conversationOf(run: AutomationRun): Promise<string | null>;
  /** The repository that the service writes automations to and reads them from; null: none. */
  gitSync(): Promise<string | null>;
}

export type Adapter = Omit<
  Server,
  'info' | 'presence' | 'call' | 'redact' | 'close' | 'withSignal' | 'automations' | 'models'
>;

export interface RepositoryQuery {
  git_provider: string;
  search?: string;
}

export interface BranchQuery extends RepositoryQuery {
  repository: string;
}

export interface RemovalScope {
  /** Whether a conversation may be deleted along with the sandbox; `any`: all may. */
  alsoGone: ((other: Conversation) => boolean) | 'any';
}

export interface FinalAnswer {
  text: string;
  event_id: string;
}

/** The id or title by which the server shows what a start has created. */
export interface SentStart {
  id: string | null;
  title?: string;
  dialect: Dialect;
  sent_at: string;
}

export interface StartOptions {
  signal: AbortSignal;
  /** Called right before the start is sent; when it throws, nothing is sent. */
  beforeSend?: (start: SentStart) => void;
  /** `started` (default): the conversation exists; `accepted`: its start task exists. */
  until: 'started' | 'accepted';
}

export type RunStart = 'started' | 'already-running';

export interface ConfirmationAnswer {
  decision: ConfirmationDecision;
  reason: string | null;
  action_id: string | null;
}

export interface OutgoingMessage {
  text: string;
  image_urls: string[];
  /** `run` (default) continues the agent; `store` does not, where the dialect can. */
  effect?: 'run' | 'store';
}
