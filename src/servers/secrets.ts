/** The user's secrets at both dialects (interface 2.4, 2.8). Servers return names and descriptions, never values. */
import { AppError, isAppError } from '../errors.ts';
import type { Dialect } from '../domain/conversation.ts';
import type { Secret } from '../domain/secret.ts';
import { asList, asRecord, optionalText, readPage, requiredText } from '../protocol/shape.ts';
import { isMissingRoute } from './features.ts';
import { read, type Links } from './links.ts';
import { allPages, type Page } from '../domain/pages.ts';
import type { ProbeFacts } from './probe.ts';
import { recreateSecret, type OldValue, type Replacement } from './quirks/unreplaced-secret.ts';
import { notRemoved, removeOrRead } from './removal.ts';
import type { NewSecret, Server } from './server.ts';
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
 * The POST of V1 replaces the value of an existing name (1.11.0); that of V0 refuses it (unreplaced-secret.ts).
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
  const replacement: Replacement = {
    remove: async () => void (await removeSecret(links, dialect, name)),
    isThere: async () => (await findSecret(links, dialect, name)) !== null,
    create: (old) => createOrFind(links, dialect, body, old),
  };
  if (before === null) await createOrFind(links, dialect, body);
  else if (dialect === 'v0' || (await create(links, dialect, body, 'replaces')) === 'exists')
    await recreateSecret(links, name, replacement);
  return stored;
}

interface SecretBody {
  name: string;
  value: string;
  description?: string;
}

/**
 * After a lost answer the list shows whether it was created: no other request of this command did.
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
