import { describe, expect, it } from 'vitest';
import { json, useLooseStarts } from '../../traps/support/loose-starts.ts';

const V1_ROUTE = 'DELETE /api/v1/app-conversations/:id';
const ONLY_V0_ROUTE = { v0: true, lacks: [V1_ROUTE] } as const;
const starts = useLooseStarts();

/** Up to 1.5.0: with the conversation goes the sandbox, and everything in it. */
function deletesWhole(sandbox: string): void {
  const { before } = starts.trap;
  starts.trap.before = (asked) => {
    const id = asked.path.replace('/api/conversations/', '');
    if (asked.method !== 'DELETE' || !starts.trap.conversations.has(id)) return before(asked);
    starts.trap.conversations.clear();
    starts.trap.sandboxes.delete(sandbox);
    return { json: true };
  };
}

describe('conv delete where the server has only the route of V0', () => {
  it('is refused with 6 and names the other conversations of the sandbox', async () => {
    const { ids } = await starts.sharing(3, ONLY_V0_ROUTE);
    const [first = '', ...others] = ids;
    const { code, err } = await starts.trap.acs('conv', 'delete', first, '-y');
    expect({ code, deletions: starts.deletions('/api/conversations/') }).toEqual({ code: 6, deletions: [] });
    expect(starts.trap.conversations.size).toBe(3);
    for (const other of others) expect(err).toContain(other);
    expect(err).toContain('--with-sandbox');
  });

  it('deletes a conversation that is alone in its sandbox', async () => {
    const { ids } = await starts.sharing(1, ONLY_V0_ROUTE);
    expect(await starts.trap.acs('conv', 'delete', ids[0] ?? '', '-y')).toMatchObject({ code: 0 });
    expect(starts.trap.conversations.size).toBe(0);
  });

  it('deletes all conversations of a sandbox that the command names, also where the server deletes it whole', async () => {
    const { ids, sandbox } = await starts.sharing(3, ONLY_V0_ROUTE);
    deletesWhole(sandbox);
    const ended = await starts.trap.acs('conv', 'delete', ...ids, '-y', '--json');
    expect(ended.code, ended.err).toBe(0);
    const { items } = json<{ items: { ok: boolean; changed: boolean }[] }>(ended);
    expect(items.map(({ ok, changed }) => [ok, changed])).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ]);
  });

  it('deletes the sandbox and everything in it with --with-sandbox, after naming it', async () => {
    const { ids, sandbox } = await starts.sharing(2, ONLY_V0_ROUTE);
    deletesWhole(sandbox);
    const ended = await starts.trap.acs('conv', 'delete', ids[0] ?? '', '--with-sandbox', '-y', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(ended.err).toContain(ids[1]);
    expect(json(ended)).toMatchObject({ id: ids[0], changed: true });
    expect([starts.trap.conversations.size, starts.trap.sandboxes.size]).toEqual([0, 0]);
  });

  it.each([
    [2, 'another conversation'],
    [3, '2 other conversations'],
  ])('prompts before --with-sandbox deletes a sandbox of %i conversations', async (count, others) => {
    const { ids, sandbox } = await starts.sharing(count, ONLY_V0_ROUTE);
    const { code, err } = await starts.trap.acs('conv', 'delete', ids[0] ?? '', '--with-sandbox');
    expect(code).toBe(2);
    expect(err).toContain(`delete conversation ${ids[0]}, and sandbox ${sandbox} with ${others}?`);
    expect([starts.trap.conversations.size, starts.trap.sandboxes.has(sandbox)]).toEqual([count, true]);
  });

  it('names the sandbox in the question of --with-sandbox when no other conversation is in it', async () => {
    const { ids, sandbox } = await starts.sharing(1, ONLY_V0_ROUTE);
    const { code, err } = await starts.trap.acs('conv', 'delete', ids[0] ?? '', '--with-sandbox');
    expect(code).toBe(2);
    expect(err).toContain(`delete conversation ${ids[0]}, and sandbox ${sandbox}?`);
  });

  it('spares a sandbox with another run in progress, unless forced', async () => {
    const { ids, sandbox } = await starts.sharing(1, ONLY_V0_ROUTE);
    await starts.trap.acs('conv', 'new', 'WORK', '--no-repo', '--sandbox', sandbox);
    const one = ids[0] ?? '';
    expect(await starts.trap.acs('conv', 'delete', one, '--with-sandbox', '-y')).toMatchObject({ code: 6 });
    expect(starts.deletions('/api/')).toEqual([]);
    expect(await starts.trap.acs('conv', 'delete', one, '--with-sandbox', '--force', '-y')).toMatchObject({ code: 0 });
  });
});

