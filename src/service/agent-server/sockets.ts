/**
 * The web sockets of the agent server: `/sockets/events/{id}` and `/sockets/bash-events` (interface section 7.3), and
 * `/sockets/exec`, which is the local service's own.
 *
 * A subscriber is a position in the log that advances as its socket writes. So nothing is buffered for a slow one, and
 * resent and live events can neither overlap nor leave a gap.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { socketAuthentication, type SocketQuery, socketQuery } from '../../protocol/agent-server/requests.ts';
import { check, toHexId } from '../../protocol/detail.ts';
import type { FaultRule } from '../faults/schema.ts';
import { boundFrames, letUpgrade } from '../faults/socket.ts';
import { BashFeed } from './bash.ts';
import { ProgramSession } from './program-session.ts';
import type { WorkerContext } from './context.ts';
import { EventFeed, parseFrame } from './event-feed.ts';
import { forbidden, isKey } from '../http/guard.ts';

const AUTHENTICATION_MS = 10_000;
const PING_MS = 30_000;
const LARGEST_FRAME = 64 * 1024 * 1024;
const MOST_SUBSCRIBERS = 50;
/** Before the client has sent the key. */
const LARGEST_FIRST_FRAME = 64 * 1024;
const MOST_WAITING = 50;

/** A request for a web socket that passed the guard. */
interface Asked {
  topic: string;
  query: SocketQuery;
  isRight: boolean;
  rule: FaultRule | null;
}

export class Sockets {
  readonly #worker: WorkerContext;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: LARGEST_FRAME, clientTracking: true });
  readonly #subscribers = new Map<string, number>();
  readonly #onCount: (subscribers: number) => void;
  /** Clients that have not sent the key yet. */
  #waiting = 0;

  /** `onCount` gets the number of subscribers at each change. */
  constructor(worker: WorkerContext, onCount: (subscribers: number) => void) {
    this.#worker = worker;
    this.#onCount = onCount;
  }

