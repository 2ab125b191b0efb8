/**
 * From a start request to the conversation at its agent server: the start task, the sandbox and its
 * worker, the workspace with its repository, the conversation. A failure shows as status ERROR of
 * the start task, with the reason.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setImmediate as soon } from 'node:timers/promises';
import type { Clock } from '../../lifecycle/clock.ts';
import { jsonOf, textOf } from '../../sandboxes/agent-client.ts';
import { SpecRefused } from '../../sandboxes/specs.ts';
import { SandboxUnavailable, type Supervisor } from '../../sandboxes/supervisor.ts';
import {
  defaultTitle,
  hasDefaultTitle,
  type ConversationRow,
} from '../../storage/conversations.ts';
import { stateInLog } from '../../storage/event-logs.ts';
import type { Store } from '../../storage/index.ts';
import type { SandboxRow } from '../../storage/sandboxes.ts';
import type { StartTaskRow } from '../../storage/start-tasks.ts';
import type { Provider } from '../../../protocol/v1/requests.ts';
import { withModel } from '../../agents/model/config.ts';
import { readProviders } from '../../settings/git-providers.ts';
import {
  cloneRepository,
  initWorkspace,
  RepositoryError,
  repositoryForm,
  repositorySource,
  type Cloned,
} from '../repository.ts';
import { isJsonObject, type JsonObject } from '../../../protocol/settings.ts';
import type { McpServers } from '../../settings/mcp.ts';
import { emptySettings, readSettings } from '../../settings/settings.ts';
import type { StartRequest } from './start-request.ts';

export type Starter = ReturnType<typeof createStarter>;

export function createStarter(options: {
  store: Store;
  supervisor: Supervisor;
  clock: Clock;
  log(line: string): void;
  env: Readonly<Record<string, string | undefined>>;
  stagingDir: string;
}) {
  const { store, supervisor, clock, env, stagingDir, log } = options;
  const abort = new AbortController();
  /** Starts in progress, by conversation: a second request for the same id waits for the first. */
  const underWay = new Map<string, Promise<void>>();

  const step = (task: StartTaskRow, change: Partial<StartTaskRow>): void => {
    store.startTasks.update(task.id, { ...change, updated_at: clock.stamp() });
  };

  /**
   * Never rejects: a failure is written into the task, and into the log where it cannot be written.
   */
  const run = async (task: StartTaskRow, request: StartRequest): Promise<void> => {
    const { conversation_id: id } = task;
    let created: string | null = null;
    try {
      const existing = store.conversations.get(id);
      if (existing?.start_state === 'ready') {
        // A repeated start ends at the conversation that exists; its message is not sent again.
        const sandbox =
          existing.sandbox_id === null ? null : store.sandboxes.get(existing.sandbox_id);
        const isUp = sandbox?.status === 'RUNNING' && sandbox.port !== null;
        step(task, {
          status: 'READY',
          detail: sandbox?.status_detail ?? null,
          app_conversation_id: existing.id,
          sandbox_id: existing.sandbox_id,
          agent_server_url: isUp ? `http://127.0.0.1:${sandbox.port}` : null,
        });
        return;
      }
      abort.signal.throwIfAborted();
      const enter = (sandboxId: string): void => {
        if (store.sandboxes.get(sandboxId) === null) {
          throw new SandboxUnavailable(`500: Sandbox not found: ${sandboxId}`);
        }
        if (request.row.dialect === 'V0') store.conversations.update(id, { sandbox_id: sandboxId });
        step(task, { status: 'WAITING_FOR_SANDBOX', sandbox_id: sandboxId });
      };
      const { sandboxId: given } = request;
      if (given !== null) store.transaction(() => enter(given));
      // In one transaction with the new sandbox: else a crash could leave one that no task names.
      else created = supervisor.create(request.spec, enter).id;
      const sandboxId = given ?? created ?? '';
      await supervisor.use(
        sandboxId,
        (running, deleted) =>
          startIn(sandboxId, running, AbortSignal.any([abort.signal, deleted]), task, request),
        (detail) => {
          step(task, { detail });
        },
      );
    } catch (error) {
      const isExpected = [RepositoryError, SandboxUnavailable, SpecRefused].some(
        (kind) => error instanceof kind,
      );
      const { message, stack } = error as Error;
      const reason = isExpected ? message : `the start failed: ${message}`;
      const detail = abort.signal.aborted ? 'the service was stopped' : reason;
      if (!isExpected) log(`start task ${task.id}: ${stack}`);
      try {
        if (created !== null) await supervisor.remove(created);
        store.transaction(() => {
          if (
            request.row.dialect === 'V0' &&
            store.conversations.get(id)?.start_state === 'starting'
          ) {
            store.conversations.update(id, {
              start_state: 'failed',
              start_detail: detail,
              sandbox_id: null,
            });
          }
          step(task, { status: 'ERROR', detail });
        });
      } catch (unwritten) {
        // A full disk: the next service ends the task.
        log(
          `start task ${task.id} failed (${detail}), which cannot be written: ${String(unwritten)}`,
        );
      }
    }
  };

  const startIn = async (
    sandboxId: string,
    running: Promise<SandboxRow>,
    signal: AbortSignal,
    task: StartTaskRow,
    request: StartRequest,
  ): Promise<void> => {
    const { conversation_id: id } = task;
    // The checkout is made outside the sandbox, so it does not wait for it.
    const checkout = checkOut(sandboxId, request, signal);
    checkout.catch(() => undefined);
    const sandbox = await running;
    step(task, { status: 'PREPARING_REPOSITORY', detail: null });
    const cloned = await checkout;
    const workingDir = path.posix.join(sandbox.working_dir ?? '.', cloned?.folder ?? '');
    step(task, {
      status: 'STARTING_CONVERSATION',
      agent_server_url: `http://127.0.0.1:${sandbox.port}`,
    });
    // The time before the first event: a conversation is not younger than what happened in it.
    const now = clock.stamp();
    const answer = await supervisor.send(sandboxId, {
      method: 'POST',
      path: '/api/conversations',
      json: agentConversation(id, request, workingDir, store),
    });
    if (answer.status !== 200 && answer.status !== 201) {
      throw new SandboxUnavailable(
        `the conversation could not be started (HTTP ${answer.status}): ${textOf(answer)}`,
      );
    }
    if (jsonOf(answer) === null)
      throw new SandboxUnavailable('the answer of the agent server is not JSON');
    store.transaction(() => {
      const before = store.conversations.get(id);
      if (before === null && request.row.dialect === 'V0')
        throw new SandboxUnavailable('the conversation was deleted');
      const row = before ?? newConversation(id, request, 'ready', now);
      // What the worker reported before the row existed is in the log.
      const { title, ...inLog } = stateInLog(supervisor.folders.events(sandboxId), id) ?? {
        title: null,
      };
      const change = {
        start_state: 'ready' as const,
        start_detail: null,
        sandbox_id: sandboxId,
        working_dir: workingDir,
        base_commit: cloned?.commit ?? null,
        branch: cloned?.branch ?? request.row.branch,
        ...inLog,
        ...(title !== null && hasDefaultTitle(row) ? { title } : {}),
      };
      if (before === null) store.conversations.insert({ ...row, ...change });
      else store.conversations.update(id, change);
    });
    const detail = store.sandboxes.get(sandboxId)?.status_detail ?? null;
    step(task, { status: 'READY', detail, app_conversation_id: id });
  };

  /** Null: the conversation starts without a repository of its own. */
  const checkOut = async (
    sandboxId: string,
    request: StartRequest,
    signal: AbortSignal,
  ): Promise<Cloned | null> => {
    const { cloneFrom, provider: given } = request;
    const workspaceDir = supervisor.folders.workspace(sandboxId);
    if (cloneFrom === null) {
      if (request.sandboxId === null) await initWorkspace(workspaceDir, env, signal);
      return null;
    }
    const providers = readProviders(store.documents);
    // The `openhands` CLI names no provider.
    const [first = 'github', ...others] = Object.keys(providers) as Provider[];
    const implied =
      repositoryForm(cloneFrom) !== 'name' ? null : others.length === 0 ? first : 'github';
    const provider = given ?? implied;
    const { token = null, host = null } = (provider === null ? null : providers[provider]) ?? {};
    const source = repositorySource(cloneFrom, provider, host);
    return cloneRepository({
      source,
      branch: request.row.branch,
      workspaceDir,
      stagingDir,
      env,
      token,
      signal,
    });
  };

  return {
    /**
     * Writes the start task (and over V0 the conversation), returns it, and starts in the
     * background.
     */
    begin(request: StartRequest): StartTaskRow {
      const now = clock.stamp();
      const id = request.conversationId ?? newHexId();
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
      const before = underWay.get(id) ?? Promise.resolve();
      // Not before the answer is sent, so that the client can see the first status.
      const work = before.then(() => soon()).then(() => run(task, request));
      underWay.set(id, work);
      void work.finally(() => {
        if (underWay.get(id) === work) underWay.delete(id);
      });
      return task;
    },
    /**
     * Makes a repository of a sandbox's workspace, so that changes in it can be seen. Never
     * rejects.
     */
    async prepare(sandboxId: string): Promise<void> {
      try {
        await initWorkspace(supervisor.folders.workspace(sandboxId), env, abort.signal);
      } catch (error) {
        log(`the workspace of sandbox ${sandboxId} got no repository: ${String(error)}`);
      }
    },
    async close(): Promise<void> {
      abort.abort();
      await Promise.all(underWay.values());
    },
  };
}

