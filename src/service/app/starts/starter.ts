/** Turns a start request into a conversation at its agent server. A failure ends the start task. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as soon } from 'node:timers/promises';
import type { Clock } from '../../lifecycle/clock.ts';
import { type Mount, WORKSPACE_INSIDE } from '../../base/worker-protocol.ts';
import { isFree } from '../../isolation/bubblewrap.ts';
import { textOf } from '../../sandboxes/agent-client.ts';
import { cacheMount } from '../../sandboxes/caches.ts';
import { SpecRefused } from '../../sandboxes/specs.ts';
import { SandboxUnavailable, type Supervisor } from '../../sandboxes/supervisor.ts';
import {
  defaultTitle,
  hasDefaultTitle,
  type ConversationRow,
} from '../../storage/conversations.ts';
import { stateInLog } from '../../storage/event-logs.ts';
import type { Store } from '../../storage/index.ts';
import { agentUrl, type SandboxRow } from '../../storage/sandboxes.ts';
import type { StartTaskRow } from '../../storage/start-tasks.ts';
import type { Provider } from '../../../protocol/v1/requests.ts';
import { withModel } from '../../base/model-config.ts';
import { readProviders } from '../../settings/git-providers.ts';
import {
  cloneRepository,
  initWorkspace,
  localFolder,
  RepositoryError,
  repositoryForm,
  repositorySource,
  type Cloned,
  type RepositorySource,
} from '../repository.ts';
import { isJsonObject, type JsonObject } from '../../../protocol/settings.ts';
import { toAgent, type McpServers } from '../../settings/mcp.ts';
import { readSettings } from '../../settings/settings.ts';
import type { StartRequest } from './start-request.ts';

/** As on genuine servers. */
const SETUP_SCRIPT = '.openhands/setup.sh';
/** Longer than the worker lets it run. */
const SETUP_MS = 15 * 60_000;

interface StarterOptions {
  store: Store;
  supervisor: Supervisor;
  clock: Clock;
  log(line: string): void;
  env: Readonly<Record<string, string | undefined>>;
  stagingDir: string;
}

export class Starter {
  readonly #options: StarterOptions;
  readonly #abort = new AbortController();
  /** Starts in progress, by conversation: a second request for the same id waits for the first. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  /** Writes the start task, and over V0 the conversation; starts in the background. */
  begin(request: StartRequest): StartTaskRow {
    const { store, clock } = this.#options;
    const now = clock.stamp();
    const id = request.body.conversation_id ?? newHexId();
    const task: StartTaskRow = {
      id: newHexId(),
      dialect: request.row.dialect,
      status: 'WORKING',
      detail: null,
      app_conversation_id: null,
      conversation_id: id,
      sandbox_id: null,
      agent_server_url: null,
      request: request.echo,
      created_at: now,
      updated_at: now,
    };
    store.transaction(() => {
      store.startTasks.insert(task);
      const existing = store.conversations.get(id);
      if (existing?.start_state === 'failed') {
        store.conversations.update(id, { start_state: 'starting', start_detail: null });
      } else if (request.row.dialect === 'V0' && existing === null) {
        store.conversations.insert(newConversation(id, request, 'starting', now));
      }
    });
    const before = this.#underWay.get(id) ?? Promise.resolve();
    // Not before the answer is sent, so that the client can see the first status.
    const work = before.then(() => soon()).then(() => this.#run(task, request));
    this.#underWay.set(id, work);
    void work.finally(() => {
      if (this.#underWay.get(id) === work) this.#underWay.delete(id);
    });
    return task;
  }

  /** Makes a repository of a sandbox's workspace, for diffs. Never rejects. */
  async prepare(sandboxId: string): Promise<void> {
    const { supervisor, env, log } = this.#options;
    try {
      await initWorkspace(supervisor.folders.workspace(sandboxId), env, this.#abort.signal);
    } catch (error) {
      log(`the workspace of sandbox ${sandboxId} got no repository: ${String(error)}`);
    }
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await Promise.all(this.#underWay.values());
  }

  #step(task: StartTaskRow, change: Partial<StartTaskRow>): void {
    const { store, clock } = this.#options;
    store.startTasks.update(task.id, { ...change, updated_at: clock.stamp() });
  }

  /** Never rejects: a failure is written into the task, else into the log. */
  async #run(task: StartTaskRow, request: StartRequest): Promise<void> {
    const { store, supervisor } = this.#options;
    const { conversation_id: id } = task;
    let created: string | null = null;
    try {
      const existing = store.conversations.get(id);
      if (existing?.start_state === 'ready') return this.#repeat(task, existing);
      this.#abort.signal.throwIfAborted();
      const enter = (sandboxId: string): void => {
        if (store.sandboxes.get(sandboxId) === null)
          throw new SandboxUnavailable(`500: Sandbox not found: ${sandboxId}`);
        if (request.row.dialect === 'V0') store.conversations.update(id, { sandbox_id: sandboxId });
        this.#step(task, { status: 'WAITING_FOR_SANDBOX', sandbox_id: sandboxId });
      };
      const named = request.body.sandbox_id ?? null;
      if (named !== null) store.transaction(() => enter(named));
      const source = this.#sourceOf(request);
      // In one transaction with the new sandbox: else a crash could leave one that no task names.
      if (named === null)
        created = supervisor.create(request.spec, enter, mountsOf(request, source)).id;
      const sandboxId = named ?? created ?? '';
      await supervisor.use(
        sandboxId,
        (running, deleted) => {
          const signal = AbortSignal.any([this.#abort.signal, deleted]);
          return this.#startIn(sandboxId, running, signal, task, { ...request, source });
        },
        (detail) => {
          this.#step(task, { detail });
        },
      );
    } catch (error) {
      await this.#fail(task, request, created, error as Error);
    }
  }

  /** A repeated start ends at the conversation that exists; its message is not sent again. */
  #repeat(task: StartTaskRow, { id, sandbox_id }: ConversationRow): void {
    const sandbox = this.#options.store.sandboxes.get(sandbox_id);
    this.#step(task, {
      status: 'READY',
      detail: sandbox?.status_detail ?? null,
      app_conversation_id: id,
      sandbox_id,
      agent_server_url: agentUrl(sandbox),
    });
  }

  async #fail(
    task: StartTaskRow,
    request: StartRequest,
    created: string | null,
    error: Error,
  ): Promise<void> {
    const { store, supervisor, log } = this.#options;
    const { conversation_id: id } = task;
    const isExpected = [RepositoryError, SandboxUnavailable, SpecRefused].some(
      (kind) => error instanceof kind,
    );
    if (!isExpected) log(`start task ${task.id}: ${error.stack}`);
    const reason = isExpected ? error.message : `the start failed: ${error.message}`;
    const detail = this.#abort.signal.aborted ? 'the service was stopped' : reason;
    try {
      if (created !== null) await supervisor.remove(created);
      store.transaction(() => {
        const row = request.row.dialect === 'V0' ? store.conversations.get(id) : null;
        if (row?.start_state === 'starting') {
          const failed = { start_state: 'failed', start_detail: detail, sandbox_id: null } as const;
          store.conversations.update(id, failed);
        }
        this.#step(task, { status: 'ERROR', detail });
      });
    } catch (unwritten) {
      // A full disk: the next service ends the task.
      log(
        `start task ${task.id} failed (${detail}), which cannot be written: ${String(unwritten)}`,
      );
    }
  }

