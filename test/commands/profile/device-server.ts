/** A cloud with a device flow, scripted: the rest of the interface is that of a real local service. */
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Answer {
  status?: number;
  type?: string;
  body?: unknown;
  /** Closes the connection instead of answering. */
  cut?: true;
  /** Sends the body and does not end the answer. */
  drips?: true;
}

export interface DeviceServer {
  url: string;
  /** Method and path of each request to the device flow, and the form of a poll. */
  readonly asked: string[];
  readonly forms: URLSearchParams[];
  close(): Promise<void>;
}

export interface Script {
  /** False: the document has no device flow. `none`: there is no document. */
  document?: boolean | 'none';
  authorize?: Answer;
  /** The answers to the polls; the last one is repeated. */
  polls?: readonly Answer[];
}

export const CODE = {
  device_code: 'device-code-of-the-test',
  user_code: 'WDJB-MJHT',
  verification_uri: 'https://cloud.example/device',
  verification_uri_complete: 'https://cloud.example/device?user_code=WDJB-MJHT',
  expires_in: 600,
  interval: 5,
};

export const pending: Answer = { status: 400, body: { error: 'authorization_pending', interval: 5 } };
export const refusedWith = (error: string): Answer => ({ status: 400, body: { error, error_description: 'in words' } });
export const approved = (key: string): Answer => ({ body: { access_token: key, token_type: 'Bearer' } });

/** @param service where everything else is answered */
export async function deviceServer(service: string, script: Script): Promise<DeviceServer> {
  const asked: string[] = [];
  const forms: URLSearchParams[] = [];
  let polls = 0;
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = '', url = '' } = incoming;
    if (url === '/openapi.json') return await sendDocument(service, script.document ?? true, outgoing);
    if (!url.startsWith('/oauth/')) return pass(service, incoming, Buffer.concat(chunks), outgoing);
    asked.push(`${method} ${url}`);
    if (url === '/oauth/device/authorize') return send(outgoing, script.authorize ?? { body: CODE });
    forms.push(new URLSearchParams(Buffer.concat(chunks).toString('utf8')));
    const answers = script.polls ?? [pending];
    send(outgoing, answers[Math.min(polls, answers.length - 1)] ?? pending);
    polls += 1;
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    forms,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(outgoing: ServerResponse, { status = 200, type = 'application/json', body, cut, drips }: Answer): void {
  if (cut) return void outgoing.destroy();
  outgoing.writeHead(status, { 'content-type': type });
  if (drips) return void outgoing.write(body);
  outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
}

async function sendDocument(service: string, has: boolean | 'none', outgoing: ServerResponse): Promise<void> {
  if (has === 'none') return send(outgoing, { status: 404, body: { detail: 'Not Found' } });
  const document = (await (await fetch(`${service}/openapi.json`)).json()) as { paths: Record<string, unknown> };
  if (has) document.paths['/oauth/device/authorize'] = { post: {} };
  send(outgoing, { body: document });
}

function pass(service: string, incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse): void {
  const place = new URL(incoming.url ?? '/', service);
  const headers = { ...incoming.headers, host: place.host };
  const onward = forward(place, { method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  onward.end(body);
}
