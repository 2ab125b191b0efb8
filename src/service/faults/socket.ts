import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { bodyOf, pause, statusText } from './middleware.ts';
import type { FaultRule } from './schema.ts';

/** Waits for the latency of the rule. False: the socket has been refused or cut. */
export async function letUpgrade(rule: FaultRule, socket: Duplex): Promise<boolean> {
  await pause(rule.latencyMs, socket);
  if (rule.cut === 'before-headers') {
    socket.destroy();
    return false;
  }
  if (rule.status === undefined && rule.body === undefined) return true;
  const status = rule.status ?? 200;
  const body = Buffer.from(bodyOf(rule, status));
  const headers = {
    'Content-Type': rule.contentType ?? 'application/json',
    ...rule.headers,
    'Content-Length': String(body.length),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${statusText(status)}\r\n${lines.join('')}\r\n`);
  socket.end(body);
  return false;
}

export function boundFrames({ cut, frames = 0 }: FaultRule, client: WebSocket): void {
  if (cut === undefined) return;
  let left = { 'after-frames': frames, 'mid-body': 1, 'after-headers': 0, 'before-headers': 0 }[
    cut
  ];
  if (left === 0) {
    client.terminate();
    return;
  }
  type Callback = (error?: Error) => void;
  const send = client.send.bind(client) as (data: unknown, callback: Callback) => void;
  client.send = (data: unknown, ...rest: unknown[]) => {
    const callback = rest.find((each): each is Callback => typeof each === 'function');
    if (left === 0) {
      callback?.(new Error('the web socket is cut'));
      return;
    }
    left -= 1;
    const isLast = left === 0;
    send(data, (error) => {
      if (isLast) client.terminate();
      callback?.(error);
    });
  };
}