  async #startIn(
    sandboxId: string,
    running: Promise<SandboxRow>,
    signal: AbortSignal,
    task: StartTaskRow,
    request: StartRequest & { source: RepositorySource | null },
  ): Promise<void> {
    const { store, supervisor, clock } = this.#options;
    const { conversation_id: id } = task;
    // The checkout is made outside the sandbox, so it does not wait for it.
    const checkout = this.#checkOut(sandboxId, request, signal);
    checkout.catch(() => undefined);
    const sandbox = await running;
    this.#step(task, { status: 'PREPARING_REPOSITORY', detail: null });
    const cloned = await checkout;
    const workingDir = path.posix.join(sandbox.working_dir ?? '.', cloned?.folder ?? '');
    const isSetUp =
      cloned !== null &&
      existsSync(path.join(supervisor.folders.workspace(sandboxId), cloned.folder, SETUP_SCRIPT));
    this.#step(task, {
      status: isSetUp ? 'RUNNING_SETUP_SCRIPT' : 'STARTING_CONVERSATION',
      agent_server_url: agentUrl(sandbox),
    });
    // The time before the first event: a conversation is not younger than what happened in it.
    const now = clock.stamp();
    const answer = await supervisor.send(sandboxId, {
      method: 'POST',
      path: '/api/conversations',
      json: {
        ...agentConversation(id, request, workingDir, store),
        ...(isSetUp && { setup_script: SETUP_SCRIPT }),
      },
      ...(isSetUp && { timeoutMs: SETUP_MS }),
      signal,
    });
    if (![200, 201].includes(answer.status)) {
      throw new SandboxUnavailable(
        `the conversation could not be started (HTTP ${answer.status}): ${textOf(answer)}`,
      );
    }
    store.transaction(() => {
      const before = store.conversations.get(id);
      if (before === null && request.row.dialect === 'V0')
        throw new SandboxUnavailable('the conversation was deleted');
      const row = before ?? newConversation(id, request, 'ready', now);
      // What the worker reported before the row existed is in the log.
      const inLog = stateInLog(supervisor.folders.events(sandboxId), id);
      const title = hasDefaultTitle(row) ? inLog?.title : null;
      const change = {
        start_state: 'ready' as const,
        start_detail: null,
        sandbox_id: sandboxId,
        working_dir: workingDir,
        base_commit: cloned?.commit ?? null,
        branch: cloned?.branch ?? request.row.branch,
        ...inLog,
        title: title ?? row.title,
      };
      if (before === null) store.conversations.insert({ ...row, ...change });
      else store.conversations.update(id, change);
    });
    const details = [store.sandboxes.get(sandboxId)?.status_detail, cloned?.report];
    const detail = details.filter((line) => line != null).join('\n') || null;
    this.#step(task, { status: 'READY', detail, app_conversation_id: id });
  }

  /** Null: the conversation starts without a repository of its own. Throws RepositoryError. */
  #sourceOf({ body }: StartRequest): RepositorySource | null {
    const { selected_repository: cloneFrom, git_provider: given } = body;
    if (cloneFrom == null) return null;
    const providers = readProviders(this.#options.store.documents);
    // The `openhands` CLI names no provider.
    const [first = 'github', ...others] = Object.keys(providers) as Provider[];
    const implied = others.length === 0 ? first : 'github';
    const provider = given ?? (repositoryForm(cloneFrom) === 'name' ? implied : null);
    return repositorySource(
      cloneFrom,
      provider,
      provider === null ? undefined : providers[provider],
    );
  }

  async #checkOut(
    sandboxId: string,
    request: StartRequest & { source: RepositorySource | null },
    signal: AbortSignal,
  ): Promise<Cloned | null> {
    const { store, supervisor, env, stagingDir } = this.#options;
    const { source, body } = request;
    const isNew = body.sandbox_id == null;
    const workspaceDir = supervisor.folders.workspace(sandboxId);
    if (source === null) {
      if (isNew) await initWorkspace(workspaceDir, env, signal);
      return null;
    }
    const sandbox = store.sandboxes.get(sandboxId);
    // In a sandbox that existed, another clone may stand at the path.
    const isPlaced =
      isNew &&
      sandbox?.isolation !== 'process' &&
      sandbox?.mounts.some(({ mode }) => mode === 'link') === true;
    return cloneRepository({
      source,
      branch: request.row.branch,
      filesFrom: body.workspace_commit ?? null,
      dependencies: body.workspace_dependencies !== false && (isPlaced ? 'all' : 'movable'),
      workspaceDir,
      stagingDir,
      env,
      signal,
    });
  }
}

