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
  /** False: the first frame has the key. */
  isKnown: boolean;
  since: string | null;
  deltas: boolean;
}

/** The web sockets of interface section 7.3, and `/sockets/exec` of the local service alone. */
export class Sockets {
  readonly #context: AgentContext;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: LARGEST_FRAME });
  readonly #topics = new Map<WebSocket, string>();
  readonly #waiting = new Set<WebSocket>();

  constructor(context: AgentContext) {
    this.#context = context;
  }

  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => undefined);
    const subscription = this.#read(request);
    if (typeof subscription === 'string') {
      socket.end(`HTTP/1.1 ${subscription}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const { path, topic, isKnown } = subscription;
    const rule = this.#context.faultRules({ method: 'GET', path, isSocket: true });
    const admit = (): void => {
      const lift = isKnown ? null : boundFirstFrame(socket, head.length);
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

  /** A text: the status of the refusal, which is 403 as on genuine servers. */
  #read({ url, headers }: IncomingMessage): Subscription | string {
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
    const { session_api_key: key = keyOfHeader?.toString(), deltas = false } = query.value;
    if (key === undefined && this.#waiting.size >= MOST_WAITING) return '503 Service Unavailable';
    if (key !== undefined && !this.#isKey(key)) return FORBIDDEN;
    const isKnown = key !== undefined;
    return { path: pathname, topic, isKnown, since: sinceOf(query.value), deltas };
  }

  #isKey(key: string): boolean {
    return isKey(key, this.#context.config.session_api_key);
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
      if (!frame.ok || !this.#isKey(frame.value.session_api_key)) return fail();
      this.#waiting.delete(client);
      onKey();
    });
  }

  #subscribe(client: WebSocket, { topic, since, deltas }: Subscription): void {
    const { conversations, bash, sandbox, notify } = this.#context;
    const subscribers = [...this.#topics.values()].filter((each) => each === topic);
    const entry = conversations.get(topic);
    if (subscribers.length >= MOST_SUBSCRIBERS) client.close(1013, 'Too many subscribers');
    else if (topic === 'bash-events') bash.subscribe(client, since);
    else if (topic === 'exec') new ProgramSession(client, sandbox);
    else if (entry === null) client.close(4004, 'Conversation not found');
    else new EventFeed(client, entry, { since, deltas });
    if (client.readyState !== client.OPEN) return;
    const count = (): void => notify({ type: 'subscribers', count: this.#topics.size });
    this.#topics.set(client, topic);
    count();
    client.once('close', () => {
      this.#topics.delete(client);
      count();
    });
  }
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
  return () => socket.off('data', count);
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