describe('conv delete of several conversations in one sandbox', () => {
  interface Item {
    id: string;
    ok: boolean;
    error: { code: string; message: string } | null;
  }

  /** The items in the order of `ids`. */
  async function deleted(ids: readonly string[], ...args: string[]): Promise<{ code: number; items: Item[] }> {
    const ended = await starts.trap.acs('conv', 'delete', ...args, '-y', '--json');
    const { items } = json<{ items: Item[] }>(ended);
    return { code: ended.code, items: ids.flatMap((id) => items.filter((item) => item.id === id)) };
  }

  function setState(id: string, state: 'running' | 'finished' | 'error'): void {
    const conversation = starts.trap.conversations.get(id);
    if (conversation) conversation.state = state;
  }

  /** Changes a state right before the server answers the first request of a path. */
  function changeAt(path: string, change: () => void): void {
    const { before } = starts.trap;
    let isDone = false;
    starts.trap.before = (asked) => {
      if (!isDone && asked.method === 'GET' && `${asked.path}?${asked.query}`.startsWith(path)) {
        isDone = true;
        change();
      }
      return before(asked);
    };
  }

  it('deletes nothing of a sandbox that the server deletes whole while a selected conversation in it runs', async () => {
    const { ids, sandbox } = await starts.sharing(2, ONLY_V0_ROUTE);
    deletesWhole(sandbox);
    const [done = '', busy = ''] = ids;
    setState(busy, 'running');
    const { code, items } = await deleted(ids, '--all');
    expect(items).toMatchObject([
      { id: done, ok: false, error: { code: 'conflict' } },
      { id: busy, ok: false, error: { code: 'conflict' } },
    ]);
    expect(items[0]?.error?.message).toContain(`${busy} (running)`);
    expect({ code, deletions: starts.deletions('/api/conversations/') }).toEqual({ code: 1, deletions: [] });
    expect(await deleted(ids, '--all', '--force')).toMatchObject({ code: 0, items: [{ ok: true }, { ok: true }] });
    expect(starts.trap.conversations.size).toBe(0);
  });

  it('deletes no sandbox with --with-sandbox while a selected conversation in it runs, unless forced', async () => {
    const { ids } = await starts.sharing(2, {});
    const [done = '', busy = ''] = ids;
    setState(busy, 'running');
    const { code, items } = await deleted(ids, '--all', '--with-sandbox');
    expect(items).toMatchObject([
      { id: done, ok: false, error: { code: 'conflict' } },
      { id: busy, ok: false, error: { code: 'conflict' } },
    ]);
    expect(items[0]?.error?.message).toContain(`${busy} (running)`);
    expect({ code, deletions: starts.deletions('/api/') }).toEqual({ code: 1, deletions: [] });
    expect(await deleted(ids, '--all', '--with-sandbox', '--force')).toMatchObject({ code: 0 });
    expect([starts.trap.conversations.size, starts.trap.sandboxes.size]).toEqual([0, 0]);
  });

  it('keeps the sandbox with --with-sandbox when a run starts in it while the conversation is deleted', async () => {
    const { ids, sandbox } = await starts.sharing(2, {});
    const [done = '', other = ''] = ids;
    const { before } = starts.trap;
    starts.trap.before = (asked) => {
      if (asked.method === 'DELETE') setState(other, 'running');
      return before(asked);
    };
    const { code, err } = await starts.trap.acs('conv', 'delete', done, '--with-sandbox', '-y');
    expect({ code, sandboxes: starts.deletions('/api/v1/sandboxes/') }).toEqual({ code: 6, sandboxes: [] });
    expect(err).toContain(`conversation ${done} was deleted, but its sandbox ${sandbox} has a run in progress`);
    expect(err).toContain(`${other} (running)`);
  });

  it('keeps a conversation that no longer matches the selectors when it is read again', async () => {
    const { ids, sandbox } = await starts.sharing(2, ONLY_V0_ROUTE);
    deletesWhole(sandbox);
    const [, changed = ''] = ids;
    changeAt('/api/v1/app-conversations?ids=', () => setState(changed, 'error'));
    const { code, items } = await deleted(ids, '--status', 'finished');
    expect(items).toMatchObject([
      { ok: false, error: { code: 'conflict' } },
      { ok: false, error: { code: 'conflict' } },
    ]);
    expect(items[0]?.error?.message).toContain(changed);
    expect({ code, deletions: starts.deletions('/api/conversations/') }).toEqual({ code: 1, deletions: [] });
  });

  it('keeps a conversation that was refused for its run, also when the run ends before the others are deleted', async () => {
    const { ids, sandbox } = await starts.sharing(2, ONLY_V0_ROUTE);
    deletesWhole(sandbox);
    const [, busy = ''] = ids;
    setState(busy, 'running');
    changeAt('/api/v1/app-conversations/search?limit=100&sandbox_id__eq=', () => setState(busy, 'finished'));
    const { code, items } = await deleted(ids, '--all');
    expect(items).toMatchObject([{ ok: false }, { ok: false, error: { message: `conversation ${busy} is running` } }]);
    expect({ code, deletions: starts.deletions('/api/conversations/') }).toEqual({ code: 1, deletions: [] });
  });

  it.each([['--all'], ['--all', '--with-sandbox']])('deletes two finished ones with %s %s', async (...args) => {
    const { ids, sandbox } = await starts.sharing(2, ONLY_V0_ROUTE);
    deletesWhole(sandbox);
    expect(await deleted(ids, ...args)).toMatchObject({ code: 0, items: [{ ok: true }, { ok: true }] });
    expect([starts.trap.conversations.size, starts.trap.sandboxes.size]).toEqual([0, 0]);
  });

  it('deletes a running one that is named, with the others that are named', async () => {
    const { ids, sandbox } = await starts.sharing(2, ONLY_V0_ROUTE);
    deletesWhole(sandbox);
    setState(ids[1] ?? '', 'running');
    expect(await deleted(ids, ...ids)).toMatchObject({ code: 0, items: [{ ok: true }, { ok: true }] });
    expect(starts.trap.conversations.size).toBe(0);
  });
});
