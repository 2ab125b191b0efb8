import { AppError, isOfKind } from '../../base/errors.ts';
import { allPages } from '../../domain/pages.ts';
import type { Secret } from '../../domain/settings.ts';
import { asList, asRecord, optionalText, readPage, requiredText } from '../../protocol/shape.ts';
import { refuseIfThere } from './change-routes.ts';
import { errorBy, isMissingRoute, reasonOf, type Answer } from '../http/answer.ts';
import { read, type Links } from './links.ts';
import { recreateSecret, refusesName } from './quirks/unreplaced-secret.ts';
import type { Server } from './server.ts';

const SHARED = 'organization';

const lacksSecrets = () => new AppError('unsupported', 'this server has no routes for secrets');

export function readSecret(value: unknown): Secret {
  const record = asRecord(value, 'secret');
  return {
    name: requiredText(record, 'name', 'secret'),
    description: optionalText(record, 'description', 'secret') || null,
    scope: optionalText(record, 'scope', 'secret'),
  };
}

export function createSecrets(links: Links): Server['secrets'] {
  const { dialects, features } = links.facts;
  // Releases that serve V0 too have no other routes for secrets.
  const hasV1 = dialects.includes('v1') && features['v1-secrets'] === 'present';
  const isV0 = dialects.includes('v0') && !hasV1;
  const route = isV0 ? '/api/secrets' : '/api/v1/secrets';
  const list: Server['secrets']['list'] = async (page, pageSize = 100) => {
    if (features.secrets === 'absent') throw lacksSecrets();
    const path = isV0 ? route : `${route}/search`;
    const query = isV0 ? {} : { limit: Math.min(pageSize, 100), page_id: page };
    const answer = await links.app.request({ path, query, accept: [404] });
    // On V0 nothing stored yet may be a 404.
    if (answer.status === 404 && isV0 && !isMissingRoute(answer)) return { items: [], next: null };
    if (answer.status === 404) throw lacksSecrets();
    return read(answer, (body) => {
      if (!isV0) return readPage(body, 'secrets', readSecret);
      const secrets = asList(asRecord(body, 'secrets')['custom_secrets'] ?? [], 'secrets');
      return { items: secrets.map(readSecret), next: null };
    });
  };
  const find = async (name: string) => {
    const of: { own: Secret | null; shared: Secret | null } = { own: null, shared: null };
    for await (const secret of allPages<Secret>((each) => `${each.name} ${each.scope}`, list))
      if (secret.name === name) of[secret.scope === SHARED ? 'shared' : 'own'] = secret;
    return of;
  };
  const remove = async (name: string) => {
    const path = `${route}/${encodeURIComponent(name)}`;
    const answer = await links.app.request({ method: 'DELETE', path, accept: [404] });
    await refuseIfThere(answer, `secret ${name}`, async () => {
      const { own, shared } = await find(name);
      return own ? 'the server still lists it' : shared && 'it belongs to the organization';
    });
  };
  const post = (body: object, safe: 'once' | 'idempotent') =>
    links.app.request({
      method: 'POST',
      path: route,
      body,
      safe,
      hidden: ['value'],
      accept: [400, 422],
    });
  const create = async (body: object) => checkStored(await post(body, 'once'));
  const replace = async (name: string, body: object) => {
    const answer = isV0 ? null : await post(body, 'idempotent');
    if (answer !== null && !refusesName(answer, name)) return checkStored(answer);
    const steps = { remove: () => remove(name), create: () => create(body) };
    await recreateSecret(links, name, steps);
  };
  return {
    list,
    async set({ name, value, description: newDescription }) {
      links.network.redaction.add(value);
      const { own, shared } = await find(name);
      const description = newDescription ?? own?.description ?? null;
      const body = { name, value, ...(description !== null && { description }) };
      if (own !== null) {
        await replace(name, body);
        return { name, description, scope: own.scope, before: 'present' };
      }
      if (shared)
        links.notice(
          `${name} is a secret of the organization and stays; a personal one is stored beside it`,
        );
      await create(body).catch(async (error: unknown) => {
        if (!isOfKind('unknown-outcome')(error)) throw error;
        if ((await find(name).catch(() => null))?.own == null) throw error;
      });
      return { name, description, scope: shared ? 'personal' : null, before: 'absent' };
    },
    remove,
  };
}

/** Throws `usage` for a secret that the server refuses. */
export function checkStored(answer: Answer): void {
  if (answer.status >= 400)
    throw errorBy(answer, 'usage', `the server refuses this secret: ${reasonOf(answer)}`);
}
