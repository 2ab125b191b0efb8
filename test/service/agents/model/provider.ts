/** Endpoints with the interfaces of Anthropic, OpenAI (Responses) and Google. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { startFake, type FakeServer } from '../../../support/server.ts';

export type ProviderName = 'anthropic' | 'openai' | 'google';
export type Body = Record<string, unknown>;
export type Reply = (response: ServerResponse) => void;

export interface Answer {
  reasoning?: string;
  /** What the endpoint wants back with the reasoning, or with the calls. */
  signature?: string;
  text?: string;
  calls?: [name: string, input: object][];
}

interface Provider {
  path: string;
  model: string;
  /** The header of the key, and what is before the key in it. */
  key: [header: string, before: string];
  /** The events of an answer; `end`: the reason of its end in the words of the endpoint. */
  events(answer: Answer, end?: string): object[];
  error(type: string, message: string, status: number): object;
}

const block = (index: number, content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];

const anthropic: Provider = {
  path: '/anthropic',
  model: 'anthropic/claude-sonnet-4-5',
  key: ['x-api-key', ''],
  events({ reasoning, signature, text, calls = [] }, end) {
    const input = {
      input_tokens: 10,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 60,
    };
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...input, output_tokens: 1 },
    };
    const thinking =
      reasoning === undefined
        ? [{ type: 'redacted_thinking', data: signature }]
        : [
            { type: 'thinking', thinking: '', signature: '' },
            { type: 'thinking_delta', thinking: reasoning },
            { type: 'signature_delta', signature },
          ];
    const blocks: object[][] = [
      ...(signature === undefined ? [] : [thinking]),
      ...(text === undefined
        ? []
        : [
            [
              { type: 'text', text: '' },
              { type: 'text_delta', text },
            ],
          ]),
      ...calls.map(([name, args], index) => [
        { type: 'tool_use', id: `toolu_${index}`, name, input: {} },
        ...(JSON.stringify(args).match(/.{1,9}/gs) ?? []).map((partial_json) => ({
          type: 'input_json_delta',
          partial_json,
        })),
      ]),
    ];
    const stop_reason = end ?? (calls.length > 0 ? 'tool_use' : 'end_turn');
    return [
      { type: 'message_start', message },
      { type: 'ping' },
      ...blocks.flatMap(([start = {}, ...deltas], index) => block(index, start, ...deltas)),
      {
        type: 'message_delta',
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: 20 },
      },
      { type: 'message_stop' },
    ];
  },
  error: (type, message) => ({ type: 'error', error: { type, message } }),
};

const openai: Provider = {
  path: '/v1',
  model: 'openai/responses/gpt-5',
  key: ['authorization', 'Bearer '],
  events({ reasoning, signature, text, calls = [] }, end) {
    const items: [item: object, done: object, ...between: object[]][] = [];
    if (signature !== undefined) {
      const id = `rs_${signature}`;
      const item = { type: 'reasoning', id, summary: [] };
      const at = { item_id: id, summary_index: 0 };
      const summary =
        reasoning === undefined
          ? []
          : [
              { type: 'response.reasoning_summary_part.added', ...at },
              { type: 'response.reasoning_summary_text.delta', ...at, delta: reasoning },
              { type: 'response.reasoning_summary_part.done', ...at },
            ];
      items.push([item, { ...item, encrypted_content: signature }, ...summary]);
    }
    if (text !== undefined) {
      const item = { type: 'message', id: 'msg_1', role: 'assistant', content: [] };
      const delta = { type: 'response.output_text.delta', item_id: 'msg_1', delta: text };
      items.push([
        item,
        { ...item, content: [{ type: 'output_text', text, annotations: [] }] },
        delta,
      ]);
    }
    for (const [index, [name, args]] of calls.entries()) {
      const item = { type: 'function_call', id: `fc_${index}`, call_id: `call_${index}`, name };
      const input = JSON.stringify(args);
      const type = 'response.function_call_arguments.delta';
      const at = { item_id: `fc_${index}`, output_index: items.length };
      const deltas = (input.match(/.{1,9}/gs) ?? []).map((delta) => ({ type, ...at, delta }));
      items.push([
        { ...item, arguments: '' },
        { ...item, arguments: input, status: 'completed' },
        ...deltas,
      ]);
    }
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 8 },
    };
    const created = { id: 'resp_1', created_at: 1, model: 'gpt-5' };
    const incomplete_details = end === undefined ? null : { reason: end };
    return [
      { type: 'response.created', response: created },
      ...items.flatMap(([item, done, ...between], output_index) => [
        { type: 'response.output_item.added', output_index, item },
        ...between,
        { type: 'response.output_item.done', output_index, item: done },
      ]),
      {
        type: end === undefined ? 'response.completed' : 'response.incomplete',
        response: { ...created, incomplete_details, usage },
      },
    ];
  },
  error: (type, message) => ({
    type: 'error',
    sequence_number: 9,
    error: { type, code: type, message, param: null },
  }),
};

const google: Provider = {
  path: '/v1beta',
  model: 'gemini/gemini-3-pro-preview',
  key: ['x-goog-api-key', ''],
  events({ reasoning, signature, text, calls = [] }, end = 'STOP') {
    const parts: object[] = [
      ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
      ...(text === undefined ? [] : [{ text }]),
      ...calls.map(([name, args], index) => ({
        functionCall: { name, args },
        ...(index === 0 && signature !== undefined && { thoughtSignature: signature }),
      })),
    ];
    const usageMetadata = {
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 12,
      thoughtsTokenCount: 8,
      totalTokenCount: 120,
    };
    const candidate = (members: object) => ({ candidates: [{ index: 0, ...members }] });
    return [
      ...parts.map((part) => candidate({ content: { role: 'model', parts: [part] } })),
      { ...candidate({ content: { role: 'model', parts: [] }, finishReason: end }), usageMetadata },
    ];
  },
  error: (type, message, status) => ({ error: { code: status, message, status: type } }),
};

export const PROVIDERS: Record<ProviderName, Provider> = { anthropic, openai, google };

export const KEY = 'sk-of-the-test-1';

export interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
  body: Body;
  text: string;
}

export interface ProviderEndpoint {
  readonly asked: Asked[];
  /** The replies to the next calls; the last one is repeated. */
  reply(...replies: Reply[]): void;
  agent(name: ProviderName, llm?: object): object;
}

export function useProviders(): ProviderEndpoint {
  let server: FakeServer;
  let asked: Asked[] = [];
  let replies: Reply[] = [];
  beforeAll(async () => {
    server = await startFake(({ body, url, headers, text }) => {
      asked.push({ path: url, headers, body: body as Body, text });
      const reply = replies.length > 1 ? replies.shift() : replies[0];
      return reply === undefined ? { silence: true } : { by: reply };
    });
  });
  beforeEach(() => {
    asked = [];
    replies = [];
  });
  afterAll(() => server.close());
  return {
    get asked() {
      return asked;
    },
    reply(...given) {
      replies = given;
    },
    agent(name, llm) {
      const { path, model } = PROVIDERS[name];
      return {
        llm: {
          model,
          base_url: `${server.url}${path}`,
          api_key: KEY,
          num_retries: 0,
          ...llm,
        },
      };
    },
  };
}

/** The events as a stream; `end` false: the connection is closed without an end of the stream. */
export function stream(events: object[], end = true): Reply {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) {
      const { type } = event as { type?: string };
      const name = type === undefined ? '' : `event: ${type}\n`;
      response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
    }
    if (end) response.end();
    else setImmediate(() => response.destroy());
  };
}

export function refuse(status: number, body: object): Reply {
  return (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