/**
 * 32 hexadecimal digits with at least one letter: ids of digits alone break the databases of
 * genuine servers.
 */
function newHexId(): string {
  for (;;) {
    const id = randomBytes(16).toString('hex');
    if (/[a-f]/.test(id)) return id;
  }
}

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
): unknown {
  const { plain, agent, conversation: settings, mcp } = readSettings(documents) ?? emptySettings();
  const policy =
    settings.confirmation_mode === true
      ? { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true }
      : { kind: 'NeverConfirm' };
  const analyzer = settings.security_analyzer;
  return {
    conversation_id: id,
    initial_message: request.message === null ? null : { ...request.message, run: true },
    workspace: { working_dir: workingDir },
    max_iterations: settings.max_iterations ?? 500,
    confirmation_policy: request.confirmationPolicy ?? policy,
    security_analyzer:
      analyzer === undefined || analyzer === 'llm' ? { kind: 'LLMSecurityAnalyzer' } : null,
    secrets: { ...secrets.values(), ...request.secrets },
    ...(request.replay === null
      ? {
          agent: modelAgent(request, agent, mcp),
          llm_of_settings: true,
          max_budget_per_task: plain.max_budget_per_task ?? null,
        }
      : { agent: { llm: { model: request.row.llm_model ?? 'replay' } }, replay: request.replay }),
  };
}

/** A member that the settings do not have gets the default of the agent. */
function modelAgent(
  { row, instructions, mcp }: StartRequest,
  agent: JsonObject,
  ofSettings: McpServers,
): JsonObject {
  const { tools } = agent;
  return {
    kind: 'Agent',
    llm: withModel(isJsonObject(agent['llm']) ? agent['llm'] : {}, row.llm_model ?? ''),
    tools:
      Array.isArray(tools) && tools.length > 0
        ? tools
        : ['terminal', 'file_editor', 'task_tracker'].map((name) => ({ name, params: {} })),
    mcp_config: mcp ?? ofSettings,
    ...(instructions === null ? {} : { agent_context: { system_message_suffix: instructions } }),
  };
}
