/** The event socket (interface 7.3). A reader that falls far behind loses it, and reads again. */
import { once } from 'node:events';
import type { WebSocket } from 'ws';
import { AppError } from '../../base/errors.ts';
import { isShapeError } from '../../protocol/shape.ts';
import { readEvent, type EventRecord } from '../../protocol/v1/records.ts';
import { beforeTime } from '../../runs/deadline.ts';
import type { FollowSocket, SourceEvent } from '../../runs/follow-source.ts';
import type { Links } from '../shared/links.ts';
import type { AgentClient } from './client.ts';
import { LIMITS_MS } from '../http/time-limits.ts';

/** Characters of the frames that are not taken yet. */
const MOST_WAITING = 16 * 1024 * 1024;

const MOST_TAKEN = 200;

/** The header keeps the key out of logs; the query: quirks/socket-key-in-query.ts. */
export type KeyLocation = 'header' | 'query';

export function socketUrl(baseUrl: string, path: string): string {
  return `${baseUrl.replace(/^http/, 'ws')}/sockets/${path}`;
}

/** Throws `network` when the socket does not open. Events from before are not sent again. */
export async function openEventSocket(
  links: Links,
  agent: AgentClient,
  { location, deltas }: { location: KeyLocation; deltas: boolean },
  sourceEvent: (event: EventRecord) => SourceEvent,
): Promise<FollowSocket> {
  const { baseUrl } = agent.transport;
  const url = new URL(socketUrl(baseUrl, `events/${agent.conversationId}`));
  if (deltas) url.searchParams.set('deltas', 'true');
  const headers: Record<string, string> = {};
  if (agent.key !== null && location === 'query')
    url.searchParams.set('session_api_key', agent.key);
  else if (agent.key !== null) headers['x-session-api-key'] = agent.key;
  const socket = await links.network.openSocket(url.href, headers);
  let frames: string[] = [];
  let waiting = 0;
  let closed: { code: number } | null = null;
  let wake = (): void => undefined;
  socket.on('message', (bytes: Buffer, isBinary) => {
    if (isBinary || closed !== null) return;
    const data = bytes.toString();
    frames.push(data);
    waiting += data.length;
    if (waiting > MOST_WAITING) {
      closed = { code: 1013 };
      socket.close();
    }
    wake();
  });
  const ended = (code: number) => {
    closed ??= { code };
    wake();
  };
  socket.on('close', ended).on('error', () => ended(1006));
  await opened(links, socket, `the event socket of ${baseUrl}`);
  return {
    take() {
      const taken = frames.slice(0, MOST_TAKEN);
      frames = frames.slice(taken.length);
      waiting -= taken.reduce((sum, { length }) => sum + length, 0);
      return taken.flatMap((frame) => parseFrame(frame) ?? []).map(sourceEvent);
    },
    activity() {
      if (frames.length > 0 || closed !== null) return Promise.resolve();
      return new Promise<void>((resolve) => (wake = resolve));
    },
    get closed() {
      return frames.length > 0 ? null : closed;
    },
    close() {
      closed ??= { code: 1000 };
      socket.close();
      wake();
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

export async function opened(links: Links, socket: WebSocket, name: string): Promise<void> {
  links.signal.throwIfAborted();
  const isOpen = once(socket, 'open', { signal: links.signal }).then(
    () => true,
    () => false,
  );
  if ((await beforeTime(links, LIMITS_MS.socket, [isOpen])) === true) return;
  socket.close();
  links.signal.throwIfAborted();
  throw new AppError('network', `${name} does not open`, { retryable: true });
}
