/**
 * The page of a conversation in a browser. A browser has no key: a client with the key requests a one-time link, which
 * the browser exchanges for a cookie that allows this page and its stream, and no other route.
 */
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { toHexId } from '../../../protocol/detail.ts';
import { json, refuse } from '../../http/answer.ts';
import { pathId } from '../../http/request.ts';
import type { Handlers } from '../../http/router.ts';
import type { AppRoute } from '../../served-routes.ts';
import type { ConversationRow } from '../../storage/conversations.ts';
import type { AppContext } from '../context.ts';
import { LINK_SECONDS, SESSION_SECONDS } from '../page/access.ts';

const COOKIE = 'acs_page';

export function pageHandlers(context: AppContext): Handlers<AppRoute> {
  return {
    'POST /local/conversations/{conversation_id}/page-link': (c) => {
      const id = pathId(c);
      if (context.store.conversations.get(id) === null) throw refuse(404, `Conversation ${id} not found`);
      return json({ token: context.pages.access.createLink(id), expires_in_seconds: LINK_SECONDS });
    },
    'GET /conversations/{conversation_id}': async (c) => {
      const once = c.req.query('once');
      if (once !== undefined) return await openSession(context, c, once);
      const allowed = await allowedRow(context, c);
      if (allowed instanceof Response) return allowed;
      const { livePage } = await import('../page/live.ts');
      return await html(streamOf(livePage(context, allowed)));
    },
    'GET /conversations/{conversation_id}/live': async (c) => {
      const allowed = await allowedRow(context, c);
      if (allowed instanceof Response) return allowed;
      const { liveMessages } = await import('../page/live.ts');
      const viewer = context.pages.viewers.join();
      const messages = liveMessages(context, allowed.id, readFrom(c), viewer);
      const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };
      return new Response(
        streamOf(messages, () => {
          viewer.leave();
        }),
        { headers },
      );
    },
  };
}

function pathOf(id: string): string {
  return `/conversations/${id}`;
}

/** Exchanges the token of a link for a cookie, and leads to the address without it. */
async function openSession({ pages: { access } }: AppContext, c: Context, once: string): Promise<Response> {
  const id = toHexId(c.req.param('conversation_id') ?? '');
  const session = id === null ? null : access.openSession(id, once);
  if (id === null || session === null) {
    const text = `The link was used before, or is older than ${LINK_SECONDS} seconds.`;
    return await message(403, 'This link cannot be used', text, id);
  }
  setCookie(c, COOKIE, session, { path: pathOf(id), httpOnly: true, sameSite: 'Strict', maxAge: SESSION_SECONDS });
  c.header('Referrer-Policy', 'no-referrer');
  return c.redirect(pathOf(id), 303);
}

/** The conversation whose page the browser may read, or why not. */
async function allowedRow({ pages: { access }, store }: AppContext, c: Context): Promise<ConversationRow | Response> {
  const id = toHexId(c.req.param('conversation_id') ?? '');
  // Another port of this machine is the same site, and its pages must not read this one.
  const from = c.req.header('sec-fetch-site') ?? 'none';
  const isOwn = from === 'none' || from === 'same-origin' || c.req.header('sec-fetch-mode') === 'navigate';
  if (id === null || !isOwn || !access.isAllowed(id, getCookie(c, COOKIE))) {
    const text = 'The page of a conversation is opened by a link that acs prints, valid once.';
    return await message(401, 'This page needs a link', text, id);
  }
  const row = store.conversations.get(id);
  return row ?? (await message(404, 'This conversation does not exist', 'It was deleted.', null));
}

async function message(status: number, title: string, text: string, id: string | null): Promise<Response> {
  const { messagePage } = await import('../../../page/live.ts');
  return await html(messagePage(title, text, id === null ? null : `acs conv open ${id}`), status);
}

async function html(body: string | ReadableStream<Uint8Array>, status = 200): Promise<Response> {
  const { LIVE_POLICY } = await import('../../../page/live.ts');
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': LIVE_POLICY,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  };
  return new Response(body, { status, headers });
}

/** Where a stream begins: behind the last event that the browser reports on a reconnection, else that of the page. */
function readFrom(c: Context): { place: number; isAgain: boolean } {
  const last = c.req.header('last-event-id');
  const given = last ?? c.req.query('after') ?? '';
  const place = /^\d{1,15}$/.test(given) ? Number(given) : 0;
  return { place, isAgain: last !== undefined || c.req.query('again') !== undefined };
}

/** A part is made when the browser has taken the ones before. */
function streamOf(
  parts: AsyncGenerator<string, void, void>,
  onLeave: () => void = () => undefined,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await parts.next().catch((error: unknown) => {
        onLeave();
        throw error;
      });
      if (done !== true) return controller.enqueue(encoder.encode(value));
      onLeave();
      controller.close();
    },
    cancel: onLeave,
  });
}
