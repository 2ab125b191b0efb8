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
import { feedEvents, parseFrame } from './event-feed.ts';
import { serveProgram } from './program-session.ts';

const LARGEST_FRAME = 64 * 1024 * 1024;
const MOST_SUBSCRIBERS = 50;
/** Sockets whose client has not sent the key. */
const MOST_WAITING = 50;
/** Before the client has sent the key. */
const LARGEST_FIRST_FRAME = 64 * 1024;

const BASH = 'bash-events';
const EXEC = 'exec';

export class Sockets {
  readonly #worker: WorkerContext;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: LARGEST_FRAME,
    clientTracking: true,
  });
  /** The number of subscribers by the id of a conversation, `bash-events` or `exec`. */
  readonly #subscribers = new Map<string, number>();
  readonly #waiting = new Set<WebSocket>();
  readonly #onCount: (subscribers: number) => void;

  constructor(worker: WorkerContext, onCount: (subscribers: number) => void) {
    this.#worker = worker;
    this.#onCount = onCount;
  }

  /**
   * The `upgrade` listener of the HTTP server. Refusals before the upgrade are HTTP 403, as on
   * genuine servers.
   */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => undefined);
    const refuse = (status: string): void => {
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    };
    // Not by `new URL(path, base)`: that parses the text after two slashes as a host, or throws.
    const url = new URL(`http://localhost${String(request.url).replace(/^[^/]*/, '')}`);
    const [, kind, id = ''] =
      /^\/sockets\/(?:(bash-events|exec)|events\/([^/]+))$/.exec(url.pathname) ?? [];
    if (kind === undefined && id === '') return refuse('404 Not Found');
    // An invalid id is that of an unknown conversation.
    const topic = kind ?? toHexId(id) ?? 'unknown';
    const query = check(socketQuery, Object.fromEntries(url.searchParams), 'query');
    if (!query.ok) return refuse('403 Forbidden');
    const given = query.value.session_api_key ?? request.headers['x-session-api-key'];
    const isRight = isKey(String(given), this.#worker.sessionApiKey);
    const isForbidden =
      forbidden(request.headers.host, request.headers.origin, '127.0.0.1') !== null;
    if (isForbidden || (given !== undefined && !isRight)) return refuse('403 Forbidden');
    if (!isRight && this.#waiting.size >= MOST_WAITING) return refuse('503 Service Unavailable');
    const rule =
      this.#worker.faultRules?.next({ method: 'GET', path: url.pathname, isSocket: true }) ?? null;
    const admit = (): void => {
      const lift = isRight ? null : boundFirstFrame(socket, head.length);
      this.#server.handleUpgrade(request, socket, head, (client) => {
        client.on('error', () => undefined);
        // A client of a program may be suspended for any time; on loopback the kernel closes the
        // socket of one that ended.
        if (topic !== EXEC) keepAlive(client);
        if (rule !== null) boundFrames(rule, client);
        if (lift === null) this.#subscribe(client, topic, query.value);
        else this.#authenticate(client, topic, query.value, lift);
      });
    };
    if (rule === null) admit();
    else void letUpgrade(rule, socket).then((isLet) => void (isLet && admit()));
  };

  close(): void {
    for (const client of this.#server.clients) {
      client.close(1001, 'The sandbox is paused or stopped');
      // A client that does not answer the close frame must not delay the pause.
      setTimeout(() => {
        client.terminate();
      }, 200).unref();
    }
  }

  #authenticate(client: WebSocket, topic: string, query: SocketQuery, lift: () => void): void {
    const fail = (): void => {
      client.close(4001, 'Authentication failed');
    };
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
      const isRight = frame.ok && isKey(frame.value.session_api_key, this.#worker.sessionApiKey);
      if (!isRight) return fail();
      this.#waiting.delete(client);
      this.#subscribe(client, topic, query);
    });
  }

  #subscribe(client: WebSocket, topic: string, query: SocketQuery): void {
    const { conversations, bash, sandbox } = this.#worker;
    const entry = topic === BASH || topic === EXEC ? null : conversations.get(topic);
    if ((this.#subscribers.get(topic) ?? 0) >= MOST_SUBSCRIBERS)
      client.close(1013, 'Too many subscribers');
    else if (topic === BASH) bash.subscribe(client, query);
    else if (topic === EXEC) serveProgram(client, sandbox);
    else if (entry === null) client.close(4004, 'Conversation not found');
    else feedEvents(client, entry, query);
    if (client.readyState !== client.OPEN) return;
    const count = (change: 1 | -1): void => {
      this.#subscribers.set(topic, (this.#subscribers.get(topic) ?? 0) + change);
      this.#onCount([...this.#subscribers.values()].reduce((sum, each) => sum + each, 0));
    };
    count(1);
    client.once('close', () => {
      count(-1);
    });
  }
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
  client.once('close', () => {
    clearInterval(timer);
  });
}
