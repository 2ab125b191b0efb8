import { describe, expect, it } from 'vitest';
import { NOT_FOUND } from '../../support/server.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { ID, SANDBOX_KEY } from '../support/v1-server.ts';

const at = useV1({ noun: 'sandbox' });

it('sandbox list has the conversations and repositories of each, and no key, in two requests', async () => {
  at.v1.addConversation({ selected_repository: 'a/b' });
  at.v1.addSandbox('sb2', { status: 'PAUSED' });
  const url = `http://h/?tkn=${SANDBOX_KEY}&folder=x`;
  at.v1.addSandbox('sb1', { exposed_urls: [{ name: 'VSCODE', url, port: 1 }] });
  await at.acs('list');
  at.server.asked.length = 0;
  const { out } = await at.ends('list --json', {
    out: {
      items: [
        {
          id: 'sb1',
          status: 'running',
          status_detail: null,
          spec_id: 'image',
          created_at: '2026-03-01T10:00:00Z',
          last_active_at: '2026-11-21T10:12:39.352171Z',
          conversation_ids: [ID],
          repositories: ['a/b'],
          urls: [{ name: 'VSCODE' }],
        },
        { id: 'sb2', status: 'paused', conversation_ids: [] },
      ],
    },
    requests: 2,
  });
  expect(out).not.toContain(SANDBOX_KEY);
});

describe('where the server lacks the route while the sandbox is there', () => {
  const change = (verb: string, flags: string) => ({
    acs: `${verb} sandbox1 ${flags}`,
    code: 12,
    out: '',
    err: `this server cannot ${verb} a sandbox`,
  });
  const run = async (route: string, row: ReturnType<typeof change>, status = 'RUNNING') => {
    at.v1.addSandbox('sandbox1', { status });
    at.script({ [route]: NOT_FOUND });
    const { acs, ...ending } = row;
    await at.ends(acs, ending);
    expect(at.v1.sandboxes?.size).toBe(1);
  };

  it('sandbox delete exits 12', () =>
    run('DELETE /api/v1/sandboxes/sandbox1', change('delete', '-y --ignore-not-found')));
  it('sandbox pause exits 12', () =>
    run('POST /api/v1/sandboxes/sandbox1/pause', change('pause', '--no-wait')));
  it('sandbox resume exits 12', () =>
    run('POST /api/v1/sandboxes/sandbox1/resume', change('resume', '--no-wait'), 'PAUSED'));
  it('sandbox delete --ignore-not-found exits 12 where sandboxes cannot be read by id either', async () => {
    at.v1.sandboxes = null;
    await at.ends('delete sandbox1 -y --ignore-not-found', { code: 12, out: '' });
  });
});

describe('sandbox delete', () => {
  it('names the same id in path and query, because servers read only the query', async () => {
    at.v1.addSandbox('sandbox-a');
    at.v1.addSandbox('sandbox-b');
    at.script(({ method, query }) => {
      if (method !== 'DELETE') return null;
      return at.v1.sandboxes?.delete(query.get('sandbox_id') ?? '')
        ? { json: { success: true } }
        : NOT_FOUND;
    });
    await at.ends('delete sandbox-a -y', {
      writes: ['DELETE /api/v1/sandboxes/sandbox-a?sandbox_id=sandbox-a'],
    });
    expect([...(at.v1.sandboxes?.keys() ?? [])]).toEqual(['sandbox-b']);
  });

  it.each(['..', 'a b', 'sandbox-a?sandbox_id=sandbox-b', 'x/y'])(
    'refuses the malformed id %s',
    async (id) => {
      const { code } = await at.acs('delete', id, '-y');
      expect([2, 5]).toContain(code);
      expect(at.writes()).toEqual([]);
    },
  );
});
