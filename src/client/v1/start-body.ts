import { AppError } from '../../base/errors.ts';
import { FLAG_OF_MEMBER, type NewConversation } from '../../domain/new-conversation.ts';
import { serversByName } from '../../domain/mcp-config.ts';
import { withoutNull } from '../../protocol/shape.ts';
import { startMember, type ProbeFacts } from '../shared/features.ts';
import { dashedId } from '../../domain/ids.ts';
import { messageContent, POLICIES } from '../agent-server/message.ts';
import { markingTitle } from './lookup.ts';

/** Only the local service takes `mcp_config` and `workspace_commit`. */
function takes(
  facts: ProbeFacts,
  member: 'confirmation_policy' | 'mcp_config' | 'workspace_commit' | 'title',
): boolean {
  return startMember(facts, member) === 'present';
}

/** The changes of the checkout, where they are brought into the workspace after the start. */
export function carriedChanges({ changes = null }: NewConversation, facts: ProbeFacts) {
  return takes(facts, 'workspace_commit') ? null : changes;
}

/** The policy, where it is set after the start. */
export function latePolicy({ confirm }: NewConversation, facts: ProbeFacts) {
  return takes(facts, 'confirmation_policy') ? null : confirm;
}

/** Whether the message is sent when the conversation has started. */
export function isSentLater(request: NewConversation, facts: ProbeFacts): boolean {
  return carriedChanges(request, facts) !== null || latePolicy(request, facts) !== null;
}

const WHO_HAS: Readonly<Record<string, string>> = {
  replay_json: 'the local service and V0 servers replay',
  create_microagent: 'V0 servers have it',
};

export function refuseWhatIsMissing(request: NewConversation, facts: ProbeFacts): void {
  const missing = askedMembers(request, facts)
    .filter((name) => name === 'create_microagent' || startMember(facts, name) === 'absent')
    .map((name) => `${flagOf(name)} (${WHO_HAS[name] ?? 'newer servers have it'})`);
  if (request.mcp_config !== null && !takes(facts, 'mcp_config'))
    missing.push(
      '--mcp-config for one conversation (V0 servers and the local service have it; for all: ' +
        'acs settings set mcp_config=@file)',
    );
  // A replay begins with the start: its first steps would be carried out unapproved.
  if (request.replay !== null && latePolicy(request, facts) !== null)
    missing.push(
      '--confirm together with --replay (for all conversations: acs settings set ' +
        'confirmation_mode=true)',
    );
  if (missing.length > 0)
    throw new AppError(
      'unsupported',
      `this server cannot start a V1 conversation with ${missing.join(', ')}`,
    );
  // Servers answer 500 (interface 4.1).
  if ('suggested_task' in request.body && (request.message ?? '') !== '')
    throw new AppError('usage', 'a suggested task brings its own message: leave the message out');
}

export function askedMembers(request: NewConversation, facts: ProbeFacts): string[] {
  const others = ['conversation_id', 'initial_message', 'sandbox_spec_id'];
  const members = Object.keys(startBody(request, '0'.repeat(32), request.sandbox_id, facts));
  return members.filter((name) => !others.includes(name));
}

export function flagOf(member: string): string {
  return FLAG_OF_MEMBER[member] ?? `--body with ${member}`;
}

export function startBody(
  request: NewConversation,
  conversationId: string,
  sandboxId: string | null,
  facts: ProbeFacts,
): Record<string, unknown> {
  const content = messageContent(request);
  const { confirm } = request;
  const isPolicySent = confirm !== null && takes(facts, 'confirmation_policy');
  // A replay begins with its recorded message, and waits without any.
  const hasMessage = content.length > 0 || request.replay !== null;
  const takesId = facts.features['caller-conversation-id'] !== 'absent';
  const isMarked = !takesId && takes(facts, 'title');
  const members: Record<string, unknown> = {
    conversation_id: takesId ? dashedId(conversationId) : null,
    title: isMarked ? markingTitle(conversationId) : null,
    initial_message:
      hasMessage && !isSentLater(request, facts) ? { role: 'user', content, run: true } : null,
    sandbox_id: sandboxId,
    sandbox_spec_id: sandboxId === null ? request.spec_id : null,
    system_message_suffix: request.instructions,
    llm_model: request.model,
    selected_repository: request.repository,
    selected_branch: request.branch,
    git_provider: request.git_provider,
    secrets: Object.keys(request.secrets).length > 0 ? request.secrets : null,
    replay_json: request.replay,
    confirmation_policy: isPolicySent ? { kind: POLICIES[confirm] } : null,
    workspace_commit: takes(facts, 'workspace_commit') ? request.changes?.commit : null,
    workspace_dependencies: request.dependencies,
    mcp_config:
      request.mcp_config && takes(facts, 'mcp_config') ? serversByName(request.mcp_config) : null,
  };
  return { ...withoutNull(members), ...request.body };
}
