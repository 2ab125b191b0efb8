/** Answers of endpoints that differ from the OpenAI interface, in its form. */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { isRecord, type Json } from '../../../protocol/shape.ts';

interface Call {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown };
}

/** The events of a stream, each with a corrected chunk; what is not JSON stays as it is. */
export function correctedStream(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const correct = chunkCorrection();
  return stream
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .pipeThrough(
      new TransformStream<{ data: string }, string>({
        transform({ data }, controller) {
          const chunk = parsed(data);
          const text = isRecord(chunk)
            ? JSON.stringify(correct(chunk))
            : data.replaceAll('\n', '\ndata: ');
          controller.enqueue(`data: ${text}\n\n`);
        },
      }),
    )
    .pipeThrough(new TextEncoderStream());
}

/** The stream of a whole answer, or null for JSON that is none. */
export function streamOfAnswer(text: string): string | null {
  const answer = parsed(text);
  if (!isRecord(answer)) return null;
  const { choices, error } = answer;
  if (!Array.isArray(choices) && !isRecord(error)) return null;
  const withDelta = ({ message: delta, ...choice }: Json): Json => ({ ...choice, delta });
  const chunk = Array.isArray(choices)
    ? { ...answer, choices: choices.filter(isRecord).map(withDelta) }
    : answer;
  return `data: ${JSON.stringify(chunkCorrection()(chunk))}\n\ndata: [DONE]\n\n`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Of one stream: a numeric id, arguments that are no text, a usage with negative counts. */
function chunkCorrection() {
  const withIndex = callNumbering();
  const correctCall = (call: Call): Call => {
    const { arguments: input, ...named } = call.function ?? {};
    const text = input == null || typeof input === 'string' ? input : JSON.stringify(input);
    return withIndex({
      ...call,
      ...textOf('id', call.id),
      function: { ...named, ...(text !== undefined && { arguments: text }) },
    });
  };
  const correctChoice = (choice: unknown): unknown => {
    if (!isRecord(choice) || !isRecord(choice['delta'])) return choice;
    const { tool_calls: calls, ...delta } = choice['delta'];
    if (!Array.isArray(calls)) return choice;
    return { ...choice, delta: { ...delta, tool_calls: calls.filter(isRecord).map(correctCall) } };
  };
  return (chunk: Record<string, unknown>): unknown => {
    const { id, choices, usage } = chunk;
    return {
      ...chunk,
      ...textOf('id', id),
      ...(Array.isArray(choices) && { choices: choices.map(correctChoice) }),
      ...(isCount(usage) ? {} : { usage: null }),
    };
  };
}

/** Some endpoints give each call the index 0: a named call with another id is another call. */
function callNumbering(): (call: Call) => Call {
  const calls = new Map<number, { id: unknown; index: number }>();
  let next = 0;
  return (call) => {
    const { index, id } = call;
    if (typeof index !== 'number') return call;
    const last = calls.get(index);
    const isNew = last === undefined || (id && id !== last.id && call.function?.name);
    const current = isNew ? { id, index: Math.max(index, next) } : last;
    calls.set(index, current);
    next = Math.max(next, current.index + 1);
    return { ...call, index: current.index };
  };
}

function textOf(name: string, value: unknown): Record<string, string> {
  return typeof value === 'number' ? { [name]: String(value) } : {};
}

/** False for the usage of an endpoint that has a wrong number in it: then none is known. */
function isCount(value: unknown): boolean {
  if (isRecord(value)) return Object.values(value).every(isCount);
  return typeof value !== 'number' || (value >= 0 && value <= Number.MAX_SAFE_INTEGER);
}
