import { AppError, isAppError } from '../cli/errors.ts';
import type { Dialect } from '../domain/conversation.ts';
import { allPages, type Page } from '../domain/pages.ts';
import type { Secret } from '../domain/settings.ts';
import { asList, asRecord, optionalText, readPage, requiredText } from '../protocol/shape.ts';
import { isMissingRoute, type ProbeFacts } from './features.ts';
import { reasonOf } from './http/answer.ts';
import { read, type Links } from './links.ts';
import { recreateSecret } from './quirks/unreplaced-secret.ts';
import type { Server } from './server.ts';

export function createSecrets(links: Links, facts: ProbeFacts, dialect: Dialect): Server['secrets'] {
  const isV0 = dialect === 'v0';
  const route = isV0 ? '/api/secrets' : '/api/v1/secrets';
  const lacksSecrets = () => new AppError('unsupported', 'this server has no routes for secrets');
  const readSecret = (value: unknown): Secret => {
    const record = asRecord(value, 'secret');
    return {
      name: requiredText(record, 'name', 'secret'),
      description: optionalText(record, 'description', 'secret') || null,
    };
  };
  const list = async (page: string | null, pageSize = 100): Promise<Page<Secret>> => {
    if (facts.features.secrets === 'absent') throw lacksSecrets();
    const answer = await links.app.request({
      method: 'GET',
      ...(isV0
        ? { path: route }
        : { path: `${route}/search`, query: { limit: Math.min(pageSize, 100), page_id: page } }),
      safe: 'read',
      accept: [404],
    });
    // On V0 nothing stored yet may be a 404.
    if (answer.status === 404 && isV0 && !isMissingRoute(answer)) return { items: [], next: null };
    if (answer.status === 404) throw lacksSecrets();
    return read(answer, (body) => {
      if (!isV0) return readPage(body, 'secrets', readSecret);
      const items = asList(asRecord(body, 'secrets')['custom_secrets'] ?? [], 'secrets').map(readSecret);
      return { items, next: null };
    });
  };
  const find = async (name: string): Promise<Secret | null> => {
    const secrets = allPages<Secret>(({ name: known }) => known, list);
    for await (const secret of secrets) if (secret.name === name) return secret;
    return null;
  };
  const remove = async (name: string): Promise<void> => {
    const path = `${route}/${encodeURIComponent(name)}`;
    await links.app.request({ method: 'DELETE', path, safe: 'idempotent', accept: [404] });
  };
  const post = async (body: Record<string, string>, safe: 'once' | 'idempotent'): Promise<void> => {
    const call = { method: 'POST', path: route, body, hidden: ['value'], safe, accept: [400, 422] } as const;
    const answer = await links.app.request(call);
    const { status, request } = answer;
    if (status < 400) return;
    throw new AppError('usage', `the server refuses this secret: ${reasonOf(answer)}`, { status, request });
  };

  return {
    list,
    async set({ name, value, description }) {
      links.network.redaction.add(value);
      const before = await find(name);
      const kept = description ?? before?.description ?? null;
      const body = { name, value, ...(kept === null ? {} : { description: kept }) };
      if (before === null) {
        await post(body, 'once').catch(async (error: unknown) => {
          // After a lost answer the list shows whether the secret was created.
          if (!isAppError(error) || error.kind !== 'unknown-outcome' || (await find(name).catch(() => null)) === null)
            throw error;
        });
      }
      // The POST of V1 replaces the value of an existing name.
      else if (!isV0) await post(body, 'idempotent');
      else await recreateSecret(links, name, { remove: () => remove(name), create: () => post(body, 'once') });
      return { name, description: kept, before: before === null ? 'absent' : 'present' };
    },
    remove,
  };
}
