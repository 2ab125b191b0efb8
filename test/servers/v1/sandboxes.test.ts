import { describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { ID, SANDBOX_KEY } from '../support/v1-world.ts';

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

  it('tell their conversations and repositories, and no key', async () => {
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
    v1.on({ 'DELETE /api/v1/sandboxes/sb1': () => ({ json: { success: true } }) });
    await v1.server.sandboxes.remove('sb1');
    expect(v1.asked('DELETE /api/v1/sandboxes/sb1')?.query.get('sandbox_id')).toBe('sb1');
    expect((await failure(v1.server.sandboxes.remove('sb2'))).kind).toBe('not-found');
  });
});
