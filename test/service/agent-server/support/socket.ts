/** A web socket to a worker that keeps what it receives. */
import WebSocket from 'ws';

export interface TestSocket {
  client: WebSocket;
  frames: Record<string, unknown>[];
  closed: Promise<{ code: number; reason: string }>;
  /** The HTTP status of the answer to the upgrade: 101 when it is accepted. */
  status: Promise<number>;
}

export function openSocket(url: string, headers: Record<string, string>): TestSocket {
  const client = new WebSocket(url, { headers });
  const frames: Record<string, unknown>[] = [];
  client.on('message', (data) => frames.push(JSON.parse((data as Buffer).toString('utf8')) as Record<string, unknown>));
  client.on('error', () => undefined);
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    client.once('close', (code, reason) => resolve({ code, reason: reason.toString('utf8') })),
  );
  const status = new Promise<number>((resolve) => {
    client.once('upgrade', (response) => resolve(response.statusCode ?? 0));
    client.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
  });
  return { client, frames, closed, status };
}
