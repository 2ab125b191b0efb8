/**
 * The event socket (interface 7.3). A reader that falls far behind loses the socket; the events are
 * read again.
 */
import type { WebSocket } from 'ws';
import { AppError } from '../../base/errors.ts';
import { isShapeError } from '../../protocol/shape.ts';
import { readEvent, type EventRecord } from '../../protocol/v1/records.ts';
import { beforeTime } from '../../runs/deadline.ts';
import type { Links } from '../shared/links.ts';
import type { AgentClient } from './client.ts';
import { LIMITS_MS } from '../http/time-limits.ts';

/** Characters of the frames that wait to be taken. */
const MOST_WAITING = 16 * 1024 * 1024;

/** Parsed frames take several times as much memory. */
const MOST_TAKEN = 200;

export interface EventSocket {
  take(): EventRecord[];
  activity(): Promise<void>;
  /** Set when the socket is closed and its frames have been taken. */
  readonly closed: { code: number } | null;
  close(): void;
}

/**
 * Where the key is sent: the header keeps it out of logs. The query: quirks/socket-key-in-query.ts.
 */
export type KeyLocation = 'header' | 'query';

/**
 * Throws AppError `network` when the socket does not open. Events from before are not sent again.
 */
export async function openEventSocket(
  links: Links,
  agent: AgentClient,
  keyPlace: KeyLocation,
): Promise<EventSocket> {
  const url = new URL(
    `${agent.baseUrl.replace(/^http/, 'ws')}/sockets/events/${agent.conversationId}`,
  );
  if (keyPlace === 'query' && agent.key !== null)
    url.searchParams.set('session_api_key', agent.key);
  const headers: Record<string, string> =
    keyPlace === 'header' && agent.key !== null ? { 'x-session-api-key': agent.key } : {};
  const socket = await links.network.openSocket(url.href, headers);
  let frames: string[] = [];
  let waiting = 0;
  let closed: { code: number } | null = null;
  let wake: (() => void) | null = null;
  const ring = (): void => {
    wake?.();
    wake = null;
  };
  socket.addEventListener('message', ({ data }: { data: unknown }) => {
    if (typeof data !== 'string' || closed !== null) return;
    frames.push(data);
    waiting += data.length;
    if (waiting > MOST_WAITING) {
      closed = { code: 1013 };
      socket.close();
    }
    ring();
  });
  const ended = (code: number): void => {
    closed ??= { code };
    ring();
  };
  socket.addEventListener('close', (event: { code: number }) => ended(event.code));
  socket.addEventListener('error', () => ended(1006));
  await opened(links, socket, `the event socket of ${agent.baseUrl}`);
  return {
    take() {
      const taken = frames.slice(0, MOST_TAKEN);
      frames = frames.slice(taken.length);
      waiting -= taken.reduce((sum, { length }) => sum + length, 0);
      return taken.flatMap((frame) => parseFrame(frame) ?? []);
    },
    activity() {
      if (frames.length > 0 || closed !== null) return Promise.resolve();
      return new Promise((resolve) => (wake = resolve));
    },
    get closed() {
      return frames.length > 0 ? null : closed;
    },
    close() {
      closed ??= { code: 1000 };
      socket.close();
      ring();
    },
  };
}

/** Other frames than events are ignored: what they report is stored as events, too. */
function parseFrame(data: string): EventRecord | null {
  try {
    return readEvent(JSON.parse(data));
  } catch (error) {
    if (error instanceof SyntaxError || isShapeError(error)) return null;
    throw error;
  }
}

/** Throws AppError `network` when the socket is not open in time. */
export async function opened(links: Links, socket: WebSocket, name: string): Promise<void> {
  links.signal.throwIfAborted();
  let fail = (): void => undefined;
  const isOpen = new Promise<boolean>((resolve) => {
    fail = () => resolve(false);
    socket.addEventListener('open', () => resolve(true), { once: true });
    for (const type of ['error', 'close'] as const)
      socket.addEventListener(type, fail, { once: true });
  });
  links.signal.addEventListener('abort', fail, { once: true });
  try {
    if ((await beforeTime(links, LIMITS_MS.socket, [isOpen])) === true) return;
  } finally {
    links.signal.removeEventListener('abort', fail);
  }
  socket.close();
  links.signal.throwIfAborted();
  throw new AppError('network', `${name} does not open`, { retryable: true });
}
