/** The user's secrets at both dialects (interface 2.4, 2.8). Servers tell names and descriptions, never values. */
import { AppError, isAppError } from '../errors.ts';
import type { Dialect } from '../domain/conversation.ts';
import type { Secret } from '../domain/secret.ts';
import { asList, asRecord, optionalText, readPage, requiredText } from '../protocol/shape.ts';
import { isMissingRoute } from './features.ts';
import { read, type Links } from './links.ts';
import { allPages, type Page } from '../domain/pages.ts';
import type { ProbeFacts } from './probe.ts';
import { notRemoved, removeOrRead } from './removal.ts';
import type { NewSecret, Server } from './server.ts';
import { DryRunStop, plannedRequests } from './transport/dry-run.ts';
import { foundNothing, serverText } from './transport/answer.ts';

const ROUTES: Record<Dialect, string> = { v0: '/api/secrets', v1: '/api/v1/secrets' };
const PAGE_SIZE = 100;

const nameOf = ({ name }: Secret): string => name;

export function createSecrets(links: Links, facts: ProbeFacts, dialect: Dialect): Server['secrets'] {
  const list = (page: string | null, size?: number): Promise<Page<Secret>> => listSecrets(links, dialect, page, size);
  const refuseMissing = (): void => {
    if (facts.features.secrets === 'absent') throw lacksSecrets();
  };
  return {
    async list(page, pageSize) {
      refuseMissing();
      return await list(page, pageSize);
    },
    async set(secret) {
      refuseMissing();
      return await storeSecret(links, dialect, secret);
    },
    async remove(name) {
      refuseMissing();
      if ((await findSecret(links, dialect, name)) === null) throw noSecret(name);
      await removeOrRead(links, `secret ${name}`, {
        remove: async () => {
          if ((await removeSecret(links, dialect, name)) === 'not-there') throw noSecret(name);
        },
        isThere: async () => (await findSecret(links, dialect, name)) !== null,
      });
      if (await staysListed(links, dialect, name)) throw notRemoved(`secret ${name}`);
    },
  };
}

/** The deletion was accepted: a list that cannot be read does not make that a failure. */
async function staysListed(links: Links, dialect: Dialect, name: string): Promise<boolean> {
  try {
    return (await findSecret(links, dialect, name)) !== null;
  } catch (error) {
    if (!isAppError(error)) throw error;
    return false;
  }
}

/**
 * Stores a value under a name, with the description that is stored unless another is given.
 *
 * The POST of V1 replaces the value of an existing name (1.11.0). That of V0 refuses an existing name, and no other
 * call changes a value, so the secret is deleted and created; the notice before it names what a failure in between
 * costs.
 */
export async function storeSecret(
  links: Links,
  dialect: Dialect,
  { name, value, description }: NewSecret,
): Promise<Secret & { before: 'absent' | 'present' }> {
  links.network.redaction.add(value);
  const before = await findSecret(links, dialect, name);
  const kept = description ?? before?.description ?? null;
  const body = { name, value, ...(kept === null ? {} : { description: kept }) };
  const stored = { name, description: kept, before: before === null ? 'absent' : 'present' } as const;
  if (before === null) await createOrFind(links, dialect, body);
  else if (dialect === 'v0') await recreate(links, dialect, body);
  else if ((await create(links, dialect, body, 'replaces')) === 'exists') await recreate(links, dialect, body);
  return stored;
}

interface SecretBody {
  name: string;
  value: string;
  description?: string;
}

async function recreate(links: Links, dialect: Dialect, body: SecretBody): Promise<void> {
  const { name } = body;
  if (links.mode === 'dry-run') {
    throw new DryRunStop([
      ...(await plannedRequests(() => removeSecret(links, dialect, name))),
      ...(await plannedRequests(() => create(links, dialect, body))),
    ]);
  }
  links.notice(
    `${name} exists, and this server replaces no value: it is deleted and created again; if that fails in between, the old value is lost`,
  );
  const old = await removeOld(links, dialect, name);
  try {
    await createOrFind(links, dialect, body, old);
  } catch (error) {
    if (!isAppError(error)) throw error;
    // What is listed after a lost answer may be the new value.
    const state = old === 'kept' && !isRefused(error) ? 'unknown' : old;
    throw withOldValue(
      error,
      name,
      state,
      state === 'kept' ? 'the new one is not stored' : 'the new one may not be stored',
    );
  }
}

/** The value that a secret had before; `kept`: the server accepted the deletion and still lists the secret. */
type OldValue = 'deleted' | 'kept' | 'unknown';

/** Deletes the secret and reads what became of it. Throws an error that says so when the old value may be gone. */
async function removeOld(links: Links, dialect: Dialect, name: string): Promise<OldValue> {
  const read: { shows: OldValue } = { shows: 'unknown' };
  const isThere = async (): Promise<boolean> => {
    read.shows = (await findSecret(links, dialect, name)) === null ? 'deleted' : 'kept';
    return read.shows === 'kept';
  };
  const remove = async (): Promise<void> => void (await removeSecret(links, dialect, name));
  try {
    await removeOrRead(links, `secret ${name}`, { remove, isThere });
    if (read.shows === 'unknown') await isThere().catch(unlessInterrupted);
  } catch (error) {
    if (!isAppError(error) || read.shows === 'kept' || isRefused(error)) throw error;
    throw withOldValue(error, name, 'unknown', 'the new one is not stored');
  }
  return read.shows;
}

