import type { AssistantContent, ModelMessage } from 'ai';
import { cut } from '../../../base/text/well-formed.ts';
import { isRecord } from '../../../protocol/shape.ts';
import type { Reasoning } from '../../base/steps.ts';
import type { StoredEvent } from '../../storage/conversation-state.ts';
import { signedReasoning } from './reasoning.ts';

/** Events that stay together: a message, or the calls of one answer with their results. */
export interface Exchange {
  /** In the order of the log. Empty: the summary of events that were condensed. */
  ids: string[];
  messages: ModelMessage[];
}

type Bounded = (text: string) => string;

interface Part {
  type: string;
  text?: string;
  image_urls?: string[];
}

type LlmMessage = Partial<Reasoning> & { role: string; content: Part[] };

/** Tools leave out the middle of a long output themselves, and say so in fewer characters. */
const MARGIN = 500;

/** Of a result longer than `longest` characters the middle is left out. */
export function exchangesOf(events: Iterable<StoredEvent>, longest?: number | null): Exchange[] {
  const bounded = (text: string): string => {
    const left = text.length - (longest ?? Infinity);
    if (left <= MARGIN) return text;
    const half = Math.floor((text.length - left) / 2);
    return `${cut(text, half)}\n[... ${left} characters left out ...]\n${cut(text, -half)}`;
  };
  const exchanges: Exchange[] = [];
  const answers = new Map<string, Answer>();
  const answerOf = new Map<string, Answer>();
  for (const event of withoutForgotten(events)) {
    if (event.kind === 'Condensation') exchanges.push(summaryExchange(event));
    else if (event.kind === 'MessageEvent') exchanges.push(messageExchange(event, exchanges));
    else if (event.source === 'user') {
      if (event.kind === 'ObservationEvent') exchanges.push(commandExchange(event, bounded));
    } else if (event.kind === 'ActionEvent') {
      const id = String(event['llm_response_id']);
      const known = answers.get(id);
      const answer = known ?? new Answer(bounded);
      if (known === undefined) exchanges.push(answer);
      answers.set(id, answer);
      answerOf.set(String(event['tool_call_id']), answer);
      answer.addCall(event);
    } else answerOf.get(String(event['tool_call_id']))?.addResult(event);
  }
  return exchanges.map(({ ids, messages }) => ({ ids, messages }));
}

const SHOWN = [
  'MessageEvent',
  'ActionEvent',
  'ObservationEvent',
  'AgentErrorEvent',
  'UserRejectObservation',
];

function withoutForgotten(events: Iterable<StoredEvent>): StoredEvent[] {
  let kept: StoredEvent[] = [];
  let newest: StoredEvent | null = null;
  for (const event of events) {
    if (event.kind === 'Condensation') {
      const forgotten = new Set(event['forgotten_event_ids'] as string[]);
      kept = kept.filter(({ id }) => !forgotten.has(id));
      newest = event;
    } else if (SHOWN.includes(event.kind)) kept.push(event);
  }
  if (newest !== null) kept.splice(Number(newest['summary_offset']), 0, newest);
  return kept;
}

function summaryExchange(event: StoredEvent): Exchange {
  const title = 'Summary of the earlier part of this conversation';
  const content = `${title}:\n\n${String(event['summary'])}`;
  return { ids: [], messages: [{ role: 'user', content }] };
}

function commandExchange(event: StoredEvent, bounded: Bounded): Exchange {
  const observation = event['observation'] as { command: string; content: Part[] };
  const output = bounded(textOf(observation.content));
  const content = `The user ran the command \`${observation.command}\`:\n${output}`;
  return { ids: [event.id], messages: [{ role: 'user', content }] };
}

