/**
 * Starting a conversation: the same for both dialects. Everything that can be refused is refused by the routes before;
 * what fails later shows as status ERROR of the start task, with the reason.
 */
import path from 'node:path';
import { setImmediate as soon, setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../lifecycle/clock.ts';
import { isGivenTitle, type ConversationRow } from '../../storage/conversations.ts';
import type { Store } from '../../storage/index.ts';
import type { SandboxRow } from '../../storage/sandboxes.ts';
import type { StartTaskRow } from '../../storage/start-tasks.ts';
import { jsonOf, textOf } from '../../sandboxes/agent-client.ts';
import { checkOut, type CheckoutSources } from '../repositories/checkout.ts';
import { CloneError, initWorkspace } from '../repositories/clone.ts';
import { agentConversation, newConversation, type StartRequest } from './start-plan.ts';
import { stateInLog } from '../../storage/event-logs.ts';
import { newHexId } from '../ids.ts';
import { RepositoryError } from '../repositories/repository.ts';
import type { StoredSettings } from '../settings/record.ts';
import { SpecRefused } from '../../sandboxes/specs.ts';
import { SandboxUnavailable, type Supervisor } from '../../sandboxes/supervisor.ts';

export interface StarterOptions extends CheckoutSources {
  store: Store;
  supervisor: Supervisor;
  clock: Clock;
  settings(): StoredSettings;
  log(line: string): void;
}

export interface Starter {
  /** Writes the start task (and over V0 the conversation) and goes to work; the answer is what was written. */
  begin(request: StartRequest): StartTaskRow;
  /** Makes a repository of a sandbox's workspace, so that changes in it can be seen. Never rejects. */
  prepare(sandboxId: string): Promise<void>;
  /** Aborts every start; settles when none is in progress. */
  close(): Promise<void>;
}

const RETRY_PAUSE_MS = 1000;

/** The sandbox that a conversation is started in; `signal` is aborted when the start is to be given up. */
interface Place {
  sandboxId: string;
  isFresh: boolean;
  running: Promise<SandboxRow>;
  signal: AbortSignal;
}

type Step = Partial<Omit<StartTaskRow, 'id' | 'dialect' | 'request' | 'created_at' | 'updated_at'>>;

export function createStarter(options: StarterOptions): Starter {
  return new ConversationStarter(options);
}

class ConversationStarter implements Starter {
  readonly #options: StarterOptions;
  readonly #abort = new AbortController();
  /** Starts at work, by conversation: a second request for the same id waits for the first. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  begin(request: StartRequest): StartTaskRow {
    const { store, clock } = this.#options;
    const now = clock.stamp();
    const conversationId = request.conversationId ?? newHexId();
    const task: StartTaskRow = {
      id: newHexId(),
      dialect: request.dialect,
      status: 'WORKING',
      detail: null,
      app_conversation_id: null,
      conversation_id: conversationId,
      sandbox_id: null,
      agent_server_url: null,
      request: request.echo,
      created_at: now,
      updated_at: now,
    };
    store.transaction(() => {
      store.startTasks.insert(task);
      const existing = store.conversations.get(conversationId);
      if (existing?.start_state === 'failed') {
        store.conversations.update(conversationId, { start_state: 'starting', start_detail: null });
      } else if (request.dialect === 'V0' && existing === null) {
        store.conversations.insert(newConversation(conversationId, request, 'starting', now));
      }
    });
    const before = this.#underWay.get(conversationId) ?? Promise.resolve();
    // Not before the answer is sent, so that the client can watch from the first state on.
    const work = before.then(() => soon()).then(() => this.#run(task, conversationId, request));
    this.#underWay.set(conversationId, work);
    void work.finally(() => {
      if (this.#underWay.get(conversationId) === work) this.#underWay.delete(conversationId);
    });
    return task;
  }

  async prepare(sandboxId: string): Promise<void> {
    const { supervisor, env, log } = this.#options;
    try {
      await initWorkspace(supervisor.workspaceOf(sandboxId), env, this.#abort.signal);
    } catch (error) {
      log(`the workspace of sandbox ${sandboxId} got no repository: ${String(error)}`);
    }
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await Promise.all(this.#underWay.values());
  }

  /** Never rejects: what fails is written into the task, and into the log when even that cannot be written. */
  async #run(task: StartTaskRow, conversationId: string, request: StartRequest): Promise<void> {
    const { store, log } = this.#options;
    const created: { sandboxId: string | null } = { sandboxId: null };
    try {
      const existing = store.conversations.get(conversationId);
      if (existing !== null && existing.start_state === 'ready') this.#point(task, existing);
      else await this.#start(task, conversationId, request, created);
    } catch (error) {
      const detail = this.#abort.signal.aborted ? 'the service was stopped' : reasonOf(error);
      if (!isExpected(error)) log(`start task ${task.id}: ${String((error as Error).stack)}`);
      await this.#untilWritten(`start task ${task.id} failed (${detail})`, async () => {
        // A sandbox made for a conversation that did not come about would only fill the machine.
        if (created.sandboxId !== null) await this.#options.supervisor.remove(created.sandboxId);
        this.#fail(task, conversationId, request, detail);
      });
    }
  }

  async #start(
    task: StartTaskRow,
    conversationId: string,
    request: StartRequest,
    created: { sandboxId: string | null },
  ): Promise<void> {
    const { store, supervisor } = this.#options;
    this.#abort.signal.throwIfAborted();
    const isFresh = request.sandboxId === null;
    // In one transaction: else a crash could leave a sandbox that no task names.
    const sandboxId = store.transaction(() => {
      const id = request.sandboxId ?? supervisor.create(request.spec).id;
      if (isFresh) created.sandboxId = id;
      if (store.sandboxes.get(id) === null) throw new SandboxUnavailable(`500: Sandbox not found: ${id}`);
      if (request.dialect === 'V0') store.conversations.update(conversationId, { sandbox_id: id });
      this.#step(task, { status: 'WAITING_FOR_SANDBOX', sandbox_id: id });
      return id;
    });
    await supervisor.use(sandboxId, async (running, deleted) => {
      const signal = AbortSignal.any([this.#abort.signal, deleted]);
      await this.#startIn(task, conversationId, request, { sandboxId, isFresh, running, signal });
    });
  }

  async #startIn(
    task: StartTaskRow,
    conversationId: string,
    request: StartRequest,
    { sandboxId, isFresh, running, signal }: Place,
  ): Promise<void> {
    const { store, supervisor, clock } = this.#options;
    // The checkout is made outside the sandbox, so it need not wait for it.
    const checkout = checkOut(request, { ...this.#options, sandboxId, isFresh, signal });
    checkout.catch(() => undefined);
    const sandbox = await running;
    this.#step(task, { status: 'PREPARING_REPOSITORY' });
    const cloned = await checkout;
    const workingDir = path.posix.join(sandbox.working_dir ?? '.', cloned?.folder ?? '');
    const agentUrl = `http://127.0.0.1:${sandbox.port}`;
    this.#step(task, { status: 'STARTING_CONVERSATION', agent_server_url: agentUrl });
    // The time before the first event: a conversation is not younger than what happened in it.
    const now = clock.stamp();
    await this.#createAtWorker(sandboxId, conversationId, request, workingDir);
    const known = {
      start_state: 'ready' as const,
      start_detail: null,
      sandbox_id: sandboxId,
      working_dir: workingDir,
      base_commit: cloned?.commit ?? null,
      branch: cloned?.branch ?? request.branch,
    };
    store.transaction(() => {
      // What the worker reported before the row existed is in the log.
      const { title = null, ...inLog } = stateInLog(supervisor.eventsOf(sandboxId), conversationId) ?? {};
      const before = store.conversations.get(conversationId);
      const row = before ?? newConversation(conversationId, request, 'ready', now);
      const change = { ...known, ...inLog, ...(title !== null && isGivenTitle(row) ? { title } : {}) };
      if (before === null) store.conversations.insert({ ...row, ...change });
      else store.conversations.update(conversationId, change);
    });
    const detail = store.sandboxes.get(sandboxId)?.status_detail ?? null;
    this.#step(task, { status: 'READY', detail, app_conversation_id: conversationId });
  }

  async #createAtWorker(
    sandboxId: string,
    conversationId: string,
    request: StartRequest,
    workingDir: string,
  ): Promise<void> {
    const { supervisor, store } = this.#options;
    const place = { conversationId, workingDir, secrets: store.secrets.values() };
    const answer = await supervisor.send(sandboxId, {
      method: 'POST',
      path: '/api/conversations',
      json: agentConversation(request, this.#options.settings(), place),
    });
    if (answer.status !== 200 && answer.status !== 201) {
      throw new SandboxUnavailable(`the conversation could not be started (HTTP ${answer.status}): ${textOf(answer)}`);
    }
    if (jsonOf(answer) === null)
      throw new SandboxUnavailable('the agent server answered with something that is not JSON');
  }

  /** A repeated start ends at the conversation that is there; its message is not sent again. */
  #point(task: StartTaskRow, existing: ConversationRow): void {
    const sandbox = existing.sandbox_id === null ? null : this.#options.store.sandboxes.get(existing.sandbox_id);
    const url = sandbox?.status === 'RUNNING' && sandbox.port !== null ? `http://127.0.0.1:${sandbox.port}` : null;
    this.#step(task, {
      status: 'READY',
      detail: sandbox?.status_detail ?? null,
      app_conversation_id: existing.id,
      sandbox_id: existing.sandbox_id,
      agent_server_url: url,
    });
  }

  /** Does what must be written; on a full disk as soon as there is space, because nothing else writes it. */
  async #untilWritten(what: string, write: () => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await write();
        return;
      } catch (error) {
        if (attempt === 0) this.#options.log(`${what}, which cannot be written: ${String(error)}`);
        if (this.#abort.signal.aborted) return; // the next service writes it
        await delay(RETRY_PAUSE_MS, undefined, { signal: this.#abort.signal }).catch(() => undefined);
      }
    }
  }

  #fail(task: StartTaskRow, conversationId: string, request: StartRequest, detail: string): void {
    const { store } = this.#options;
    store.transaction(() => {
      if (request.dialect === 'V0' && store.conversations.get(conversationId)?.start_state === 'starting') {
        store.conversations.update(conversationId, { start_state: 'failed', start_detail: detail, sandbox_id: null });
      }
      this.#step(task, { status: 'ERROR', detail });
    });
  }

  #step(task: StartTaskRow, step: Step): void {
    this.#options.store.startTasks.update(task.id, { ...step, updated_at: this.#options.clock.stamp() });
  }
}

function isExpected(error: unknown): boolean {
  return [CloneError, RepositoryError, SandboxUnavailable, SpecRefused].some((kind) => error instanceof kind);
}

function reasonOf(error: unknown): string {
  if (isExpected(error)) return (error as Error).message;
  return `the start failed: ${error instanceof Error ? error.message : String(error)}`;
}
