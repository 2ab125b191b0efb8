import { describe, expect, it } from 'vitest';
import type { LooseOptions } from '../support/loose-server.ts';
import { useLoose } from '../../support/use-scripted.ts';

const V1_ROUTE = 'DELETE /api/v1/app-conversations/:id';
const ONLY_V0_ROUTE: LooseOptions = { v0: true, lacks: [V1_ROUTE] };
const at = useLoose();

/** As servers up to 1.5.0: with the conversation goes the sandbox, and everything in it. */
async function sharing(count: number, options: LooseOptions = ONLY_V0_ROUTE) {
  at.serve(options);
  const shared = await at.sharing(count);
  if (options === ONLY_V0_ROUTE)
    at.loose.before = ({ method, path }) => {
      if (
        method !== 'DELETE' ||
        !at.loose.conversations.has(path.replace('/api/conversations/', ''))
      )
        return null;
      at.loose.conversations.clear();
      at.loose.sandboxes.delete(shared.sandbox);
      return { json: true };
    };
  return shared;
}

const left = () => [at.loose.conversations.size, at.loose.sandboxes.size];

function setState(id: string, state: 'running' | 'finished' | 'error'): void {
  at.loose.conversations.get(id)!.state = state;
}

interface Item {
  id: string;
  ok: boolean;
  error: { code: string; message: string } | null;
}

/** The items in the order of `ids`. */
async function deleted(
  ids: readonly string[],
  ...args: string[]
): Promise<{ code: number; items: Item[] }> {
  const ended = await at.acs('conv', 'delete', ...args, '-y', '--json');
  const { items } = JSON.parse(ended.out) as { items: Item[] };
  return { code: ended.code, items: ids.flatMap((id) => items.filter((item) => item.id === id)) };
}

const refused = { ok: false, error: { code: 'conflict' } };

describe('conv delete where the server has only the route of V0', () => {
  it('is refused with 6 and names the other conversations of the sandbox', async () => {
    const [first, ...others] = (await sharing(3)).ids;
    await at.ends(`conv delete ${first} -y`, { code: 6, err: [...others, '--with-sandbox'] });
    expect(at.deletions('/api/conversations/')).toEqual([]);
  });

  it('deletes a conversation that is alone in its sandbox', async () => {
    const { ids } = await sharing(1);
    await at.ends(`conv delete ${ids[0]} -y`, {});
    expect(left()[0]).toBe(0);
  });

  it('deletes the sandbox and everything in it with --with-sandbox, after naming it', async () => {
    const [id = '', other = ''] = (await sharing(2)).ids;
    await at.ends(`conv delete ${id} --with-sandbox -y --json`, {
      out: { id, changed: true },
      err: other,
    });
    expect(left()).toEqual([0, 0]);
  });

  it.each([
    [1, '?'],
    [2, ' with 1 other conversation?'],
    [3, ' with 2 other conversations?'],
  ])(
    'prompts before --with-sandbox deletes a sandbox of %i conversations',
    async (count, others) => {
      const { ids, sandbox } = await sharing(count);
      const err = `delete conversation ${ids[0]}, and sandbox ${sandbox}${others}`;
      await at.ends(`conv delete ${ids[0]} --with-sandbox`, { code: 2, err });
      expect(left()).toEqual([count, 1]);
    },
  );

  it('spares a sandbox with another run in progress, unless forced', async () => {
    at.serve(ONLY_V0_ROUTE);
    const { id, sandbox } = await at.start('hello', '--wait');
    await at.start('WORK', '--sandbox', sandbox);
    await at.ends(`conv delete ${id} --with-sandbox -y`, { code: 6 });
    expect(at.deletions('/api/')).toEqual([]);
    await at.ends(`conv delete ${id} --with-sandbox --force -y`, {});
  });
});

describe('conv delete of several conversations in one sandbox', () => {
  it.each<[string, LooseOptions, string[]]>([
    ['that the server deletes whole', ONLY_V0_ROUTE, ['--all']],
    ['with --with-sandbox', {}, ['--all', '--with-sandbox']],
  ])(
    'deletes nothing of a sandbox %s while a selected one in it runs, unless forced',
    async (_, options, flags) => {
      const { ids } = await sharing(2, options);
      const [, busy = ''] = ids;
      setState(busy, 'running');
      const { code, items } = await deleted(ids, ...flags);
      expect(items).toMatchObject([refused, refused]);
      expect(items[0]?.error?.message).toContain(`${busy} (running)`);
      expect([code, left()]).toEqual([1, [2, 1]]);
      for (const route of ['/api/conversations/', '/api/v1/sandboxes/'])
        expect(at.deletions(route)).toEqual([]);
      expect(await deleted(ids, ...flags, '--force')).toMatchObject({
        code: 0,
        items: [{ ok: true }, { ok: true }],
      });
      expect(left()[0]).toBe(0);
    },
  );

  it('keeps the sandbox with --with-sandbox when a run starts in it while the conversation is deleted', async () => {
    const { ids, sandbox } = await sharing(2, {});
    const [done = '', other = ''] = ids;
    const { before } = at.loose;
    at.loose.before = (asked) => {
      if (asked.method === 'DELETE') setState(other, 'running');
      return before(asked);
    };
    const says =
      `conversation ${done} was deleted, but its sandbox ${sandbox} has a run ` + `in progress`;
    await at.ends(`conv delete ${done} --with-sandbox -y`, {
      code: 6,
      err: [says, `${other} (running)`],
    });
    expect(at.deletions('/api/v1/sandboxes/')).toEqual([]);
  });

  it.each<[string, 'finished' | 'running', string, 'error' | 'finished', string[]]>([
    [
      'no longer matches the selectors',
      'finished',
      '/api/v1/app-conversations?ids=',
      'error',
      ['--status', 'finished'],
    ],
    [
      'was refused for its run, which ends',
      'running',
      '/api/v1/app-conversations/search?limit=100',
      'finished',
      ['--all'],
    ],
  ])(
    'keeps a conversation that %s before the others are deleted',
    async (_, first, route, then, flags) => {
      const { ids } = await sharing(2);
      const [, changed = ''] = ids;
      setState(changed, first);
      const { before } = at.loose;
      let isDone = false;
      at.loose.before = (asked) => {
        const isNow =
          asked.method === 'GET' &&
          asked.url.startsWith(route) &&
          (first !== 'running' || /sandbox_id__eq/.test(asked.url));
        if (!isDone && isNow) setState(changed, then);
        isDone ||= isNow;
        return before(asked);
      };
      const { code, items } = await deleted(ids, ...flags);
      expect(items).toMatchObject([refused, refused]);
      expect(`${items[0]?.error?.message} ${items[1]?.error?.message}`).toContain(changed);
      expect({ code, deletions: at.deletions('/api/conversations/') }).toEqual({
        code: 1,
        deletions: [],
      });
    },
  );

  it.each([
    ['--all', 'finished'],
    ['--all --with-sandbox', 'finished'],
    // A running one is deleted when it is named.
    ['their ids', 'running'],
  ] as const)('deletes all of them with %s, of which one is %s', async (flags, state) => {
    const { ids } = await sharing(3);
    setState(ids[1] ?? '', state);
    const { code, items } = await deleted(ids, ...(flags === 'their ids' ? ids : flags.split(' ')));
    expect([code, items.map(({ ok }) => ok), left()]).toEqual([0, [true, true, true], [0, 0]]);
  });
});
