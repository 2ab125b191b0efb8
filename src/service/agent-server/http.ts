/** Reading requests and refusing them in the words of genuine agent servers (interface section 8.1). */
import type { Context } from 'hono';
import type * as v from 'valibot';
import {
  check,
  type Detail,
  isTooDeep,
  malformedJson,
  missingBody,
  record,
  tooDeep,
  uuid,
} from '../../protocol/detail.ts';
import { readBytes } from '../request-body.ts';
import { IsolationError } from '../isolation/connection.ts';
import { ReplayError } from '../agents/replay/reading.ts';
import { storageTrouble } from '../storage/storage-error.ts';
import type { ConversationEntry, Conversations } from './conversations.ts';
import { ConflictError } from './run-loop.ts';

/** In bytes: an upload is read into memory before it is taken apart, a message whole. */
const LARGEST_BODY = 128 * 1024 * 1024;
/** In bytes; it names ids. */
const LARGEST_BODY_OF_GET = 64 * 1024;

/** An answer that is a refusal. */
export class HttpRefusal extends Error {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 413 | 422 | 500 | 503 | 507;
  readonly detail: string | Detail[];

  constructor(status: HttpRefusal['status'], detail: string | Detail[]) {
    super(typeof detail === 'string' ? detail : 'invalid request');
    this.status = status;
    this.detail = detail;
  }
}

/** Any error as the answer it becomes. */
export function refusalOf(error: unknown): HttpRefusal {
  if (error instanceof HttpRefusal) return error;
  if (error instanceof ConflictError) return new HttpRefusal(409, error.message);
  if (error instanceof ReplayError) return new HttpRefusal(422, error.message);
  if (error instanceof IsolationError) {
    if (error.code === 'not-found') return new HttpRefusal(404, error.message);
    if (error.code === 'gone') return new HttpRefusal(503, `The sandbox does not answer: ${error.message}`);
    return new HttpRefusal(400, error.message);
  }
  const trouble = storageTrouble(error);
  if (trouble !== null) return new HttpRefusal(trouble.status, trouble.text);
  return new HttpRefusal(500, `Internal Server Error: ${(error as Error).message}`);
}

/** The checked body; 422 with the list of what is wrong. */
export async function readBody<Schema extends v.GenericSchema>(
  context: Context,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const text = (await readBytesOf(context)).toString('utf8');
  if (text.trim() === '') throw new HttpRefusal(422, missingBody());
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new HttpRefusal(422, malformedJson(Number(/position (\d+)/.exec((error as Error).message)?.[1] ?? 0)));
  }
  if (isTooDeep(body)) throw new HttpRefusal(422, tooDeep());
  return checked(schema, body, 'body');
}

/** The body; 413 when it is longer than a message or an upload may be. */
export async function readBytesOf(context: Context): Promise<Buffer> {
  const max = context.req.method === 'GET' ? LARGEST_BODY_OF_GET : LARGEST_BODY;
  const body = await readBytes(context, max);
  if (body === null) throw new HttpRefusal(413, `Request body is larger than ${String(max)} bytes`);
  return body;
}

/** The file or folder in the last part of a path, as up to agent server 1.19: what follows the route, decoded. */
export function pathAtEnd(context: Context): string {
  return context.req.param('path') ?? '';
}

/** The checked query, the last of each name; 422 with the list of what is wrong. */
export function readQuery<Schema extends v.GenericSchema>(context: Context, schema: Schema): v.InferOutput<Schema> {
  return checked(schema, context.req.query(), 'query');
}

export function checked<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  part: 'body' | 'query' | 'path',
): v.InferOutput<Schema> {
  const result = check(schema, value, part);
  if (!result.ok) throw new HttpRefusal(422, result.detail);
  return result.value;
}

/** The conversation that a path names; 422 for a malformed id, 404 for an unknown one. */
export function conversationOf(context: Context, conversations: Conversations, named = false): ConversationEntry {
  const given = context.req.param('id') ?? '';
  const { conversation_id } = checked(record({ conversation_id: uuid() }), { conversation_id: given }, 'path');
  const entry = conversations.get(conversation_id);
  if (entry === null) throw new HttpRefusal(404, named ? `Conversation not found: ${given}` : 'Not Found');
  return entry;
}

/**
 * Whether a request may come from this machine's own programs: `Host` and, when a browser sends it, `Origin` name
 * loopback. Keeps pages of the internet out that point a name at 127.0.0.1.
 */
export function isLocalRequest(host: string | undefined, origin: string | undefined): boolean {
  return isLoopback(`http://${host ?? ''}`) && (origin === undefined || isLoopback(origin));
}

function isLoopback(url: string): boolean {
  try {
    const { hostname } = new URL(url);
    return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
  } catch {
    return false;
  }
}
