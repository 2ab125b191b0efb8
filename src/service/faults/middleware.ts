import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { MiddlewareHandler } from 'hono';
import type { FaultRules } from './rules.ts';
import type { FaultRule } from './schema.ts';

/** The header of the app server's own requests to its sandboxes, which get no fault. */
export const SERVICE_HEADER = 'X-Acs-Service';

export function injectFaults(faultRules: FaultRules): MiddlewareHandler {
  return async (c, next) => {
    const { path, method } = c.req;
    // Below /local/ are the routes by which acs finds, shows and ends a service.
    const isOwn = path.startsWith('/local/') || c.req.header(SERVICE_HEADER) !== undefined;
    const rule = isOwn ? null : faultRules({ method, path, isSocket: false });
    if (rule === null) return await next();
    const { outgoing } = c.env as HttpBindings;
    if (rule.delivered) await next();
    else if (rule.cut !== 'before-headers') {
      // A client must have been able to send its whole request before it reads the answer.
      const reader = c.req.raw.body?.getReader();
      while (reader !== undefined && !(await reader.read()).done);
    }
    const answer = answerOf(rule, rule.delivered ? c.res : null);
    await pause(rule.latencyMs, outgoing);
    c.res = undefined; // else hono adds the headers of the answer before
    if (rule.cut === undefined) c.res = answer;
    else {
      c.res = RESPONSE_ALREADY_SENT;
      await sendPart(outgoing, answer, rule.cut);
    }
  };
}

/** Sends the answer up to the cut, and destroys the connection. */
async function sendPart(
  outgoing: HttpBindings['outgoing'],
  answer: Response,
  cut: FaultRule['cut'],
): Promise<void> {
  const { socket } = outgoing;
  if (cut === 'before-headers' || socket === null) {
    socket?.destroy();
    return;
  }
  const body = Buffer.from(await answer.arrayBuffer());
  answer.headers.delete('Content-Length'); // in chunks no length can be complete by chance
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
  outgoing.flushHeaders();
  const drop = (): void => {
    socket.destroy();
  };
  // A connection that is destroyed before the callback would lose what was written.
  if (cut === 'mid-body' && body.length > 1)
    outgoing.write(body.subarray(0, body.length >> 1), drop);
  else socket.write('', drop);
}

function answerOf(rule: FaultRule, real: Response | null): Response {
  const status = rule.status ?? real?.status ?? 200;
  const headers = new Headers(real?.headers);
  const isOwnBody = rule.body !== undefined || real === null;
  if (isOwnBody) {
    headers.delete('Content-Length');
    headers.set('Content-Type', 'application/json');
  }
  if (rule.contentType !== undefined) headers.set('Content-Type', rule.contentType);
  for (const [name, value] of Object.entries(rule.headers ?? {})) headers.set(name, value);
  const body = isOwnBody ? bodyOf(rule, status) : real.body;
  return new Response([204, 205, 304].includes(status) ? null : body, { status, headers });
}

export function statusText(status: number): string {
  return STATUS_CODES[status] ?? 'Injected fault';
}

export function bodyOf({ body }: FaultRule, status: number): string {
  return body ?? JSON.stringify({ detail: statusText(status) });
}

/** Settles earlier when the connection is closed. */
export async function pause(ms: number, connection: NodeJS.EventEmitter): Promise<void> {
  const closed = once(connection, 'close').catch(() => undefined);
  await Promise.race([setTimeout(ms, undefined, { ref: false }), closed]);
}
