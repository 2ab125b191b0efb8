/** The messages of a request to the model, derived from the events of the conversation. */
import type { ModelMessage, ToolContent, UserContent } from 'ai';
import type { StoredEvent } from '../../storage/conversation-state.ts';

/** Events that stay together: a message, or the calls of one answer with their results. */
export interface Exchange {
  /** In the order of the log. Empty: the summary of events that were condensed. */
  ids: string[];
  messages: ModelMessage[];
}

interface Part {
  type: string;
  text?: string;
  image_urls?: string[];
}

export function exchangesOf(events: Iterable<StoredEvent>): Exchange[] {
  const { kept, summary } = withoutForgotten(events);
  const exchanges: Exchange[] = [];
  const answers = new Map<string, Exchange>();
  /** By tool call: the exchange that its result belongs to. */
  const calls = new Map<string, Exchange>();
  let count = 0;
  for (const event of kept) {
    if (summary !== null && count === summary.offset) exchanges.push(summaryExchange(summary.text));
    count += 1;
    if (event.kind === 'MessageEvent') exchanges.push(messageExchange(event));
    else if (event.source === 'user') {
      if (event.kind === 'ObservationEvent') exchanges.push(commandExchange(event));
    } else if (event.kind === 'ActionEvent') {
      const answer = String(event['llm_response_id']);
      let exchange = answers.get(answer);
      if (exchange === undefined) {
        exchange = { ids: [], messages: [{ role: 'assistant', content: [] }] };
        answers.set(answer, exchange);
        exchanges.push(exchange);
      }
      calls.set(String(event['tool_call_id']), exchange);
      addCall(exchange, event);
    } else {
      const exchange = calls.get(String(event['tool_call_id']));
      if (exchange !== undefined) addResult(exchange, event);
    }
  }
  if (summary !== null && count <= summary.offset) exchanges.push(summaryExchange(summary.text));
  return exchanges.map(withEveryResult);
}

const SHOWN = [
  'MessageEvent',
  'ActionEvent',
  'ObservationEvent',
  'AgentErrorEvent',
  'UserRejectObservation',
];

/**
 * The events of a request to the model. The summary is of the newest condensation; its offset
 * counts these events.
 */
function withoutForgotten(events: Iterable<StoredEvent>) {
  let kept: StoredEvent[] = [];
  let summary: { text: string; offset: number } | null = null;
  for (const event of events) {
    if (event.kind === 'Condensation') {
      const forgotten = new Set(event['forgotten_event_ids'] as string[]);
      kept = kept.filter(({ id }) => !forgotten.has(id));
      summary = { text: String(event['summary']), offset: Number(event['summary_offset']) };
    } else if (SHOWN.includes(event.kind)) kept.push(event);
  }
  return { kept, summary };
}

function summaryExchange(text: string): Exchange {
  return {
    ids: [],
    messages: [
      { role: 'user', content: `Summary of the earlier part of this conversation:\n\n${text}` },
    ],
  };
}

/** A command that the user ran beside the agent. */
function commandExchange(event: StoredEvent): Exchange {
  const { command, content } = event['observation'] as { command: string; content: Part[] };
  const shown = `The user ran the command \`${command}\`:\n${textOf(content)}`;
  return { ids: [event.id], messages: [{ role: 'user', content: shown }] };
}

function messageExchange(event: StoredEvent): Exchange {
  const { role, content } = event['llm_message'] as { role: string; content: Part[] };
  const text = textOf(content);
  if (role === 'assistant') return { ids: [event.id], messages: [{ role, content: text }] };
  const images = content.flatMap((part) => part.image_urls ?? []);
  const parts: UserContent = [
    { type: 'text', text },
    ...images.map((url) => ({ type: 'image' as const, image: url })),
  ];
  return {
    ids: [event.id],
    messages: [{ role: 'user', content: images.length === 0 ? text : parts }],
  };
}

function addCall(exchange: Exchange, event: StoredEvent): void {
  exchange.ids.push(event.id);
  const [message] = exchange.messages;
  if (message?.role !== 'assistant' || typeof message.content === 'string') return;
  const reasoning = event['reasoning_content'];
  if (typeof reasoning === 'string') message.content.push({ type: 'reasoning', text: reasoning });
  const thought = textOf((event['thought'] ?? []) as Part[]);
  if (thought !== '') message.content.push({ type: 'text', text: thought });
  const call = event['tool_call'] as {
    id: string;
    name: string;
    arguments: string;
    thought_signature?: string;
  };
  const { id: toolCallId, name: toolName, thought_signature: thoughtSignature } = call;
  const signed =
    thoughtSignature === undefined ? {} : { providerOptions: { google: { thoughtSignature } } };
  message.content.push({
    type: 'tool-call',
    toolCallId,
    toolName,
    input: inputOf(call.arguments),
    ...signed,
  });
}

/** Endpoints refuse arguments that are not the JSON of an object. */
function inputOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Returned as a text below.
  }
  return { malformed: text };
}

function addResult(exchange: Exchange, event: StoredEvent): void {
  exchange.ids.push(event.id);
  const { content = [], metadata } = (event['observation'] ?? {}) as {
    content?: Part[];
    metadata?: { suffix: string };
  };
  const text =
    event.kind === 'AgentErrorEvent'
      ? String(event['error'])
      : event.kind === 'UserRejectObservation'
        ? `The user rejected this action: ${String(event['rejection_reason'])}`
        : `${textOf(content)}${metadata?.suffix ?? ''}`.trimStart();
  const name = String(event['tool_name']);
  const images = content.flatMap((part) => part.image_urls ?? []);
  exchange.messages.push(
    toolMessage(String(event['tool_call_id']), name, text === '' ? '(no output)' : text),
  );
  if (images.length > 0) {
    const parts = images.map((url) => ({ type: 'image' as const, image: url }));
    exchange.messages.push({
      role: 'user',
      content: [{ type: 'text', text: `Images of ${name}:` }, ...parts],
    });
  }
}

function toolMessage(toolCallId: string, toolName: string, value: string): ModelMessage {
  const content: ToolContent = [
    { type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } },
  ];
  return { role: 'tool', content };
}

/**
 * Endpoints refuse a tool call without exactly one result: a run may have ended between both.
 * Images follow all results.
 */
function withEveryResult({ ids, messages }: Exchange): Exchange {
  const [first, ...rest] = messages;
  if (first?.role !== 'assistant' || typeof first.content === 'string') return { ids, messages };
  const results = first.content.flatMap((part) => {
    if (part.type !== 'tool-call') return [];
    const { toolCallId: id, toolName } = part;
    const found = rest.find(
      ({ role, content }) =>
        role === 'tool' &&
        content.some((each) => each.type === 'tool-result' && each.toolCallId === id),
    );
    return [found ?? toolMessage(id, toolName, 'This call has no result: it was not completed.')];
  });
  return { ids, messages: [first, ...results, ...rest.filter(({ role }) => role !== 'tool')] };
}

function textOf(content: Part[]): string {
  return content.map((part) => part.text ?? '').join('');
}
