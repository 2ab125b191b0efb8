/** From the bodies of the two dialects to one StartRequest; refuses what can be refused before anything starts. */
import { createHash } from 'node:crypto';
import type { AppConversationStart } from '../../../protocol/v1/requests.ts';
import type { ConversationCreateV0 } from '../../../protocol/v0/requests.ts';
import { toDashedId, toHexId } from '../../../protocol/detail.ts';
import { demoSteps } from '../../agents/replay/demo.ts';
import { DEMO } from '../../agents/replay/file.ts';
import { parseTrajectory, ReplayError } from '../../agents/replay/parse.ts';
import type { ReplayStep } from '../../agents/replay/steps.ts';
import type { SandboxSpecName } from '../../sandboxes/worker-protocol.ts';
import { isBranchName, shownRepository } from '../repositories/repository.ts';
import { valueAt, type StoredSettings } from '../settings/record.ts';
import { MASK } from '../settings/mcp.ts';
import { assertSpecWorks, isSpecName, type SpecChoice } from '../../sandboxes/specs.ts';
import type { StartRequest } from './start-plan.ts';

/** A start that is refused before anything began. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
  /** What kind of refusal, as V0 names it. */
  readonly messageId: string;
  /** The member of the request that is wrong; null: none of them. */
  readonly member: string | null;

  constructor(message: string, messageId: string, member: string | null = null) {
    super(message);
    this.messageId = messageId;
    this.member = member;
  }
}

export const SETTINGS_NOT_FOUND = 'CONFIGURATION$SETTINGS_NOT_FOUND';
export const MODEL_NOT_SUPPORTED = 'CONFIGURATION$MODEL_NOT_SUPPORTED';
const REPLAY_INVALID = 'REPLAY$INVALID';
const BRANCH_INVALID = 'CONFIGURATION$BRANCH_INVALID';
/** The first message of a replay that was recorded without a user message. */
const BEGIN = 'Replay the recorded trajectory.';

interface Surroundings {
  settings: StoredSettings | null;
  specs: SpecChoice;
  /** The replay when the request names none and no model is set; null: none. */
  defaultReplay: ReplayStep[] | null;
}

/** A V1 body as a start. Throws StartRefused. */
export function startFromV1(given: AppConversationStart, around: Surroundings): StartRequest {
  const body = { ...given, selected_repository: shownOrNull(given.selected_repository) };
  const replay = replayOf(body.replay_json ?? null, around);
  refuseBranch(body.selected_branch ?? null, 'selected_branch');
  const message = firstMessage(body, replay.userMessage);
  const { secrets, initial_message: _message, replay_json: _replay, ...kept } = body;
  return {
    dialect: 'V1',
    conversationId: body.conversation_id ?? null,
    sandboxId: body.sandbox_id ?? null,
    spec: specOf(body.sandbox_spec_id ?? null, around),
    message: message === null ? null : { role: message.role, content: message.content },
    replay: replay.steps,
    confirmationPolicy: body.confirmation_policy ?? null,
    repository: body.selected_repository,
    cloneFrom: given.selected_repository ?? null,
    branch: body.selected_branch ?? null,
    provider: body.git_provider ?? null,
    trigger: body.trigger ?? null,
    prNumber: body.pr_number,
    llmModel: body.llm_model ?? modelOf(around.settings),
    parentId: body.parent_conversation_id ?? null,
    isPublic: body.public ?? null,
    secrets: secrets ?? {},
    extras: kept,
    echo: echoV1(body),
  };
}

/**
 * The first user message. Null leaves the conversation idle until a message or a run request arrives. A message without
 * content, and a suggested task, start the replay with its recorded message.
 */
function firstMessage({ initial_message: said, suggested_task: task }: AppConversationStart, recorded: string | null) {
  if (said != null && said.content.length > 0) return said;
  const isBegun = said != null || task != null;
  const words = recorded ?? (isBegun ? BEGIN : null);
  return words === null ? null : { role: 'user', content: [textBlock(words)] };
}

/** A V0 body as a start. Throws StartRefused. */
export function startFromV0(given: ConversationCreateV0, around: Surroundings, trigger: string): StartRequest {
  const body = withoutCredentials(given);
  const replay = replayOf(body.replay_json ?? null, around);
  refuseBranch(body.selected_branch ?? null, 'selected_branch');
  const id = body.conversation_id ?? null;
  if (id !== null && toHexId(id) === null) {
    throw new StartRefused('conversation_id must be a UUID, with or without dashes', 'CONVERSATION$INVALID_ID');
  }
  const images = body.image_urls ?? [];
  const content = [
    textBlock(body.initial_user_msg ?? replay.userMessage ?? BEGIN),
    ...(images.length > 0 ? [{ type: 'image', image_urls: images }] : []),
  ];
  const { replay_json: _replay, ...kept } = body;
  return {
    dialect: 'V0',
    conversationId: id === null ? null : toHexId(id),
    sandboxId: null,
    spec: specOf(null, around),
    message: { role: 'user', content },
    replay: replay.steps,
    confirmationPolicy: null,
    repository: body.repository ?? body.create_microagent?.repo ?? null,
    cloneFrom: given.repository ?? given.create_microagent?.repo ?? null,
    branch: body.selected_branch ?? null,
    provider: body.git_provider ?? body.create_microagent?.git_provider ?? null,
    trigger,
    prNumber: [],
    llmModel: modelOf(around.settings),
    parentId: null,
    isPublic: null,
    secrets: {},
    extras: kept,
    echo: echoV0(body, content),
  };
}

