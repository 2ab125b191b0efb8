/** The user's secrets at both dialects (interface 2.4, 2.8). Servers tell names and descriptions, never values. */
import { AppError, isAppError } from '../errors.ts';
import type { Dialect } from '../domain/conversation.ts';
import type { Secret } from '../domain/secret.ts';
import { asList, asRecord, optionalText, readPage, requiredText } from '../protocol/shape.ts';
import { read, type Links } from './links.ts';
import { allPages } from './pages.ts';
import type { ProbeFacts } from './probe.ts';
import type { Page, Server } from './server.ts';
import { DryRunStop, plannedRequests } from './transport/dry-run.ts';
import { serverText, type Answer } from './transport/answer.ts';

const ROUTES: Record<Dialect, string> = { v0: '/api/secrets', v1: '/api/v1/secrets' };
const PAGE_SIZE = 100;

const nameOf = ({ name }: Secret): string => name;

export function createSecrets(links: Links, facts: ProbeFacts, dialect: Dialect): Server['secrets'] {
  const route = ROUTES[dialect];
  const pathOf = (name: string): string => `${route}/${encodeURIComponent(name)}`;
  const list =
    dialect === 'v0' ? () => listV0(links) : (page: string | null, size?: number) => searchV1(links, page, size);
  const refuseMissing = (): void => {
    if (facts.features.includes('secrets')) return;
    throw new AppError('unsupported', 'this server keeps no secrets; V0 and V1 servers of 2025 and later do');
  };
  const find = async (name: string): Promise<Secret | null> => {
    const secrets = allPages<Secret>(nameOf, (page) => list(page));
    for await (const secret of secrets) if (secret.name === name) return secret;
    return null;
  };
  const remove = async (name: string): Promise<'removed' | 'not-there'> => {
    const answer = await links.app.request({ method: 'DELETE', path: pathOf(name), safe: 'idempotent', accept: [404] });
    return answer.status === 404 ? 'not-there' : 'removed';
  };
  return {
    async list(page, pageSize) {
      refuseMissing();
      return await list(page, pageSize);
    },
    async set({ name, value, description }) {
      refuseMissing();
      links.network.redaction.add(value);
      const before = await find(name);
      const kept = description ?? before?.description ?? null;
      const body = { name, value, ...(kept === null ? {} : { description: kept }) };
      // V0 refuses a name that exists, V1 keeps its old description, and no update changes a value.
      const store = (): Promise<void> => create(links, route, body, before === null ? 'new' : 'replaced');
      if (before !== null && links.mode === 'dry-run') {
        throw new DryRunStop([...(await plannedRequests(() => remove(name))), ...(await plannedRequests(store))]);
      }
      if (before !== null) await remove(name);
      await store();
      return { name, description: kept, before: before === null ? 'absent' : 'present' };
    },
    async remove(name) {
      refuseMissing();
      if (links.mode === 'dry-run' && (await find(name)) === null) throw noSecret(name);
      if ((await remove(name)) === 'not-there') throw noSecret(name);
    },
  };
}

/** Everything in one page. */
async function listV0(links: Links): Promise<Page<Secret>> {
  const answer = await links.app.request({ method: 'GET', path: ROUTES.v0, safe: 'read', accept: [404] });
  // Nothing stored yet may be a 404.
  if (answer.status === 404) return { items: [], next: null };
  const items = read(answer, (body) =>
    asList(asRecord(body, 'secrets')['custom_secrets'] ?? [], 'secrets').map(readSecret),
  );
  return { items, next: null };
}

async function searchV1(links: Links, page: string | null, pageSize = PAGE_SIZE): Promise<Page<Secret>> {
  const query = { limit: Math.min(pageSize, PAGE_SIZE), page_id: page };
  const answer = await links.app.request({ method: 'GET', path: `${ROUTES.v1}/search`, query, safe: 'read' });
  return read(answer, (body) => readPage(body, 'secrets', readSecret));
}

function readSecret(value: unknown): Secret {
  const record = asRecord(value, 'secret');
  return {
    name: requiredText(record, 'name', 'secret'),
    description: optionalText(record, 'description', 'secret') || null,
  };
}

/** Sent once: after a lost answer the whole `set` may be repeated, which finds what is there. */
async function create(links: Links, route: string, body: { name: string }, what: 'new' | 'replaced'): Promise<void> {
  try {
    const call = { method: 'POST', path: route, body, hidden: ['value'], safe: 'once', accept: [400, 422] } as const;
    const answer = await links.app.request(call);
    if (answer.status >= 400) throw refused(answer);
  } catch (error) {
    if (!isAppError(error)) throw error;
    const gone = what === 'replaced' ? `; its old value is gone, so ${body.name} may not exist now` : '';
    throw new AppError(error.kind, `the secret was not stored for certain: ${error.message}${gone}`, {
      ...error.details,
      hint: 'run the same command again',
    });
  }
}

function refused(answer: Answer): AppError {
  const text = serverText(answer.body) ?? `status ${answer.status}`;
  const kind = /already exists/i.test(text) ? 'conflict' : 'usage';
  return new AppError(kind, `the server refuses this secret: ${text}`, { status: answer.status });
}

function noSecret(name: string): AppError {
  return new AppError('not-found', `there is no secret ${name.slice(0, 100)} at this server`, {
    hint: 'list them with: acs secret list',
  });
}
