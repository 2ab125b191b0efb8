/**
 * The web sockets of interface section 7.3, and `/sockets/exec`, which is the local service's own.
 */
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
import type { WorkerContext } from './context.ts';
import { EventFeed, parseFrame } from './event-feed.ts';
import { ProgramSession } from './program-session.ts';

const LARGEST_FRAME = 64 * 1024 * 1024;
const MOST_SUBSCRIBERS = 50;
/** Sockets whose client has not sent the key, and the frame with the key. */
const MOST_WAITING = 50;
const LARGEST_FIRST_FRAME = 64 * 1024;

/** `bash-events`, `exec`, or the id of a conversation. */
type Topic = string;

export class Sockets {
  readonly #worker: WorkerContext;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: LARGEST_FRAME });
  readonly #subscribers = new Map<Topic, number>();
  readonly #waiting = new Set<WebSocket>();
  readonly #onCount: (subscribers: number) => void;

  constructor(worker: WorkerContext, onCount: (subscribers: number) => void) {
    this.#worker = worker;
    this.#onCount = onCount;
  }

  /** The `upgrade` listener. It refuses with HTTP 403, as genuine servers do. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const { sessionApiKey, faultRules } = this.#worker;
    socket.on('error', () => undefined);
    const refuse = (status: string): void => {
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    };
    // Not by `new URL(path, base)`: that parses the text after two slashes as a host, or throws.
    const url = new URL(`http://localhost${String(request.url).replace(/^[^/]*/, '')}`);
    const path = /^\/sockets\/(?:(bash-events|exec)|events\/([^/]+))$/.exec(url.pathname);
    if (path === null) return refuse('404 Not Found');
    // An invalid id is that of an unknown conversation.
    const topic = path[1] ?? toHexId(path[2] ?? '') ?? 'unknown';
    const query = check(socketQuery, Object.fromEntries(url.searchParams), 'query');
    const { host, origin, 'x-session-api-key': keyOfHeader } = request.headers;
    if (!query.ok || forbidden(host, origin, '127.0.0.1') !== null) return refuse('403 Forbidden');
    const key = query.value.session_api_key ?? keyOfHeader;
    const hasKey = key !== undefined;
    if (hasKey && !isKey(String(key), sessionApiKey)) return refuse('403 Forbidden');
    if (!hasKey && this.#waiting.size >= MOST_WAITING) return refuse('503 Service Unavailable');
    const since = sinceOf(query.value);
    const admit = (): void => {
      const lift = hasKey ? null : boundFirstFrame(socket, head.length);
      this.#server.handleUpgrade(request, socket, head, (client) => {
        client.on('error', () => undefined);
        // A client of a program may be suspended for any time; on loopback the kernel closes the
        // socket of one that ended.
        if (topic !== 'exec') keepAlive(client);
        if (rule !== null) boundFrames(rule, client);
        if (lift === null) this.#subscribe(client, topic, since);
        else this.#authenticate(client, lift, () => this.#subscribe(client, topic, since));
      });
    };
    const faulty = { method: 'GET', path: url.pathname, isSocket: true };
    const rule = faultRules?.next(faulty) ?? null;
    if (rule === null) admit();
    else void letUpgrade(rule, socket).then((isLet) => void (isLet && admit()));
  };

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
      if (!frame.ok || !isKey(frame.value.session_api_key, this.#worker.sessionApiKey))
        return fail();
      this.#waiting.delete(client);
      onKey();
    });
  }

  #subscribe(client: WebSocket, topic: Topic, since: string | null): void {
    const { conversations, bash, sandbox } = this.#worker;
    const subscribers = this.#subscribers.get(topic) ?? 0;
    const entry = conversations.get(topic);
    if (subscribers >= MOST_SUBSCRIBERS) client.close(1013, 'Too many subscribers');
    else if (topic === 'bash-events') bash.subscribe(client, since);
    else if (topic === 'exec') new ProgramSession(client, sandbox);
    else if (entry === null) client.close(4004, 'Conversation not found');
    else new EventFeed(client, entry, since);
    if (client.readyState !== client.OPEN) return;
    const count = (change: 1 | -1): void => {
      this.#subscribers.set(topic, (this.#subscribers.get(topic) ?? 0) + change);
      this.#onCount([...this.#subscribers.values()].reduce((sum, each) => sum + each, 0));
    };
    count(1);
    client.once('close', () => count(-1));
  }
}

/** The time from which a subscriber gets stored events, empty for all; null: only new ones. */
function sinceOf({ resend_mode, resend_all, after_timestamp }: SocketQuery): string | null {
  if (resend_mode === 'since') return after_timestamp ?? null;
  return resend_mode === 'all' || resend_all === true ? '' : null;
}

/**
 * Counts bytes, because a frame is kept until it is whole. Returns a function that lifts the bound.
 */
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
