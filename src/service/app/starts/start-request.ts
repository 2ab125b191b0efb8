/** A start request of either dialect, checked before anything is made. */
import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { toDashedId, toHexId } from '../../../protocol/detail.ts';
import type { ConversationCreateV0 } from '../../../protocol/v0/requests.ts';
import {
  appConversationStart,
  type AppConversationStart,
  type Provider,
} from '../../../protocol/v1/requests.ts';
import { DEMO, demoSteps } from '../../agents/replay/file.ts';
import { parseTrajectory } from '../../agents/replay/parse.ts';
import { ReplayError, type ReplayStep } from '../../base/steps.ts';
import { endpointHint, endpointOf } from '../../base/model-endpoint.ts';
import { CACHE_INSIDE } from '../../isolation/bubblewrap.ts';
import { cacheMount } from '../../sandboxes/caches.ts';
import {
  assertModelMayRun,
  assertSpecWorks,
  isSpecName,
  type SpecChoice,
} from '../../sandboxes/specs.ts';
import type { SandboxSpecName } from '../../base/worker-protocol.ts';
import type { ConversationRow } from '../../storage/conversations.ts';
import type { Store } from '../../storage/index.ts';
import type { SandboxRow } from '../../storage/sandboxes.ts';
import { isBranchName, shownRepository } from '../repository.ts';
import { valueAt } from '../../../protocol/settings.ts';
import { MASK } from '../../settings/fields.ts';
import { fromV0 } from '../../settings/mcp.ts';
import { readSettings, type StoredSettings } from '../../settings/settings.ts';
import { cut } from '../../../base/text/well-formed.ts';

export interface StartRequest {
  /** As V1 has it; its repository may have user and password, for the clone alone. */
  body: AppConversationStart;
  spec: SandboxSpecName | null;
  /** Null: the conversation is idle until a message or a run request arrives. */
  message: { role: string; content: unknown[] } | null;
  /** Null: an agent with the model of `row.llm_model`. */
  replay: ReplayStep[] | null;
  /** What is stored of the conversation; its repository without user and password. */
  row: Pick<
    ConversationRow,
    | 'dialect'
    | 'parent_id'
    | 'public'
    | 'repository'
    | 'branch'
    | 'trigger'
    | 'git_provider'
    | 'pr_number'
    | 'llm_model'
  >;
  echo: Record<string, unknown>;
}

export class StartRefused extends Error {
  override readonly name = 'StartRefused';
  readonly messageId: string;
  readonly member: string | null;

  constructor(message: string, messageId: string, member: string | null = null) {
    super(message);
    this.messageId = messageId;
    this.member = member;
  }
}

interface Surroundings {
  store: Store;
  specs: SpecChoice;
  defaultReplay: ReplayStep[] | null;
}

/** The first message of a replay that was recorded without a user message. */
const BEGIN = 'Replay the recorded trajectory.';

/** Throws StartRefused, and SpecRefused for a spec that does not work on this machine. */
export function startFromV1(
  body: AppConversationStart,
  around: Surroundings,
  dialect: ConversationRow['dialect'] = 'V1',
): StartRequest {
  const { selected_branch: branch = null, selected_repository: cloneFrom = null } = body;
  const { git_provider = null, trigger = null, pr_number } = body;
  const { parent_conversation_id: parent_id = null, public: isPublic = null } = body;
  const { store, specs } = around;
  const settings = readSettings(store.documents);
  const llm_model = body.llm_model ?? textAt(settings, 'llm.model');
  const recorded = body.replay_json == null ? null : readReplay(body.replay_json);
  const replay = recorded
    ? recorded.steps
    : stepsWithoutReplay(body.conversation_id ?? null, around, {
        model: llm_model,
        base_url: textAt(settings, 'llm.base_url'),
      });
  const spec = specOf(body.sandbox_spec_id ?? settings.plain.default_sandbox_spec_id, specs);
  const sandbox = store.sandboxes.get(body.sandbox_id ?? null);
  if (replay === null) assertModelMayRun({ named: spec, sandbox }, specs);
  if (branch !== null && !isBranchName(branch)) {
    const message = `'${cut(branch, 100)}' is not a valid branch name`;
    throw new StartRefused(message, 'CONFIGURATION$BRANCH_INVALID', 'selected_branch');
  }
  const repository = cloneFrom && shownRepository(cloneFrom);
  if (repository !== null) assertCacheIsOf(repository, git_provider, sandbox);
  return {
    body,
    spec,
    message: messageOf(body, recorded?.message),
    replay,
    row: {
      dialect,
      parent_id,
      public: isPublic,
      repository,
      branch,
      git_provider,
      trigger,
      pr_number,
      llm_model,
    },
    echo: echoOf(body, repository),
  };
}

function messageOf(
  body: AppConversationStart,
  recorded: string | null | undefined,
): StartRequest['message'] {
  const { initial_message: message, suggested_task: task } = body;
  if (message != null && message.content.length > 0)
    return { role: message.role, content: message.content };
  // A message without content, and a suggested task, start the replay with its recorded message.
  const text = recorded ?? (message != null || task != null ? BEGIN : null);
  return text === null ? null : { role: 'user', content: [{ type: 'text', text }] };
}

