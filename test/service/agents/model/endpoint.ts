/** An OpenAI-compatible endpoint whose answers a test gives. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { startFake, type FakeServer } from '../../../support/server.ts';

export interface Part {
  type: string;
  text?: string;
  image_url?: { url: string };
}

export interface Message {
  role: string;
  content?: string | Part[] | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

export interface Asked {
  model: string;
  messages: Message[];
  tools?: { function: { name: string } }[];
  path: string | undefined;
  headers: IncomingHttpHeaders;
}

export type Reply = (response: ServerResponse) => void;

export interface Endpoint {
  /** Set while tests run. */
  readonly url: string;
  /** The calls of this test. */
  readonly asked: Asked[];
  /** The replies to the next calls; the last one is repeated. */
  reply(...replies: Reply[]): void;
  /** The newest message of this role in the newest call. */
  newest(role: string): Message | undefined;
  /** An agent with a model there. */
  agent(llm?: object): object;
}

/** `own`: JSON by path, which is answered without a call of the model. */
export function useEndpoint(own: Readonly<Record<string, unknown>> = {}): Endpoint {
  let server: FakeServer;
  let asked: Asked[] = [];
  let replies: Reply[] = [];
  beforeAll(async () => {
    server = await startFake(({ body, url, headers }) => {
      if (url !== undefined && url in own) return { json: own[url] };
      if (body !== undefined) asked.push({ ...(body as Asked), path: url, headers });
      const reply = replies.length > 1 ? replies.shift() : replies[0];
      return reply === undefined ? { silence: true } : { by: reply };
    });
  });
  beforeEach(() => {
    asked = [];
    replies = [];
  });
  afterEach(() => {
    expect(asked.flatMap(({ messages }) => historyError(messages) ?? [])).toEqual([]);
  });
  afterAll(() => server.close());
  const urlOf = () => `${server.url}/v1`;
  return {
    get url() {
      return urlOf();
    },
    get asked() {
      return asked;
    },
    reply(...given) {
      replies = given;
    },
    newest: (role) => asked.at(-1)?.messages.findLast((each) => each.role === role),
    agent: (llm) => ({ llm: { model: 'm', base_url: urlOf(), num_retries: 0, ...llm } }),
  };
}

/** Why a strict endpoint refuses these messages. */
function historyError(messages: Message[]): string | null {
  let open: string[] = [];
  for (const { role, content, tool_calls: calls = [], tool_call_id: answered } of messages) {
    if (role !== 'tool' && open.length > 0) return 'a call has no result';
    if (role === 'tool' && !open.includes(answered ?? '')) return 'a result has no call';
    if (!content && calls.length === 0) return `a message of the role ${role} is empty`;
    open = [...open.filter((id) => id !== answered), ...calls.map(({ id }) => id)];
  }
  return open.length > 0 ? 'a call has no result' : null;
}

export function send(response: ServerResponse, ...chunks: unknown[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks)
    response.write(`data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`);
}

export function ofKind(events: StoredEvent[], kind: string): StoredEvent[] {
  return events.filter((event) => event.kind === kind);
}

let answers = 0;

export function delta(members: object, finish_reason: string | null = null): object {
  return { id: `chat-${answers}`, choices: [{ index: 0, delta: members, finish_reason }] };
}

function end(response: ServerResponse, reason: string): void {
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  send(response, delta({}, reason), { choices: [], usage }, '[DONE]');
  response.end();
}

/** A text, in pieces. */
export function say(text: string, more: object = {}): Reply {
  return (response) => {
    answers += 1;
    send(response, delta({ role: 'assistant', content: '', ...more }));
    for (const content of text.match(/.{1,8}/gs) ?? []) send(response, delta({ content }));
    end(response, 'stop');
  };
}

/** Calls of tools; arguments are a record, or a text that is sent as it is. */
export function call(...calls: [name: string, input: object | string][]): Reply {
  return (response) => {
    answers += 1;
    for (const [index, [name, input]] of calls.entries()) {
      const text = typeof input === 'string' ? input : JSON.stringify(input);
      const named = {
        index,
        id: `call_${index}`,
        type: 'function',
        function: { name, arguments: '' },
      };
      send(response, delta({ tool_calls: [named] }));
      for (const part of text.match(/.{1,16}/gs) ?? [])
        send(response, delta({ tool_calls: [{ index, function: { arguments: part } }] }));
    }
    end(response, 'tool_calls');
  };
}

export function run(command: string, more: object = {}): [string, object] {
  return ['terminal', { command, security_risk: 'LOW', ...more }];
}

export const FINISH: [string, object] = ['finish', { message: 'All done.' }];

export function fail(status: number, message: string, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { message, type: null, param: null, code: null } }));
  };
}

export function plain(type: string, body: string): Reply {
  return (response) => response.writeHead(200, { 'content-type': type }).end(body);
}
