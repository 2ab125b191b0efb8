import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { NOT_FOUND } from '../support/fake-server.ts';
import { ID, SANDBOX_KEY } from '../support/v1-world.ts';
import { looseTrap, v1Trap, type V1Trap } from '../../traps/support/trap.ts';

const v1 = connectedV1();

describe('sandboxes of V1', () => {
  const record = {
    id: 'sb1',
    status: 'RUNNING',
    sandbox_spec_id: 'default',
    session_api_key: SANDBOX_KEY,
    created_at: '2026-11-21T09:00:00Z',
    exposed_urls: [{ name: 'VSCODE', url: `http://h/?tkn=${SANDBOX_KEY}&folder=x`, port: 1 }],
  };

  it('have their conversations and repositories, and no key', async () => {
    v1.world.addConversation({ selected_repository: 'a/b' });
    v1.on({
      'GET /api/v1/sandboxes/search': () => ({
        json: { items: [record, { id: 'sb2', status: 'PAUSED' }], next_page_id: null },
      }),
    });
    const { items } = await v1.server.sandboxes.list(null);
    expect(items[0]).toEqual({
      id: 'sb1',
      status: 'running',
      status_detail: null,
      spec_id: 'default',
      created_at: '2026-11-21T09:00:00Z',
      last_active_at: '2026-11-21T10:12:39.352171Z',
      conversation_ids: [ID],
      repositories: ['a/b'],
      urls: [{ name: 'VSCODE', url: expect.not.stringContaining(SANDBOX_KEY) as string }],
    });
    expect(items[1]).toMatchObject({ id: 'sb2', status: 'paused', conversation_ids: [] });
    expect(v1.world.fake.asked).toHaveLength(2);
  });

  it('are deleted by the same id in path and query', async () => {
    v1.on({
      'DELETE /api/v1/sandboxes/sb1': () => ({ json: { success: true } }),
      'GET /api/v1/sandboxes': () => ({ json: [null] }),
    });
    await v1.server.sandboxes.remove('sb1');
    expect(v1.asked('DELETE /api/v1/sandboxes/sb1')?.query.get('sandbox_id')).toBe('sb1');
    expect((await failure(v1.server.sandboxes.remove('sb2'))).kind).toBe('not-found');
  });
});

describe('a server without the route of a change', () => {
  it.each([
    ['delete', 'DELETE /api/v1/sandboxes/:id', ['-y', '--ignore-not-found']],
    ['pause', 'POST /api/v1/sandboxes/:id/pause', ['--no-wait']],
    ['resume', 'POST /api/v1/sandboxes/:id/resume', ['--no-wait']],
  ])('sandbox %s exits 12 while the sandbox is still there', async (verb, route, flags) => {
    const trap = await looseTrap({ lacks: [route] });
    try {
      trap.sandboxes.set('sandbox1', verb === 'resume' ? 'PAUSED' : 'RUNNING');
      const { code, out, err } = await trap.acs('sandbox', verb, 'sandbox1', ...flags);
      expect({ code, out }, err).toEqual({ code: 12, out: '' });
      expect(err).toContain(`this server cannot ${verb} a sandbox`);
      expect(trap.sandboxes.size).toBe(1);
    } finally {
      await trap.close();
    }
  });

  it('sandbox delete --ignore-not-found exits 12 where sandboxes cannot be read by id', async () => {
    const trap = await looseTrap({ lacks: ['DELETE /api/v1/sandboxes/:id', 'GET /api/v1/sandboxes'] });
    try {
      trap.sandboxes.set('sandbox1', 'RUNNING');
      const { code, out, err } = await trap.acs('sandbox', 'delete', 'sandbox1', '-y', '--ignore-not-found');
      expect({ code, out }, err).toEqual({ code: 12, out: '' });
    } finally {
      await trap.close();
    }
  });
});

describe('a delete', () => {
  let trap: V1Trap;
  beforeEach(async () => {
    trap = await v1Trap();
  });
  afterEach(() => trap.close());

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
