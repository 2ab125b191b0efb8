import { AppError, isAppError } from '../../base/errors.ts';
import type { Dialect } from '../../domain/conversation.ts';
import { allPages, type Page } from '../../domain/pages.ts';
import type { Secret } from '../../domain/settings.ts';
import { asList, asRecord, optionalText, readPage, requiredText } from '../../protocol/shape.ts';
import { refuseIfThere } from './change-routes.ts';
import type { ProbeFacts } from './features.ts';
import { type Answer, isMissingRoute, reasonOf } from '../http/answer.ts';
import { read, type Links } from './links.ts';
import { recreateSecret, refusesName } from './quirks/unreplaced-secret.ts';
import type { Server } from './server.ts';

/** The scope of a secret that these routes list and do not change. */
const SHARED = 'organization';

const POST = { method: 'POST', hidden: ['value'], accept: [400, 422] } as const;

const lacksSecrets = () => new AppError('unsupported', 'this server has no routes for secrets');

function readSecret(value: unknown): Secret {
  const record = asRecord(value, 'secret');
  return {
    name: requiredText(record, 'name', 'secret'),
    description: optionalText(record, 'description', 'secret') || null,
    scope: optionalText(record, 'scope', 'secret'),
  };
}

function checkStored(answer: Answer): void {
  const { status, request } = answer;
  if (status < 400) return;
  throw new AppError('usage', `the server refuses this secret: ${reasonOf(answer)}`, {
    status,
    request,
  });
}

export function createSecrets(
  links: Links,
  facts: ProbeFacts,
  dialect: Dialect,
): Server['secrets'] {
  const isV0 = dialect === 'v0';
  const route = isV0 ? '/api/secrets' : '/api/v1/secrets';
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
      const items = asList(asRecord(body, 'secrets')['custom_secrets'] ?? [], 'secrets').map(
        readSecret,
      );
      return { items, next: null };
    });
  };
  const find = async (name: string) => {
    const of: { own: Secret | null; shared: Secret | null } = { own: null, shared: null };
    for await (const secret of allPages<Secret>((each) => `${each.name} ${each.scope}`, list))
      if (secret.name === name) of[secret.scope === SHARED ? 'shared' : 'own'] = secret;
    return of;
  };
  const remove = async (name: string): Promise<void> => {
    const path = `${route}/${encodeURIComponent(name)}`;
    const answer = await links.app.request({
      method: 'DELETE',
      path,
      safe: 'idempotent',
      accept: [404],
    });
    await refuseIfThere(answer, `secret ${name}`, async () => {
      const { own, shared } = await find(name);
      return own ? 'the server still lists it' : shared && 'it belongs to the organization';
    });
  };
  const post = (body: Record<string, string>, safe: 'once' | 'idempotent'): Promise<Answer> =>
    links.app.request({ ...POST, path: route, body, safe });

  return {
    list,
    async set({ name, value, description }) {
      links.network.redaction.add(value);
      const { own, shared } = await find(name);
      const kept = description ?? own?.description ?? null;
      const body = { name, value, ...(kept === null ? {} : { description: kept }) };
      const create = async (): Promise<void> => checkStored(await post(body, 'once'));
      if (own === null) {
        if (shared)
          links.notice(
            `${name} is a secret of the organization and stays; a personal one is stored beside it`,
          );
        await create().catch(async (error: unknown) => {
          // After a lost answer the list shows whether the secret was created.
          if (!isAppError(error) || error.kind !== 'unknown-outcome') throw error;
          if ((await find(name).catch(() => null))?.own == null) throw error;
        });
      } else {
        const answer = isV0 ? null : await post(body, 'idempotent');
        if (answer === null || refusesName(answer, name))
          await recreateSecret(links, name, { remove: () => remove(name), create });
        else checkStored(answer);
      }
      const scope = own === null && shared ? 'personal' : (own?.scope ?? null);
      return { name, description: kept, scope, before: own === null ? 'absent' : 'present' };
    },
    remove,
  };
}
