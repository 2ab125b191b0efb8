/** Secrets of an agent server (interface 14.3): a write replaces the value and the description. */
import type { Page } from '../../domain/pages.ts';
import type { Secret } from '../../domain/settings.ts';
import { asList, asRecord } from '../../protocol/shape.ts';
import { read, type Links } from '../shared/links.ts';
import { checkStored, readSecret } from '../shared/secrets.ts';
import type { Server } from '../shared/server.ts';

const ROUTE = '/api/settings/secrets';

export function createBackendSecrets(links: Links): Server['secrets'] {
  const list = async (): Promise<Page<Secret>> => {
    const answer = await links.app.request({ path: ROUTE });
    const items = read(answer, (body) =>
      asList(asRecord(body, 'secrets')['secrets'], 'secrets').map(readSecret),
    );
    return { items, next: null };
  };
  return {
    list,
    async set({ name, value, description: newDescription }) {
      links.network.redaction.add(value);
      const stored = (await list()).items.find((secret) => secret.name === name);
      const description = newDescription ?? stored?.description ?? null;
      const body = { name, value, ...(description !== null && { description }) };
      const accept = [400, 422];
      const hidden = ['value'];
      checkStored(await links.app.request({ method: 'PUT', path: ROUTE, body, hidden, accept }));
      return { name, description, scope: null, before: stored ? 'present' : 'absent' };
    },
    async remove(name) {
      const path = `${ROUTE}/${encodeURIComponent(name)}`;
      await links.app.request({ method: 'DELETE', path, accept: [404] });
    },
  };
}