/** The request as its start task shows it: `repository` without user and password. */
function echoOf(body: AppConversationStart, repository: string | null): Record<string, unknown> {
  const { conversation_id: id, secrets, replay_json: replay } = body;
  const members = Object.keys(appConversationStart.entries)
    // Recorded: the members for tracing are not repeated. MCP servers may have secrets.
    .filter((name) => !name.startsWith('observability_') && name !== 'mcp_config')
    .map((name) => [name, body[name as keyof AppConversationStart] ?? null] as const);
  const masked = Object.keys(secrets ?? {}).map((name) => [name, MASK]);
  return {
    ...Object.fromEntries(members),
    conversation_id: id == null ? null : toDashedId(id),
    selected_repository: repository,
    secrets: secrets == null ? null : Object.fromEntries(masked),
    // A replay may be large: its digest is shown, which distinguishes two of them.
    replay_json:
      replay == null ? null : `sha256:${createHash('sha256').update(replay).digest('hex')}`,
  };
}

function textAt(settings: StoredSettings, path: string): string | null {
  const value = valueAt(settings.agent, path);
  return typeof value === 'string' && value !== '' ? value : null;
}

function specOf(spec: unknown, specs: SpecChoice): SandboxSpecName | null {
  if (spec == null) return null;
  if (typeof spec !== 'string' || !isSpecName(spec)) {
    const message = `unknown sandbox spec '${String(spec)}'`;
    throw new StartRefused(message, 'SANDBOX$UNKNOWN_SPEC', 'sandbox_spec_id');
  }
  assertSpecWorks(spec, specs);
  return spec;
}

/** A cache lasts longer than the sandbox: agents about two repositories would write to it. */
function assertCacheIsOf(
  repository: string,
  provider: Provider | null,
  sandbox: SandboxRow | null,
): void {
  const cache = sandbox?.mounts.find(({ target }) => target === CACHE_INSIDE);
  if (sandbox?.isolation === 'process' || cache === undefined) return;
  if (cache.source === cacheMount(repository, provider).source) return;
  const message =
    'the sandbox has the caches of another repository; start the conversation in a sandbox of ' +
    'its own, or in one that was created without a repository';
  throw new StartRefused(message, 'SANDBOX$OTHER_REPOSITORY', 'sandbox_id');
}

export function startFromV0(
  body: ConversationCreateV0,
  around: Surroundings,
  trigger: string,
): StartRequest {
  const {
    initial_user_msg: text,
    image_urls: images,
    create_microagent: microagent,
    mcp_config: mcp,
    ...same
  } = body;
  if (same.conversation_id != null && toHexId(same.conversation_id) === null) {
    const message = 'conversation_id must be a UUID, with or without dashes';
    throw new StartRefused(message, 'CONVERSATION$INVALID_ID');
  }
  const asV1 = v.parse(appConversationStart, {
    conversation_id: same.conversation_id,
    initial_message: {
      content: [
        ...(text == null ? [] : [{ type: 'text', text }]),
        ...(images?.length ? [{ type: 'image', image_urls: images }] : []),
      ],
    },
    replay_json: same.replay_json,
    system_message_suffix: same.conversation_instructions,
    selected_repository: same.repository ?? microagent?.repo,
    selected_branch: same.selected_branch,
    git_provider: same.git_provider ?? microagent?.git_provider,
    trigger,
  });
  // valibot leaves out a server that is called `constructor`.
  asV1.mcp_config = mcp && fromV0(mcp, {});
  // A start task of V0 shows no request.
  return { ...startFromV1(asV1, around, 'V0'), echo: {} };
}

/** `message`: the recorded one of the user. */
function readReplay(text: string): { steps: ReplayStep[]; message: string | null } {
  if (text.trim() === DEMO) return { steps: demoSteps(), message: 'Show what you can do.' };
  try {
    const { steps, user_message: message } = parseTrajectory(text);
    return { steps, message };
  } catch (error) {
    if (!(error instanceof ReplayError)) throw error;
    const message = `The replay cannot be used: ${error.message}`;
    throw new StartRefused(message, 'REPLAY$INVALID', 'replay_json');
  }
}

/** Of a request that names no replay. Null: an agent with a model. */
function stepsWithoutReplay(
  conversationId: string | null,
  { store, defaultReplay }: Surroundings,
  llm: { model: string | null; base_url: string | null },
): ReplayStep[] | null {
  // The start of a conversation that exists returns it, and need not name its replay again.
  if (store.conversations.get(conversationId)?.start_state === 'ready') return [];
  if (defaultReplay !== null || endpointOf(llm) !== null) return defaultReplay;
  const { model } = llm;
  const why =
    model === null ? 'no model (llm_model)' : `no URL for the model ${model} (llm_base_url)`;
  const replay = 'The conversation has no replay ("demo" is built in)';
  const message = `${replay}, and the settings have ${why}. ${endpointHint(model ?? '') ?? ''}`;
  throw new StartRefused(message.trim(), 'CONFIGURATION$SETTINGS_NOT_FOUND');
}
