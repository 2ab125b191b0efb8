import { AppError } from '../../base/errors.ts';
import type { Page } from '../../domain/pages.ts';
import { readBatch, readPage } from '../../protocol/shape.ts';
import {
  readAppConversation,
  readSandbox,
  readSpec,
  readStartTask,
  type AppConversationRecord,
  type SandboxRecord,
} from '../../protocol/v1/records.ts';
import type { Query } from '../http/address.ts';
import type { CallOptions } from '../http/call.ts';
import { errorBy, type Answer } from '../http/answer.ts';
import { noConversation, normalId, normalizeId } from '../../domain/ids.ts';
import { read, type Links } from '../shared/links.ts';
import type { IdOrRecord, ListQuery } from '../shared/server.ts';
import type { ReadConversation } from './records.ts';
import { cut } from '../../base/text/well-formed.ts';

const MOST_ITEMS = 100;

/** `GET <path>/search` has pages; `GET <path>?<key>=` is a list with the record or null. */
function noun<T>(
  name: string,
  path: string,
  key: 'id' | 'ids',
  record: (value: unknown, subject?: string) => T,
) {
  return { name, path: `/api/v1/${path}`, key, record };
}

type Noun<T> = ReturnType<typeof noun<T>>;

export const CONVERSATIONS = noun('conversations', 'app-conversations', 'ids', readAppConversation);
export const START_TASKS = noun(
  'start tasks',
  'app-conversations/start-tasks',
  'ids',
  readStartTask,
);
export const SANDBOXES = noun('sandboxes', 'sandboxes', 'id', readSandbox);
export const SPECS = noun('sandbox specs', 'sandbox-specs', 'id', readSpec);

export async function search<T>(
  links: Links,
  of: Noun<T>,
  { limit = MOST_ITEMS, ...query }: Query & { limit?: number; page_id: string | null },
): Promise<Page<T>> {
  const call = callOf(of, '/search', { ...query, limit: Math.min(limit, MOST_ITEMS) });
  return readFound(links, of, await links.app.request(call), readPage);
}

/** Null for an unknown id. Servers refuse `ids` that are no UUIDs: they are not sent. */
export async function find<T>(links: Links, of: Noun<T>, id: string): Promise<T | null> {
  if (of.key === 'ids' && normalizeId(id) === null) return null;
  const call = callOf(of, '', { [of.key]: [of.key === 'ids' ? normalId(id) : id] });
  return readFound(links, of, await links.app.request(call), readBatch)[0] ?? null;
}

function callOf({ path, key }: Noun<unknown>, under: string, query: Query): CallOptions {
  return { path: path + under, query, accept: key === 'id' ? [404] : [] };
}

function readFound<T, Found>(
  links: Links,
  { name, record }: Noun<T>,
  answer: Answer,
  reader: (body: unknown, name: string, item: Noun<T>['record']) => Found,
): Found {
  if (answer.status === 404)
    throw errorBy(answer, 'unsupported', `this server has no route to read ${name}`);
  return read(answer, (body) => reader(body, name, keyed(links, record)));
}

export function keyed<T>(links: Links, reader: Noun<T>['record']): Noun<T>['record'] {
  return (value, subject) => {
    const record = reader(value, subject);
    links.network.redaction.add((record as { session_api_key?: string | null }).session_api_key);
    return record;
  };
}

export async function searchConversations(
  links: Links,
  { pageSize, sandboxId }: ListQuery,
  page: string | null,
): Promise<Page<AppConversationRecord>> {
  const query = { limit: pageSize, page_id: page, sandbox_id__eq: sandboxId };
  const { items, next } = await search(links, CONVERSATIONS, query);
  if (sandboxId === undefined) return { items, next };
  const { ofSandbox } = await import('./quirks/ignored-sandbox-filter.ts');
  return { items: ofSandbox(items, sandboxId), next };
}

export async function getConversation(links: Links, id: string): Promise<AppConversationRecord> {
  const record = await find(links, CONVERSATIONS, id);
  if (record === null) throw noConversation(id);
  return record;
}

/** The record that the conversation was made of, else a new one. Throws `not-found`. */
export async function conversationRecord(
  links: Links,
  of: IdOrRecord,
): Promise<AppConversationRecord> {
  if (typeof of === 'string') return await getConversation(links, of);
  return (of as ReadConversation).record ?? (await getConversation(links, of.id));
}

export async function isThereV1(links: Links, id: string): Promise<boolean> {
  return (await find(links, CONVERSATIONS, id)) !== null;
}

export async function getSandbox(links: Links, id: string): Promise<SandboxRecord> {
  const record = await find(links, SANDBOXES, id);
  if (record === null) throw noSandbox(id);
  return record;
}

export function noSandbox(id: string): AppError {
  return new AppError('not-found', `there is no sandbox ${cut(id, 100)} at this server`, {
    hint: 'list them with: acs sandbox list',
  });
}
