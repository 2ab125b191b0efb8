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
  signal?: AbortSignal;
}

export interface AgentAnswer {
  status: number;
  contentType: string;
  body: Buffer;
}

const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

export class AgentClient {
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 16, keepAliveMsecs: 1000 });

  send(port: number, key: string, request: AgentRequest): Promise<AgentAnswer> {
    const { method, query, json, timeoutMs = 30_000, signal } = request;
    const path = query ? `${request.path}?${new URLSearchParams(query)}` : request.path;
    const jsonBody = () => ({
      contentType: 'application/json',
      body: Buffer.from(JSON.stringify(json)),
    });
    const content = request.raw ?? (json === undefined ? null : jsonBody());
    const headers = {
      'X-Session-API-Key': key,
      [SERVICE_HEADER]: 'app',
      ...(content && {
        'Content-Type': content.contentType,
        'Content-Length': content.body.byteLength,
      }),
    };
    return new Promise((resolve, reject) => {
      const options = { agent: this.#agent, host: '127.0.0.1', port, method, path, headers };
      const outgoing = http.request({ ...options, ...(signal && { signal }) }, (incoming) => {
        const contentType = incoming.headers['content-type'] ?? '';
        readAll(incoming).then(
          (body) => resolve({ status: incoming.statusCode ?? 0, contentType, body }),
          reject,
        );
      });
      outgoing.setTimeout(timeoutMs, () =>
        outgoing.destroy(new Error('the agent server does not answer')),
      );
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        // The agent server had closed the idle connection, and has not read the request.
        if (outgoing.reusedSocket && error.code === 'ECONNRESET')
          resolve(this.send(port, key, request));
        else reject(error);
      });
      outgoing.end(content?.body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
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
