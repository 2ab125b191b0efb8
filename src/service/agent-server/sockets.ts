import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import {
  socketAuthentication,
  type SocketQuery,
  socketQuery,
} from '../../protocol/agent-server/requests.ts';
import { check, toHexId } from '../../protocol/detail.ts';
import { boundFrames, letUpgrade } from '../faults/socket.ts';
import { forbidden, isKey } from '../http/guard.ts';
import type { AgentContext } from './context.ts';
import { EventFeed, parseFrame } from './event-feed.ts';
import { ProgramSession } from './program-session.ts';

const LARGEST_FRAME = 64 * 1024 * 1024;
const MOST_SUBSCRIBERS = 50;
const MOST_WAITING = 50;
const LARGEST_FIRST_FRAME = 64 * 1024;

const FORBIDDEN = '403 Forbidden';

interface Subscription {
  path: string;
  /** `bash-events`, `exec`, or the id of a conversation. */
  topic: string;
  /** Undefined: the first frame has the key. */
  key: string | undefined;
  since: string | null;
  deltas: boolean;
}

/** The web sockets of interface section 7.3, and `/sockets/exec` of the local service alone. */
export class Sockets {
  readonly #context: AgentContext;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: LARGEST_FRAME });
  readonly #subscribers = new Map<string, number>();
  readonly #waiting = new Set<WebSocket>();
  readonly #onCount: (subscribers: number) => void;

  constructor(context: AgentContext, onCount: (subscribers: number) => void) {
    this.#context = context;
    this.#onCount = onCount;
  }

  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => undefined);
    const subscription = readUpgrade(request);
    const refusal = typeof subscription === 'string' ? subscription : this.#refusal(subscription);
    if (typeof subscription === 'string' || refusal !== null) {
      socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const { path, topic, key } = subscription;
    const rule = this.#context.faultRules({ method: 'GET', path, isSocket: true });
    const admit = (): void => {
      const lift = key === undefined ? boundFirstFrame(socket, head.length) : null;
      this.#server.handleUpgrade(request, socket, head, (client) => {
        client.on('error', () => undefined);
        // The client of a program may be suspended for any time.
        if (topic !== 'exec') keepAlive(client);
        if (rule !== null) boundFrames(rule, client);
        if (lift === null) this.#subscribe(client, subscription);
        else this.#authenticate(client, lift, () => this.#subscribe(client, subscription));
      });
    };
    if (rule === null) admit();
    else void letUpgrade(rule, socket).then((isLet) => void (isLet && admit()));
  };

  #refusal({ key }: Subscription): string | null {
    if (key !== undefined)
      return isKey(key, this.#context.config.session_api_key) ? null : FORBIDDEN;
    return this.#waiting.size < MOST_WAITING ? null : '503 Service Unavailable';
  }

  close(): void {
    for (const client of this.#server.clients) {
      client.close(1001, 'The sandbox is paused or stopped');
      // A client that does not answer the close frame must not delay the pause.
      setTimeout(() => client.terminate(), 200).unref();
    }
  }

  #authenticate(client: WebSocket, lift: () => void, onKey: () => void): void {
    const fail = (): void => client.close(4001, 'Authentication failed');
    const timer = setTimeout(fail, 10_000);
    const done = (): void => {
      clearTimeout(timer);
      lift();
    };
    this.#waiting.add(client);
    client.once('close', () => {
      done();
      this.#waiting.delete(client);
    });
    client.once('message', (data: RawData) => {
      done();
      const frame = check(socketAuthentication, parseFrame(data), 'body');
      if (!frame.ok || !isKey(frame.value.session_api_key, this.#context.config.session_api_key))
        return fail();
      this.#waiting.delete(client);
      onKey();
    });
  }

  #subscribe(client: WebSocket, { topic, since, deltas }: Subscription): void {
    const { conversations, bash, sandbox } = this.#context;
    const subscribers = this.#subscribers.get(topic) ?? 0;
    const entry = conversations.get(topic);
    if (subscribers >= MOST_SUBSCRIBERS) client.close(1013, 'Too many subscribers');
    else if (topic === 'bash-events') bash.subscribe(client, since);
    else if (topic === 'exec') new ProgramSession(client, sandbox);
    else if (entry === null) client.close(4004, 'Conversation not found');
    else new EventFeed(client, entry, { since, deltas });
    if (client.readyState !== client.OPEN) return;
    const count = (change: 1 | -1): void => {
      this.#subscribers.set(topic, (this.#subscribers.get(topic) ?? 0) + change);
      this.#onCount([...this.#subscribers.values()].reduce((sum, each) => sum + each, 0));
    };
    count(1);
    client.once('close', () => count(-1));
  }
}

/** A text: the status of the refusal, which is 403 as on genuine servers. */
function readUpgrade({ url, headers }: IncomingMessage): Subscription | string {
  // `new URL(path, base)` parses the text after two slashes as a host, or throws.
  const { pathname, searchParams } = new URL(
    `http://localhost${String(url).replace(/^[^/]*/, '')}`,
  );
  const path = /^\/sockets\/(?:(bash-events|exec)|events\/([^/]+))$/.exec(pathname);
  if (path === null) return '404 Not Found';
  const topic = path[1] ?? toHexId(path[2] ?? '') ?? 'unknown';
  const query = check(socketQuery, Object.fromEntries(searchParams), 'query');
  const { host, origin, 'x-session-api-key': keyOfHeader } = headers;
  if (!query.ok || forbidden(host, origin, '127.0.0.1') !== null) return FORBIDDEN;
  const key = query.value.session_api_key ?? keyOfHeader?.toString();
  const { deltas = false } = query.value;
  return { path: pathname, topic, key, since: sinceOf(query.value), deltas };
}

function sinceOf({ resend_mode, resend_all, after_timestamp }: SocketQuery): string | null {
  if (resend_mode === 'since') return after_timestamp ?? null;
  return resend_mode === 'all' || resend_all === true ? '' : null;
}

/** Counts bytes: a frame is kept until it is whole. Returns a function that lifts the bound. */
function boundFirstFrame(socket: Duplex, already: number): () => void {
  let size = already;
  const count = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > LARGEST_FIRST_FRAME) socket.destroy();
  };
  socket.on('data', count);
  return () => {
    size = Number.NEGATIVE_INFINITY;
    socket.off('data', count);
  };
}

function keepAlive(client: WebSocket): void {
  let hasAnswered = true;
  client.on('pong', () => (hasAnswered = true));
  const timer = setInterval(() => {
    if (!hasAnswered) client.terminate();
    hasAnswered = false;
    client.ping();
  }, 30_000);
  client.once('close', () => clearInterval(timer));
}
