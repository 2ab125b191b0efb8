/** A client requests a one-time link, which the browser exchanges for a cookie of one page. */
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import * as v from 'valibot';
import { record, text, toHexId, uuid } from '../../../protocol/detail.ts';
import { refuse } from '../../http/answer.ts';
import { integer, refused, texts } from '../../http/records.ts';
import { route, type Route } from '../../http/route.ts';
import type { ConversationRow } from '../../storage/conversations.ts';
import type { AppContext } from '../context.ts';
import { LINK_SECONDS, SESSION_SECONDS } from '../pages.ts';

const COOKIE = 'acs_page';
const HTML = 'text/html';

const pageQuery = record({ once: v.optional(text) });
const stepsQuery = record({ after: v.optional(text), until: v.optional(text) });
const liveQuery = record({ after: v.optional(text), again: v.optional(text) });

export const pageRoutes: readonly Route<AppContext>[] = [
  route('POST /local/conversations/{conversation_id}/page-link', {
    callers: 'acs conv open',
    parts: { conversation_id: uuid },
    answers: {
      200: v.object({ ...texts('token'), expires_in_seconds: integer() }),
      ...refused(404),
    },
    handle({ store, pages }, { path: { conversation_id: id } }) {
      if (store.conversations.get(id) === null) throw refuse(404, `Conversation ${id} not found`);
      return { token: pages.createLink(id), expires_in_seconds: LINK_SECONDS };
    },
  }),
  route('GET /local/conversations/{conversation_id}/changes', {
    callers: 'acs conv export',
    parts: { conversation_id: uuid },
    answers: { 200: v.object(texts('patch')), ...refused(404) },
    async handle(context, { path: { conversation_id: id } }) {
      const row = context.store.conversations.get(id);
      const { workspacePatch } = await import('../live-page.ts');
      const patch = row && (await workspacePatch(context, row));
      if (patch === null) throw refuse(404, `The workspace of conversation ${id} cannot be read`);
      return { patch };
    },
  }),
  route('GET /conversations/{conversation_id}', {
    callers: 'browser (acs conv open)',
    access: 'pageLink',
    query: pageQuery,
    answers: { 200: HTML, 303: null, 401: HTML, 403: HTML, 404: HTML },
    async handle(context, { path }) {
      const row = rowOf(context, path.conversation_id);
      if (row === null) return await deletedPage();
      const { livePage } = await import('../live-page.ts');
      return await html(streamOf(livePage(context, row)));
    },
  }),
  route('GET /conversations/{conversation_id}/steps', {
    callers: 'browser (acs conv open)',
    access: 'pageCookie',
    query: stepsQuery,
    answers: { 200: HTML, 401: HTML, 404: HTML },
    async handle(context, { path, query: { after = '', until = '' } }) {
      const row = rowOf(context, path.conversation_id);
      if (row === null) return await deletedPage();
      const { moreOfPage } = await import('../live-page.ts');
      const range = { after: positionOf(after), until: positionOf(until) };
      return await html(await moreOfPage(context, row, range));
    },
  }),
  route('GET /conversations/{conversation_id}/live', {
    callers: 'browser (acs conv open)',
    access: 'pageCookie',
    query: liveQuery,
    headers: ['Last-Event-ID'],
    answers: { 200: 'text/event-stream', 401: HTML, 404: HTML },
    async handle(context, { path, query: { after = '', again }, c }) {
      const row = rowOf(context, path.conversation_id);
      if (row === null) return await deletedPage();
      const { liveMessages } = await import('../live-page.ts');
      // On a reconnection the browser reports its last event, else the page has it.
      const last = c.req.header('last-event-id');
      const position = positionOf(last ?? after);
      const isAgain = last !== undefined || again !== undefined;
      const viewer = context.pages.join();
      const messages = liveMessages(context, row.id, { position, isAgain }, viewer);
      const headers = {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'X-Content-Type-Options': 'nosniff',
      };
      return new Response(
        streamOf(messages, () => viewer.leave()),
        { headers },
      );
    },
  }),
];

function positionOf(given: string): number {
  return /^\d{1,15}$/.test(given) ? Number(given) : 0;
}

function rowOf({ store }: AppContext, given: string): ConversationRow | null {
  return store.conversations.get(toHexId(given));
}

/** Exchanges the link of a page for its cookie; without a link, the cookie is required. */
export async function exchangeLink(context: AppContext, c: Context): Promise<Response | null> {
  const once = c.req.query('once');
  if (once === undefined) return await requirePageCookie(context, c);
  const id = toHexId(c.req.param('conversation_id') ?? '');
  const session = id && context.pages.openSession(id, once);
  if (id === null || session === null) {
    const text = `The link was used before, or is older than ${LINK_SECONDS} seconds.`;
    return await message(403, 'This link cannot be used', text, id);
  }
  const page = `/conversations/${id}`;
  setCookie(c, COOKIE, session, {
    path: page,
    httpOnly: true,
    sameSite: 'Strict',
    maxAge: SESSION_SECONDS,
  });
  c.header('Referrer-Policy', 'no-referrer');
  return c.redirect(page, 303);
}

export async function requirePageCookie(
  { pages }: AppContext,
  c: Context,
): Promise<Response | null> {
  const id = toHexId(c.req.param('conversation_id') ?? '');
  // Another port of this machine is the same site, and its pages must not read this one.
  const from = c.req.header('sec-fetch-site') ?? 'none';
  const isOwn =
    from === 'none' || from === 'same-origin' || c.req.header('sec-fetch-mode') === 'navigate';
  if (id === null || !isOwn || !pages.isAllowed(id, getCookie(c, COOKIE))) {
    const text = 'The page of a conversation is opened by a link that acs prints, valid once.';
    return await message(401, 'This page needs a link', text, id);
  }
  return null;
}

function deletedPage(): Promise<Response> {
  return message(404, 'This conversation does not exist', 'It was deleted.', null);
}

async function message(
  status: number,
  title: string,
  text: string,
  id: string | null,
): Promise<Response> {
  const { messagePage } = await import('../../../page/live.ts');
  return await html(messagePage(title, text, id && `acs conv open ${id}`), status);
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
