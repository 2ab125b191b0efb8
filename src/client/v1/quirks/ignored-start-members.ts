/**
 * Compares a start with its request: a difference is an error with both values.
 *
 * Servers:  releases that list a member (`llm_model`, `conversation_id`) in their document and
 *           ignore it; servers without a document
 * Symptom:  `conv new` with --id, --model or another member exits 0, and the flag has no effect.
 * Evidence: interface 13 "Documents"; test/client/quirks/ignored-start-members.test.ts
 * Cost:     0 requests
 * Remove:   unknown
 */
import { startDiffers, type NewConversation } from '../../../domain/new-conversation.ts';
import { isRecord } from '../../../protocol/shape.ts';
import type { AppConversationRecord, StartTaskRecord } from '../../../protocol/v1/records.ts';
import { startMember } from '../../shared/features.ts';
import { normalId } from '../../../domain/ids.ts';
import type { Links } from '../../shared/links.ts';
import { askedMembers, flagOf, startBody } from '../start-body.ts';
import { cut } from '../../../base/text/well-formed.ts';

export function refuseUnechoedId(
  { conversation_id }: NewConversation,
  task: StartTaskRecord,
): void {
  if (conversation_id === null) return;
  const [requested, id] = [normalId(conversation_id), normalId(task.id)];
  const received = task.request['conversation_id'] ?? null;
  throw startDiffers(`the server ignored --id ${requested}; the start task is ${id}`, id, {
    requested,
    received,
  });
}

/** Their values are masked, or repeated in another form. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['secrets', 'replay_json', 'llm_model']);

/** A member that the document does not list must be repeated as it was sent. */
export function refuseIgnoredMembers(
  links: Links,
  request: NewConversation,
  task: StartTaskRecord,
  id: string | null,
): void {
  const { facts } = links;
  const unsure = askedMembers(request, facts).filter(
    (name) => startMember(facts, name) === 'unknown',
  );
  if (unsure.length === 0) return;
  if (Object.keys(task.request).length === 0) {
    const flags = unsure.map(flagOf).join(', ');
    return links.notice(
      `the server does not repeat the request: whether it follows ${flags} is not known`,
    );
  }
  const about = id ?? normalId(task.id);
  const ignored = unsure.filter((name) => task.request[name] == null);
  if (ignored.length > 0) {
    const received = Object.fromEntries(ignored.map((name) => [name, null]));
    throw startDiffers(`the server ignored ${ignored.map(flagOf).join(', ')}`, about, {
      requested: ignored,
      received,
    });
  }
  const body = startBody(request, task.id, request.sandbox_id, facts);
  for (const name of unsure) {
    const [requested, received] = [body[name], task.request[name]];
    if (NOT_COMPARED.has(name) || isRepeated(requested, received)) continue;
    const [sent, repeated] = [requested, received].map((value) => cut(JSON.stringify(value), 100));
    const values = `${sent} was requested, and it repeats ${repeated}`;
    const message = `the server ignored ${flagOf(name)}: ${values}`;
    throw startDiffers(message, about, { requested, received });
  }
}

/** A server may add members with defaults, and write an id in its other form. */
function isRepeated(requested: unknown, received: unknown): boolean {
  if (typeof requested === 'string' && typeof received === 'string')
    return normalId(requested.trim()) === normalId(received.trim());
  if (Array.isArray(requested))
    return (
      Array.isArray(received) &&
      requested.length === received.length &&
      requested.every((one, at) => isRepeated(one, received[at]))
    );
  if (isRecord(requested))
    return (
      isRecord(received) &&
      Object.entries(requested).every(([name, value]) => isRepeated(value, received[name]))
    );
  return requested === (received ?? null);
}

export function refuseOtherModel(
  links: Links,
  { id, llm_model: received }: AppConversationRecord,
  { model: requested }: NewConversation,
): void {
  if (requested === null) return;
  if (received === null) {
    const unknown = `whether it follows --model ${requested} is not known`;
    return links.notice(`the server does not report the model of the conversation: ${unknown}`);
  }
  // Servers may put a provider before a name; `openhands/x` is `litellm_proxy/x` to the agent.
  const nameOf = (model: string) => model.trim().replace(/^openhands\//, 'litellm_proxy/');
  if (nameOf(received) === nameOf(requested) || nameOf(received).endsWith(`/${requested.trim()}`))
    return;
  const model = `runs the conversation with ${received}`;
  const message = `the server ignored --model ${requested} and ${model}`;
  throw startDiffers(message, normalId(id), { requested, received });
}