function messageExchange(event: StoredEvent, before: readonly Exchange[]): Exchange {
  const { role, content, ...reasoning } = event['llm_message'] as LlmMessage;
  const { extended_content: added = [] } = event as { extended_content?: Part[] };
  const text = [textOf(content), ...added.map((part) => part.text ?? '')].join('\n\n');
  const part = { type: 'text' as const, text };
  const images = imagesOf(content);
  const signed = signedReasoning(reasoning);
  const message: ModelMessage =
    role === 'assistant'
      ? { role, content: signed.length === 0 ? text : [...signed, part] }
      : { role: 'user', content: images.length === 0 ? text : [part, ...images] };
  // Some endpoints require an answer between two messages of a user; it may have been empty.
  const isAnswered = !isRequest(event) || before.at(-1)?.messages.at(-1)?.role === 'assistant';
  const empty: ModelMessage = { role: 'assistant', content: '(no answer)' };
  return { ids: [event.id], messages: isAnswered ? [message] : [empty, message] };
}

/** A request to the model after an answer without a call; notices have another role. */
export function isRequest({ kind, source, llm_message: message }: StoredEvent): boolean {
  if (kind !== 'MessageEvent' || source !== 'environment') return false;
  return (message as { role: string }).role === 'user';
}

class Answer implements Exchange {
  readonly ids: string[] = [];
  readonly #content: Exclude<AssistantContent, string> = [];
  readonly #results = new Map<string, string>();
  readonly #images: ModelMessage[] = [];
  readonly #bounded: Bounded;

  constructor(bounded: Bounded) {
    this.#bounded = bounded;
  }

  addCall(event: StoredEvent): void {
    this.ids.push(event.id);
    const { reasoning_content: reasoning, thought = [], tool_call } = event;
    const signed = signedReasoning(event as Partial<Reasoning>);
    this.#content.push(...signed);
    if (signed.length === 0 && typeof reasoning === 'string')
      this.#content.push({ type: 'reasoning', text: reasoning });
    const text = textOf(thought as Part[]);
    if (text !== '') this.#content.push({ type: 'text', text });
    const call = tool_call as Record<'id' | 'name' | 'arguments', string> & {
      thought_signature?: string;
    };
    const { thought_signature: thoughtSignature } = call;
    this.#content.push({
      type: 'tool-call',
      toolCallId: call.id,
      toolName: call.name,
      input: inputOf(call.arguments),
      ...(thoughtSignature && { providerOptions: { google: { thoughtSignature } } }),
    });
  }

  addResult(event: StoredEvent): void {
    this.ids.push(event.id);
    const id = String(event['tool_call_id']);
    // A run that was cut off has a result before that of its tool.
    this.#results.set(
      id,
      this.#results.get(id) ?? (this.#bounded(resultOf(event)) || '(no output)'),
    );
    const { content = [] } = (event['observation'] ?? {}) as { content?: Part[] };
    const images = imagesOf(content);
    const title = { type: 'text', text: `Images of ${String(event['tool_name'])}:` } as const;
    if (images.length > 0) this.#images.push({ role: 'user', content: [title, ...images] });
  }

  /** Endpoints require exactly one result of each call, directly behind the calls. */
  get messages(): ModelMessage[] {
    const results = this.#content.flatMap((part): ModelMessage[] => {
      if (part.type !== 'tool-call') return [];
      const { toolCallId, toolName } = part;
      const value =
        this.#results.get(toolCallId) ?? 'This call has no result: it was not completed.';
      const output = { type: 'text', value } as const;
      return [{ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] }];
    });
    return [{ role: 'assistant', content: this.#content }, ...results, ...this.#images];
  }
}

/** Endpoints refuse arguments that are not the JSON of an object. */
function inputOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : { malformed: text };
  } catch {
    return { malformed: text };
  }
}

function resultOf(event: StoredEvent): string {
  if (event.kind === 'AgentErrorEvent') return String(event['error']);
  if (event.kind === 'UserRejectObservation')
    return `The user rejected this action: ${String(event['rejection_reason'])}`;
  const { content = [], metadata } = event['observation'] as {
    content?: Part[];
    metadata?: { suffix: string };
  };
  return `${textOf(content)}${metadata?.suffix ?? ''}`.trimStart();
}

function imagesOf(content: Part[]) {
  const urls = content.flatMap((part) => part.image_urls ?? []);
  const providerOptions = { openai: { imageDetail: 'auto' } };
  return urls.map((image) => ({ type: 'image' as const, image, providerOptions }));
}

function textOf(content: Part[]): string {
  return content.map((part) => part.text ?? '').join('');
}
