/** Stopping, deleting and pausing: answers that come after the step, ids that are not looked at (interface 5.3, 7.4). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOT_FOUND, type Reply } from '../servers/support/fake-server.ts';
import { ID, status } from '../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

describe('conv stop', () => {
  /** As the agent server does it: the answer comes when the step in hand has ended. */
  const pauseAfterTheStep = async (stepMs: number): Promise<Reply> => {
    await trap.clock.sleep(stepMs);
    trap.conversations.get(ID)!['execution_status'] = 'paused';
    trap.agentEvents.push(status('paused'));
    return { json: { success: true } };
  };

  it('waits for a step that takes longer than a request may, where the server cannot interrupt', async () => {
    trap.addConversation();
    trap.fake.handler = after(trap.fake.handler, ({ method, path }) => {
      if (method !== 'POST') return null;
      return path.endsWith('/pause') ? pauseAfterTheStep(18_000) : NOT_FOUND;
    });
    const { code, out, err } = await trap.acs('conv', 'stop', ID, '--json');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'paused', changed: true });
    expect(trap.fake.lines().filter((line) => line.endsWith('/pause'))).toHaveLength(1);
  });

  it('interrupts where the server can, which does not wait for the step', async () => {
    trap.addConversation();
    trap.fake.handler = after(trap.fake.handler, ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/interrupt')) return null;
      trap.conversations.get(ID)!['execution_status'] = 'paused';
      return { json: { success: true } };
    });
    expect(await trap.acs('conv', 'stop', ID)).toMatchObject({ code: 0 });
    expect(trap.fake.lines().some((line) => line.endsWith('/pause'))).toBe(false);
  });
});

it('conv stop names the missing address when the record of a running sandbox has none', async () => {
  trap.addConversation({ conversation_url: null, session_api_key: null });
  const { code, err } = await trap.acs('conv', 'stop', ID);
  expect(code).toBe(6);
  expect(err).toContain('the record of this conversation has no address of its agent server');
  expect(err).not.toContain('does not run');
});

describe('a delete', () => {
  const sandbox = (id: string) => ({
    id,
    status: 'RUNNING',
    sandbox_spec_id: 'agent-default',
    session_api_key: null,
    exposed_urls: null,
    created_at: '2026-11-21T10:12:00Z',
  });

  it('names the same id in path and query, because servers read only the query, and no other is touched', async () => {
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

  it('of an id that is none is refused before anything is sent', async () => {
    for (const id of ['..', 'a b', 'sandbox-a?sandbox_id=sandbox-b', 'x/y']) {
      const { code } = await trap.acs('sandbox', 'delete', id, '-y');
      expect({ id, refused: code === 2 || code === 5 }).toEqual({ id, refused: true });
    }
    expect(trap.fake.asked.some(({ method }) => method === 'DELETE')).toBe(false);
  });
});

type Answering = (asked: Parameters<V1Trap['fake']['handler']>[0]) => Reply | Promise<Reply> | null;

function after(usual: V1Trap['fake']['handler'], special: Answering): V1Trap['fake']['handler'] {
  return (asked) => special(asked) ?? usual(asked);
}
