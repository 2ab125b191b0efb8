/** Requests from the app server to the agent server of a sandbox, over loopback. */
import http from 'node:http';
import { SERVICE_HEADER } from '../faults/middleware.ts';

export interface AgentRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Begins with a slash. */
  path: string;
  query?: Record<string, string>;
  json?: unknown;
  /** A body of its own kind, such as a form. */
  raw?: { contentType: string; body: Uint8Array };
  timeoutMs?: number;
}

export interface AgentAnswer {
  status: number;
  contentType: string;
  body: Buffer;
}

/** Larger answers are cut off with an error: the answers to the app server are far smaller. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

export interface AgentClient {
  send(port: number, key: string, request: AgentRequest): Promise<AgentAnswer>;
  close(): void;
}

/** Keeps connections open, because there are many requests for one conversation. */
export function createAgentClient(): AgentClient {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16, keepAliveMsecs: 1000 });
  return {
    send: (port, key, request) => send(agent, port, key, request),
    close: () => {
      agent.destroy();
    },
  };
}

/** The JSON of an answer; null when it is none. */
export function jsonOf(answer: AgentAnswer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'));
  } catch {
    return null;
  }
}

/** The error text of an agent server. */
export function textOf(answer: AgentAnswer): string {
  const body = jsonOf(answer);
  const detail = (body as { detail?: unknown } | null)?.detail;
  const found = typeof detail === 'string' ? detail : JSON.stringify(detail ?? body ?? answer.body.toString('utf8'));
  return found.slice(0, 500);
}

function send(agent: http.Agent, port: number, key: string, request: AgentRequest): Promise<AgentAnswer> {
  const query = request.query === undefined ? '' : `?${new URLSearchParams(request.query).toString()}`;
  const body =
    request.raw?.body ?? (request.json === undefined ? undefined : Buffer.from(JSON.stringify(request.json)));
  const headers: http.OutgoingHttpHeaders = { 'X-Session-API-Key': key, [SERVICE_HEADER]: 'app' };
  if (body !== undefined) {
    headers['Content-Type'] = request.raw?.contentType ?? 'application/json';
    headers['Content-Length'] = body.byteLength;
  }
  return new Promise((resolve, reject) => {
    const options = { agent, host: '127.0.0.1', port, method: request.method, path: request.path + query, headers };
    const outgoing = http.request(options, (incoming) => {
      readAll(incoming).then((answer) => {
        resolve({
          status: incoming.statusCode ?? 0,
          contentType: incoming.headers['content-type'] ?? '',
          body: answer,
        });
      }, reject);
    });
    outgoing.setTimeout(request.timeoutMs ?? TIMEOUT_MS, () => {
      outgoing.destroy(new Error('the agent server does not answer'));
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The agent server has closed the idle connection when the request was sent: it has not read the request.
      if (outgoing.reusedSocket && error.code === 'ECONNRESET') resolve(send(agent, port, key, request));
      else reject(error);
    });
    outgoing.end(body);
  });
}

async function readAll(incoming: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('the answer of the agent server is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