function shownOrNull(repository: string | null | undefined): string | null {
  return repository == null ? null : shownRepository(repository);
}

/** What is kept of a request and shown again names its repositories without user and password. */
function withoutCredentials(body: ConversationCreateV0): ConversationCreateV0 {
  const task = body.create_microagent;
  return {
    ...body,
    repository: shownOrNull(body.repository),
    ...(task == null ? {} : { create_microagent: { ...task, repo: shownRepository(task.repo) } }),
  };
}

function textBlock(words: string): { type: 'text'; text: string } {
  return { type: 'text', text: words };
}

function modelOf(settings: StoredSettings | null): string | null {
  const model = settings === null ? undefined : valueAt(settings.agent, 'llm.model');
  return typeof model === 'string' ? model : null;
}

/** Throws SpecRefused for one that does not work on this machine. */
function specOf(name: string | null, { settings, specs }: Surroundings): SandboxSpecName | null {
  const wanted = name ?? settings?.plain.default_sandbox_spec_id ?? null;
  if (wanted === null) return null;
  if (typeof wanted === 'string' && isSpecName(wanted)) {
    assertSpecWorks(wanted, specs);
    return wanted;
  }
  throw new StartRefused(`unknown sandbox spec '${String(wanted)}'`, 'SANDBOX$UNKNOWN_SPEC', 'sandbox_spec_id');
}

function refuseBranch(branch: string | null, member: string): void {
  if (branch === null || isBranchName(branch)) return;
  throw new StartRefused(`'${branch.slice(0, 100)}' is not a valid branch name`, BRANCH_INVALID, member);
}

const BOTH_WAYS =
  'give a recorded trajectory to replay ("demo" is built in), or use a server that runs an agent with the llm_model, llm_api_key and llm_base_url of its settings';

function replayOf(
  text: string | null,
  { settings, defaultReplay }: Surroundings,
): { steps: ReplayStep[]; userMessage: string | null } {
  if (text === null) {
    if (modelOf(settings) === null) {
      // Without the recorded words of a user: nothing begins before the first message of the client.
      if (defaultReplay !== null) return { steps: defaultReplay, userMessage: null };
      throw new StartRefused(`This conversation has neither a replay nor a model: ${BOTH_WAYS}.`, SETTINGS_NOT_FOUND);
    }
    throw new StartRefused(
      'This version of the local service only replays recorded trajectories; it does not run an agent with a model. Give a recorded trajectory to replay, or use another server.',
      MODEL_NOT_SUPPORTED,
    );
  }
  if (text.trim() === DEMO) return { steps: demoSteps(), userMessage: 'Show what you can do.' };
  try {
    const { steps, user_message: userMessage } = parseTrajectory(text);
    return { steps, userMessage };
  } catch (error) {
    if (!(error instanceof ReplayError)) throw error;
    throw new StartRefused(`The replay cannot be used: ${error.message}`, REPLAY_INVALID, 'replay_json');
  }
}

/** A replay may be large: its digest is shown, which distinguishes two of them. */
function digestOf(text: string | null): string | null {
  return text === null ? null : `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

const ECHOED = [
  'sandbox_id',
  'conversation_id',
  'initial_message',
  'system_message_suffix',
  'processors',
  'llm_model',
  'agent_profile_id',
  'selected_repository',
  'selected_branch',
  'git_provider',
  'suggested_task',
  'title',
  'trigger',
  'pr_number',
  'parent_conversation_id',
  'agent_type',
  'public',
  'plugins',
  'sandbox_spec_id',
  'confirmation_policy',
] as const;

function echoV1(body: AppConversationStart): Record<string, unknown> {
  const echo: Record<string, unknown> = {};
  for (const name of ECHOED) echo[name] = body[name] ?? null;
  echo.conversation_id = body.conversation_id == null ? null : toDashedId(body.conversation_id);
  const secrets = body.secrets ?? null;
  echo.secrets = secrets === null ? null : Object.fromEntries(Object.keys(secrets).map((name) => [name, MASK]));
  echo.replay_json = digestOf(body.replay_json ?? null);
  return echo;
}

/** In the form of V1, for start tasks are V1's; without `mcp_config`, which holds keys. */
function echoV0(body: ConversationCreateV0, content: unknown[]): Record<string, unknown> {
  const echo: Record<string, unknown> = Object.fromEntries(ECHOED.map((name) => [name, null]));
  return {
    ...echo,
    conversation_id: body.conversation_id ?? null,
    initial_message: { role: 'user', content, run: true },
    selected_repository: body.repository ?? null,
    selected_branch: body.selected_branch ?? null,
    git_provider: body.git_provider ?? null,
    suggested_task: body.suggested_task ?? null,
    create_microagent: body.create_microagent ?? null,
    conversation_instructions: body.conversation_instructions ?? null,
    pr_number: [],
    agent_type: 'default',
    secrets: null,
    replay_json: digestOf(body.replay_json ?? null),
  };
}
