/** Sandbox specifications (interface 6): the first of the list is what a server takes when none is named. */
import type { Page } from '../../domain/pages.ts';
import { AppError } from '../../errors.ts';
import { readSpec, type SpecRecord } from '../../protocol/v1/records.ts';
import { readBatch, readPage } from '../../protocol/shape.ts';
import { read, type Links } from '../links.ts';
import type { Server } from '../server.ts';
import { unsupportedBy } from '../transport/answer.ts';
import { MOST_ITEMS } from './calls.ts';
import { toSpec } from './records.ts';

export function createSpecs(links: Links): Server['specs'] {
  return {
    async list(page, pageSize) {
      const found = await searchSpecs(links, page, pageSize);
      return {
        items: found.items.map((record, index) => toSpec(record, page === null && index === 0)),
        next: found.next,
      };
    },
    async get(id) {
      const { record, first } = await getSpec(links, id);
      return toSpec(record, first);
    },
  };
}

/** Throws `unsupported` where the server lacks the route. */
async function searchSpecs(links: Links, page: string | null, pageSize = MOST_ITEMS): Promise<Page<SpecRecord>> {
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/v1/sandbox-specs/search',
    query: { limit: Math.min(pageSize, MOST_ITEMS), page_id: page },
    safe: 'read',
    accept: [404],
  });
  if (answer.status === 404) throw unsupportedBy(answer, 'this server has no sandbox specs: it lacks their route');
  return read(answer, (body) => readPage(body, 'specs', readSpec));
}

/** Throws `not-found`. */
export async function getSpec(links: Links, id: string): Promise<{ record: SpecRecord; first: boolean }> {
  const { items } = await searchSpecs(links, null);
  const index = items.findIndex((item) => item.id === id);
  const listed = items[index];
  if (listed !== undefined) return { record: listed, first: index === 0 };
  const answer = await links.app.request({
    method: 'GET',
    path: '/api/v1/sandbox-specs',
    query: { id: [id] },
    safe: 'read',
  });
  const record = read(answer, (body) => readBatch(body, 'specs', readSpec))[0] ?? null;
  if (record !== null) return { record, first: false };
  const names = items.map((item) => item.id).slice(0, 10);
  throw new AppError('not-found', `there is no sandbox spec ${id.slice(0, 100)} at this server`, {
    hint: `it has: ${names.join(', ') || 'none'}`,
  });
}