  /** The `upgrade` listener of the HTTP server. Refusals before the upgrade are HTTP 403, as on genuine servers. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => undefined);
    // Not by `new URL(path, base)`: that parses the text after two slashes as a host, or throws.
    const url = new URL(`http://localhost${(request.url ?? '/').replace(/^[^/]*/, '')}`);
    const query = check(socketQuery, Object.fromEntries(url.searchParams), 'query');
    const topic = topicOf(url.pathname);
    if (topic === null) {
      refuse(socket, '404 Not Found');
      return;
    }
    const given = query.ok ? (query.value.session_api_key ?? request.headers['x-session-api-key']) : undefined;
    const isRight = isKey(String(given), this.#worker.sessionApiKey);
    const isForbidden = forbidden(request.headers.host, request.headers.origin, '127.0.0.1') !== null;
    if (!query.ok || isForbidden || (given !== undefined && !isRight)) {
      refuse(socket, '403 Forbidden');
      return;
    }
    if (!isRight && this.#waiting >= MOST_WAITING) {
      refuse(socket, '503 Service Unavailable');
      return;
    }
    const rule = this.#worker.faultRules?.next({ method: 'GET', path: url.pathname, isSocket: true }) ?? null;
    const admit = (): void => {
      this.#admit(request, socket, head, { topic, query: query.value, isRight, rule });
    };
    if (rule === null) admit();
    else void letUpgrade(rule, socket).then((isLet) => void (isLet && admit()));
  };

  #admit(request: IncomingMessage, socket: Duplex, head: Buffer, asked: Asked): void {
    const { topic, query, isRight, rule } = asked;
    const bound = isRight ? null : boundFirstFrame(socket, head.length);
    this.#server.handleUpgrade(request, socket, head, (client) => {
      // A client of a program may be suspended for any time; on loopback the kernel closes the socket of one that ended.
      if (topic === EXEC) client.on('error', () => undefined);
      else keepAlive(client);
      if (rule !== null) boundFrames(rule, client);
      if (bound === null) this.#subscribe(client, topic, query);
      else this.#authenticate(client, topic, query, bound);
    });
  }

  /** Closes all sockets: the sandbox is paused or ends. */
  close(): void {
    for (const client of this.#server.clients) {
      client.close(1001, 'The sandbox is paused or stopped');
      // A client that does not answer the close frame must not delay the pause.
      setTimeout(() => {
        client.terminate();
      }, 200).unref();
    }
  }

  /** Without a key: the first frame must contain it. */
  #authenticate(client: WebSocket, topic: string, query: SocketQuery, bound: Bound): void {
    const fail = (): void => {
      client.close(4001, 'Authentication failed');
    };
    const timer = setTimeout(fail, AUTHENTICATION_MS);
    this.#waiting += 1;
    let isWaiting = true;
    const done = (): void => {
      clearTimeout(timer);
      bound.lift();
      if (isWaiting) this.#waiting -= 1;
      isWaiting = false;
    };
    client.once('close', done);
    client.once('message', (data: RawData) => {
      done();
      const frame = check(socketAuthentication, parseFrame(data), 'body');
      if (frame.ok && isKey(frame.value.session_api_key, this.#worker.sessionApiKey)) {
        this.#subscribe(client, topic, query);
      } else fail();
    });
  }

  #subscribe(client: WebSocket, topic: string, query: SocketQuery): void {
    const taken = this.#subscribers.get(topic) ?? 0;
    if (taken >= MOST_SUBSCRIBERS) {
      client.close(1013, 'Too many subscribers');
      return;
    }
    const isConversation = topic !== BASH && topic !== EXEC;
    const entry = isConversation ? this.#worker.conversations.get(topic) : null;
    if (isConversation && entry === null) {
      client.close(4004, 'Conversation not found');
      return;
    }
    this.#count(topic, 1);
    client.once('close', () => {
      this.#count(topic, -1);
    });
    if (entry !== null) new EventFeed(client, entry, query).start();
    else if (topic === BASH) new BashFeed(client, this.#worker.bash, query).start();
    else new ProgramSession(client, this.#worker.sandbox).start();
  }

  #count(topic: string, change: 1 | -1): void {
    const here = (this.#subscribers.get(topic) ?? 0) + change;
    if (here > 0) this.#subscribers.set(topic, here);
    else this.#subscribers.delete(topic);
    this.#onCount([...this.#subscribers.values()].reduce((sum, each) => sum + each, 0));
  }
}

interface Bound {
  lift: () => void;
}

/**
 * Ends a connection that sends more than the frame with the key takes; by bytes, for a frame is kept until it is whole.
 */
function boundFirstFrame(socket: Duplex, already: number): Bound {
  let size = already;
  let isLifted = false;
  const count = (chunk: Buffer): void => {
    size += chunk.length;
    if (!isLifted && size > LARGEST_FIRST_FRAME) socket.destroy();
  };
  socket.on('data', count);
  return {
    lift: () => {
      isLifted = true;
      socket.off('data', count);
    },
  };
}

const BASH = 'bash-events';
const EXEC = 'exec';

/** The conversation's id, `bash-events` or `exec`; null for another path. An invalid id is an unknown conversation. */
function topicOf(pathname: string): string | null {
  if (pathname === '/sockets/bash-events') return BASH;
  if (pathname === '/sockets/exec') return EXEC;
  const id = /^\/sockets\/events\/([^/]+)$/.exec(pathname)?.[1];
  return id === undefined ? null : (toHexId(id) ?? 'unknown');
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** Ends the connection of a client that does not answer a ping before the next one. */
function keepAlive(client: WebSocket): void {
  let hasAnswered = true;
  client.on('pong', () => (hasAnswered = true));
  client.on('error', () => undefined);
  const timer = setInterval(() => {
    if (!hasAnswered) client.terminate();
    hasAnswered = false;
    client.ping();
  }, PING_MS);
  client.once('close', () => {
    clearInterval(timer);
  });
}