function mountsOf(
  { row: { repository, git_provider } }: StartRequest,
  source: RepositorySource | null,
): Mount[] {
  if (repository === null || source === null) return [];
  const caches = cacheMount(repository, git_provider);
  const target = localFolder(source);
  if (target === null || !isFree(target)) return [caches];
  // Installed programs name the path of the checkout.
  const clone = path.posix.join(WORKSPACE_INSIDE, source.name);
  return [{ source: clone, target, mode: 'link' }, caches];
}

const newHexId = (): string => randomBytes(16).toString('hex');

function newConversation(
  id: string,
  { row }: StartRequest,
  start_state: ConversationRow['start_state'],
  now: string,
): ConversationRow {
  return {
    id,
    ...row,
    start_state,
    start_detail: null,
    sandbox_id: null,
    title: defaultTitle(id),
    execution_status: null,
    metrics: null,
    working_dir: null,
    base_commit: null,
    extras: {},
    created_at: now,
    updated_at: now,
  };
}

/** Interface section 7.4. `workingDir`: as seen inside the sandbox. */
export function agentConversation(
  id: string,
  request: StartRequest,
  workingDir: string,
  { documents, secrets }: Pick<Store, 'documents' | 'secrets'>,
): Record<string, unknown> {
  const { plain, agent, conversation: settings, mcp } = readSettings(documents);
  // As on genuine servers: without an analyzer each action counts as risky.
  const [security_analyzer, confirmation] =
    (settings.security_analyzer ?? 'llm') === 'llm'
      ? [
          { kind: 'LLMSecurityAnalyzer' },
          { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
        ]
      : [null, { kind: 'AlwaysConfirm' }];
  const policy = settings.confirmation_mode === true ? confirmation : { kind: 'NeverConfirm' };
  return {
    conversation_id: id,
    initial_message: request.message && { ...request.message, run: true },
    workspace: { working_dir: workingDir },
    max_iterations: settings.max_iterations ?? 500,
    disabled_skills: plain.disabled_skills,
    confirmation_policy: request.body.confirmation_policy ?? policy,
    security_analyzer,
    secrets: { ...secrets.values(), ...request.body.secrets },
    ...(request.replay === null
      ? {
          agent: modelAgent(request, agent, mcp),
          llm_of_settings: true,
          max_budget_per_task: plain.max_budget_per_task,
        }
      : { agent: { llm: { model: request.row.llm_model ?? 'replay' } }, replay: request.replay }),
  };
}

/** A member that the settings do not have gets the default of the agent. */
function modelAgent(
  { row, body: { mcp_config, system_message_suffix } }: StartRequest,
  agent: JsonObject,
  ofSettings: McpServers,
): object {
  const { llm, tools, condenser, tool_concurrency_limit } = agent;
  return {
    kind: 'Agent',
    llm: withModel(isJsonObject(llm) ? llm : {}, row.llm_model ?? ''),
    tools:
      Array.isArray(tools) && tools.length > 0
        ? tools
        : ['terminal', 'file_editor', 'task_tracker'].map((name) => ({ name, params: {} })),
    condenser,
    tool_concurrency_limit,
    mcp_config: toAgent((mcp_config as McpServers | null | undefined) ?? ofSettings),
    ...(system_message_suffix != null && { agent_context: { system_message_suffix } }),
  };
}
