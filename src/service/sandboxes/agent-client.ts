import http from 'node:http';
import { SERVICE_HEADER } from '../faults/middleware.ts';
import { cut } from '../../base/text/well-formed.ts';

export interface AgentRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string>;
  json?: unknown;
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

export function createAgentClient() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16, keepAliveMsecs: 1000 });
  return {
    send: (port: number, key: string, request: AgentRequest) => send(agent, port, key, request),
    close: () => {
      agent.destroy();
    },
  };
}

export function jsonOf(answer: AgentAnswer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'));
  } catch {
    return null;
  }
}

export function textOf(answer: AgentAnswer): string {
  const body = jsonOf(answer);
  const detail = (body as { detail?: unknown } | null)?.detail;
  const found =
    typeof detail === 'string'
      ? detail
      : JSON.stringify(detail ?? body ?? answer.body.toString('utf8'));
  return cut(found, 500);
}

function send(
  agent: http.Agent,
  port: number,
  key: string,
  request: AgentRequest,
): Promise<AgentAnswer> {
  const query =
    request.query === undefined ? '' : `?${new URLSearchParams(request.query).toString()}`;
  const body =
    request.raw?.body ??
    (request.json === undefined ? undefined : Buffer.from(JSON.stringify(request.json)));
  const headers: http.OutgoingHttpHeaders = { 'X-Session-API-Key': key, [SERVICE_HEADER]: 'app' };
  if (body !== undefined) {
    headers['Content-Type'] = request.raw?.contentType ?? 'application/json';
    headers['Content-Length'] = body.byteLength;
  }
  return new Promise((resolve, reject) => {
    const options = {
      agent,
      host: '127.0.0.1',
      port,
      method: request.method,
      path: request.path + query,
      headers,
    };
    const outgoing = http.request(options, (incoming) => {
      readAll(incoming).then((answer) => {
        resolve({
          status: incoming.statusCode ?? 0,
          contentType: incoming.headers['content-type'] ?? '',
          body: answer,
        });
      }, reject);
    });
    outgoing.setTimeout(request.timeoutMs ?? 30_000, () =>
      outgoing.destroy(new Error('the agent server does not answer')),
    );
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The agent server has closed the idle connection when the request was sent: it has not read
      // the request.
      if (outgoing.reusedSocket && error.code === 'ECONNRESET')
        resolve(send(agent, port, key, request));
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