/** The deletion was accepted: a list that cannot be read does not make that a failure. */
function unlessInterrupted(error: unknown): void {
  if (!isAppError(error) || error.kind === 'interrupted') throw error;
}

function isRefused({ details: { status } }: AppError): boolean {
  return status !== undefined && status >= 400 && status < 500;
}

const STATES: Record<OldValue, string> = {
  deleted: 'is gone',
  kept: 'is unchanged (the server accepted its deletion and still lists it)',
  unknown: 'may be gone',
};

/** @param rest what became of the new value */
function withOldValue(error: AppError, name: string, old: OldValue, rest: string): AppError {
  const again = `store it again: acs secret set ${name}`;
  const hints: Record<OldValue, string> = {
    deleted: again,
    kept: 'this server does not replace the value: use another name',
    unknown: `see whether it is there: acs secret list   ${again}`,
  };
  return new AppError(error.kind, `the old value of ${name} ${STATES[old]}, and ${rest}: ${error.message}`, {
    ...error.details,
    exitCode: error.exitCode,
    hint: hints[old],
    data: { ...error.details.data, name, old_value: old },
  });
}

/**
 * After a lost answer the list says whether it was created: no other request of this command did.
 * @param old not `deleted`: what is listed may be the secret of before
 */
async function createOrFind(
  links: Links,
  dialect: Dialect,
  body: SecretBody,
  old: OldValue = 'deleted',
): Promise<void> {
  try {
    await create(links, dialect, body);
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'unknown-outcome' || old !== 'deleted') throw error;
    const found = await findSecret(links, dialect, body.name).catch((failure: unknown) => {
      throw isAppError(failure) && failure.kind !== 'interrupted' ? error : failure;
    });
    if (found === null) throw error;
  }
}

async function findSecret(links: Links, dialect: Dialect, name: string): Promise<Secret | null> {
  const secrets = allPages(nameOf, (page) => listSecrets(links, dialect, page));
  for await (const secret of secrets) if (secret.name === name) return secret;
  return null;
}

async function removeSecret(links: Links, dialect: Dialect, name: string): Promise<'removed' | 'not-there'> {
  const path = `${ROUTES[dialect]}/${encodeURIComponent(name)}`;
  const answer = await links.app.request({ method: 'DELETE', path, safe: 'idempotent', accept: [404] });
  return foundNothing(answer) ? 'not-there' : 'removed';
}

function listSecrets(links: Links, dialect: Dialect, page: string | null, pageSize?: number): Promise<Page<Secret>> {
  return dialect === 'v0' ? listV0(links) : searchV1(links, page, pageSize);
}

/** Everything in one page. */
async function listV0(links: Links): Promise<Page<Secret>> {
  const answer = await links.app.request({ method: 'GET', path: ROUTES.v0, safe: 'read', accept: [404] });
  if (isMissingRoute(answer)) throw lacksSecrets();
  // Nothing stored yet may be a 404.
  if (answer.status === 404) return { items: [], next: null };
  const items = read(answer, (body) =>
    asList(asRecord(body, 'secrets')['custom_secrets'] ?? [], 'secrets').map(readSecret),
  );
  return { items, next: null };
}

async function searchV1(links: Links, page: string | null, pageSize = PAGE_SIZE): Promise<Page<Secret>> {
  const query = { limit: Math.min(pageSize, PAGE_SIZE), page_id: page };
  const answer = await links.app.request({
    method: 'GET',
    path: `${ROUTES.v1}/search`,
    query,
    safe: 'read',
    accept: [404],
  });
  if (answer.status === 404) throw lacksSecrets();
  return read(answer, (body) => readPage(body, 'secrets', readSecret));
}

function lacksSecrets(): AppError {
  return new AppError('unsupported', 'this server keeps no secrets; V0 and V1 servers of 2025 and later do');
}

function readSecret(value: unknown): Secret {
  const record = asRecord(value, 'secret');
  return {
    name: requiredText(record, 'name', 'secret'),
    description: optionalText(record, 'description', 'secret') || null,
  };
}

/**
 * A request that creates a secret is sent once; one that replaces it may be repeated.
 * @returns `exists` when the server refuses to replace it
 */
async function create(
  links: Links,
  dialect: Dialect,
  body: SecretBody,
  effect: 'creates' | 'replaces' = 'creates',
): Promise<'stored' | 'exists'> {
  const safe = effect === 'creates' ? 'once' : 'idempotent';
  const call = {
    method: 'POST',
    path: ROUTES[dialect],
    body,
    hidden: ['value'],
    safe,
    accept: [400, 409, 422],
  } as const;
  const answer = await links.app.request(call);
  if (answer.status < 400) return 'stored';
  const text = serverText(answer.body) ?? `status ${answer.status}`;
  const isTaken = answer.status === 409 || /already exists/i.test(text);
  if (isTaken && effect === 'replaces') return 'exists';
  throw new AppError(isTaken ? 'conflict' : 'usage', `the server refuses this secret: ${text}`, {
    status: answer.status,
    request: answer.request,
    ...(isTaken ? { hint: 'another client has just created it; run the same command again' } : {}),
  });
}

function noSecret(name: string): AppError {
  return new AppError('not-found', `there is no secret ${name.slice(0, 100)} at this server`, {
    hint: 'list them with: acs secret list',
  });
}
