/** The models that a server lists (interface 2.3, 14.3). */
import { AppError } from '../base/errors.ts';
import type { Page } from '../domain/pages.ts';
import type { Model } from '../domain/settings.ts';
import {
  asList,
  asRecord,
  optionalText,
  readPage,
  requiredText,
  textList,
} from '../protocol/shape.ts';
import type { Query } from './http/address.ts';
import { read, type Links } from './shared/links.ts';
import type { Server } from './shared/server.ts';

export function createModels(links: Links, profiles: Server['modelProfiles']): Server['models'] {
  const { dialects } = links.facts;
  /** Null where the server lacks the route. */
  const get = async <T>(path: string, reader: (body: unknown) => T, query: Query = {}) => {
    const call = { path, query, accept: [404, 405], mayBeMissing: true };
    const answer = await links.app.request(call);
    return answer.status === 200 ? read(answer, reader) : null;
  };
  const fromBackend = async (): Promise<Model[] | null> => {
    const [stored, verified, all] = await Promise.all([
      profiles.list(),
      get('/api/llm/models/verified', readVerified),
      get('/api/llm/models', (body) => textList(asRecord(body, 'answer'), 'models', 'answer')),
    ]);
    if (all === null) return null;
    return [
      ...stored.map(({ name }) => listedModel(name, 'profile')),
      ...(verified ?? []).map((id) => listedModel(id, 'verified')),
      ...all.map((id) => listedModel(id)),
    ];
  };
  /** The verified ones come first: the others are two thousand, beginning with image models. */
  const pageOfV1 = async (page: string | null, pageSize: number): Promise<Page<Model> | null> => {
    const [verified, at] = JSON.parse(page ?? '[true, null]') as [boolean, string | null];
    const query = { verified__eq: verified, page_id: at, limit: pageSize };
    const readModels = (body: unknown) => readPage(body, 'models', readModelV1);
    const found = await get('/api/v1/config/models/search', readModels, query);
    if (found === null) return null;
    const following = found.next === null ? [false, null] : [verified, found.next];
    const isLast = found.next === null && !verified;
    return { items: found.items.flat(), next: isLast ? null : JSON.stringify(following) };
  };
  const fromV0 = async (): Promise<Model[] | null> =>
    await get('/api/options/models', (models) =>
      textList({ models }, 'models', 'answer').map((id) => listedModel(id)),
    );
  return {
    async list(page, pageSize = 100) {
      const paged = dialects.includes('v1') ? await pageOfV1(page, pageSize) : null;
      if (paged !== null) return paged;
      const items = dialects.includes('agent') ? await fromBackend() : await fromV0();
      if (items !== null) return { items, next: null };
      throw new AppError('unsupported', 'this server has no route that lists models');
    },
  };
}

export function listedModel(id: string, kind: Model['kind'] = 'model'): Model {
  return { id, kind, context: null, input_price: null, output_price: null };
}

/** Empty for a hidden one: the server takes it and does not offer it. */
function readModelV1(value: unknown, subject: string): Model[] {
  const record = asRecord(value, subject);
  const provider = optionalText(record, 'provider', subject);
  const name = requiredText(record, 'name', subject);
  if (record['hidden'] === true) return [];
  const kind = record['verified'] === true ? 'verified' : 'model';
  return [listedModel(provider === null ? name : `${provider}/${name}`, kind)];
}

/** `{models: {<provider>: [<name>]}}` */
function readVerified(body: unknown): string[] {
  const byProvider = asRecord(asRecord(body, 'answer')['models'], 'answer.models');
  return Object.entries(byProvider).flatMap(([provider, names]) =>
    asList(names, `answer.models.${provider}`).map((name) => `${provider}/${String(name)}`),
  );
}
