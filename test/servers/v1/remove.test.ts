import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import { NOT_FOUND } from '../support/fake-server.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

describe('a delete', () => {
  const sandbox = (id: string) => ({
    id,
    status: 'RUNNING',
    sandbox_spec_id: 'agent-default',
    session_api_key: null,
    exposed_urls: null,
    created_at: '2026-11-21T10:12:00Z',
  });

  it('names the same id in path and query, because servers read only the query', async () => {
    const kept = new Map(['sandbox-a', 'sandbox-b'].map((id) => [id, sandbox(id)]));
    trap.before = ({ method, path, query }) => {
      if (path === '/api/v1/sandboxes/search') return { json: { items: [...kept.values()], next_page_id: null } };
      if (path === '/api/v1/sandboxes') return { json: query.getAll('id').map((id) => kept.get(id) ?? null) };
      if (method !== 'DELETE') return null;
      // The path is not looked at.
      const id = query.get('sandbox_id');
      if (id === null)
        return { status: 422, json: { detail: [{ loc: ['query', 'sandbox_id'], msg: 'Field required' }] } };
      return kept.delete(id) ? { json: { success: true } } : NOT_FOUND;
    };
    const { code, err } = await trap.acs('sandbox', 'delete', 'sandbox-a', '-y');
    expect(code, err).toBe(0);
    expect([...kept.keys()]).toEqual(['sandbox-b']);
    const sent = trap.fake.asked.filter(({ method }) => method === 'DELETE');
    expect(sent.map(({ path, query }) => `${path}?${query.toString()}`)).toEqual([
      '/api/v1/sandboxes/sandbox-a?sandbox_id=sandbox-a',
    ]);
  });

  it('of a malformed id is refused before any request', async () => {
    for (const id of ['..', 'a b', 'sandbox-a?sandbox_id=sandbox-b', 'x/y']) {
      const { code } = await trap.acs('sandbox', 'delete', id, '-y');
      expect({ id, refused: code === 2 || code === 5 }).toEqual({ id, refused: true });
    }
    expect(trap.fake.asked.some(({ method }) => method === 'DELETE')).toBe(false);
  });
});
