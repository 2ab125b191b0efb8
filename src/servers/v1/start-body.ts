/** The body of a V1 start, and what V1 cannot do. */
import { AppError } from '../../errors.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import type { StartTaskRecord } from '../../protocol/v1/records.ts';
import { MEMBER_FLAGS } from '../../domain/start-members.ts';
import { startMember } from '../features.ts';
import { dashedId, normalId } from '../ids.ts';
import type { ProbeFacts } from '../probe.ts';

/** The policies of the agent server for --confirm. */
export const POLICIES = { never: 'NeverConfirm', risky: 'ConfirmRisky', always: 'AlwaysConfirm' } as const;

/** Whether the policy applies from the first step: only when the start is known to accept it. */
export function startsWithPolicy(facts: ProbeFacts): boolean {
  return startMember(facts, 'confirmation_policy') === 'present';
}

/**
 * Throws `unsupported`, before anything is sent, for what is known to be missing. A member whose presence is unknown is
 * sent, and compared when the server has answered: see start-result.ts.
 */
export function refuseWhatIsMissing(request: NewConversation, facts: ProbeFacts): void {
  const missing: string[] = [];
  if (request.microagent !== null) missing.push('--microagent (V0 servers have it)');
  if (request.mcp_config !== null)
    missing.push('--mcp-config for one conversation (V0 servers have it; for all: acs settings set mcp_config=@file)');
  if (request.replay !== null && request.confirm !== null && !startsWithPolicy(facts)) {
    // The replay begins with the start: where the policy were ignored, its first steps would be carried out unasked.
    missing.push('--confirm together with --replay (for all conversations: acs settings set confirmation_mode=true)');
  }
  for (const name of askedMembers(request, facts)) {
    if (startMember(facts, name) === 'absent')
      missing.push(`${flagOf(name)} (${WHO_HAS[name] ?? 'newer servers have it'})`);
  }
  if (missing.length > 0)
    throw new AppError('unsupported', `this server cannot do ${missing.join(', ')} when it starts a V1 conversation`);
  if (request.suggested_task !== null && (request.message ?? '') !== '') {
    throw new AppError('usage', 'a suggested task brings its own message: leave the message out');
  }
}

const WHO_HAS: Readonly<Record<string, string>> = { replay_json: 'the local service and V0 servers replay' };

/** The members of a start that the user has requested. The id is compared by itself; a spec may be given elsewhere. */
export function askedMembers(request: NewConversation, facts: ProbeFacts): string[] {
  const notAsked = ['conversation_id', 'initial_message', 'sandbox_spec_id'];
  const members = Object.keys(startBody(request, '0'.repeat(32), request.sandbox_id, facts));
  return members.filter((name) => !notAsked.includes(name));
}

/** The flag that gives a member of a start. */
export function flagOf(member: string): string {
  return MEMBER_FLAGS[member] ?? `--members with ${member}`;
}

/** Content blocks of the first message; unknown members inside a text block are refused by servers (interface 4.1). */
export function messageContent(request: Pick<NewConversation, 'message' | 'image_urls'>): Record<string, unknown>[] {
  const content: Record<string, unknown>[] = [];
  if (request.message !== null && request.message !== '') content.push({ type: 'text', text: request.message });
  if (request.image_urls.length > 0) content.push({ type: 'image', image_urls: request.image_urls });
  return content;
}

/** Only requested members are sent. The title is missing on purpose: servers ignore it here. */
export function startBody(
  request: NewConversation,
  conversationId: string,
  sandboxId: string | null,
  facts: ProbeFacts,
): Record<string, unknown> {
  const content = messageContent(request);
  const policy = request.confirm === null ? null : { kind: POLICIES[request.confirm] };
  const task = request.suggested_task;
  // A message without content begins a replay with its recorded message; without any message it would wait for one.
  const isSaid = content.length > 0 || request.replay !== null;
  const members: Record<string, unknown> = {
    conversation_id: facts.features['caller-conversation-id'] === 'absent' ? null : dashedId(conversationId),
    // A policy has to stand before the agent sees the message: where the start takes none, the message follows it.
    initial_message:
      isSaid && (policy === null || startsWithPolicy(facts)) ? { role: 'user', content, run: true } : null,
    sandbox_id: sandboxId,
    // Only where the start takes it; elsewhere a sandbox of the spec is created first, and named here.
    sandbox_spec_id: sandboxId === null ? request.spec_id : null,
    system_message_suffix: request.instructions,
    llm_model: request.model,
    selected_repository: request.repository,
    selected_branch: request.branch,
    git_provider: request.git_provider,
    suggested_task: task === null ? null : { ...task },
    secrets: Object.keys(request.secrets).length > 0 ? request.secrets : null,
    replay_json: request.replay,
    confirmation_policy: startsWithPolicy(facts) ? policy : null,
    ...request.members,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** Whether the server repeats the caller's id: it understood the member, and may still ignore it. */
export function isEcho(task: StartTaskRecord, conversationId: string): boolean {
  const echoed = task.request['conversation_id'];
  return typeof echoed === 'string' && normalId(echoed) === normalId(conversationId);
}
