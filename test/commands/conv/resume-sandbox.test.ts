/**
 * Runs in paused sandboxes of a server whose records then have no state of the run, as genuine
 * ones: only the events have it.
 */
import { describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/view.ts';
import { setState } from '../../client/support/loose-agent.ts';
import type { Ended } from '../../support/world.ts';
import { useLoose } from '../../support/use-scripted.ts';

const at = useLoose();

const conv = (...args: string[]): Promise<Ended> => at.acs('conv', ...args);

/** Starts a conversation with this message and pauses its sandbox; gives its id. */
async function paused(message: string): Promise<string> {
  const { id, sandbox } = await at.start(message);
  at.loose.sandboxes.set(sandbox, 'PAUSED');
  at.server.asked.length = 0;
  return id;
}

/** The last parts of the paths that were written to. */
const written = (): string[] =>
  at.server.asked
    .filter(({ method }) => method === 'POST')
    .map(({ path }) => path.slice(path.lastIndexOf('/') + 1));

describe('a run with a pending confirmation in a paused sandbox', () => {
  it('has the status waiting in conv show and conv wait, which exit 8', async () => {
    const id = await paused('CONFIRM');
    await at.ends(['conv', 'show', id, '--exit-status', '--json'], {
      code: 8,
      out: { status: 'waiting', waiting_for: 'confirmation', sandbox_status: 'paused' },
    });
    await at.ends(['conv', 'wait', id, '--json'], {
      code: 8,
      out: { status: 'waiting', waiting_for: 'confirmation', exit_code: 8 },
    });
  });

  it('has its sandbox started by conv resume, and no run', async () => {
    const id = await paused('CONFIRM');
    await at.ends(['conv', 'resume', id, '--json'], {
      out: { id, status: 'waiting', sandbox_status: 'running', changed: true },
      err: `acs conv confirm ${id}`,
    });
    expect(written()).toEqual(['resume']);
  });

  it('has no run started by conv resume when the sandbox starts with another status', async () => {
    const id = await paused('CONFIRM');
    at.loose.conversations.get(id)!.state = 'idle';
    await at.ends(`conv resume ${id}`, {});
    expect(written()).toEqual(['resume']);
  });

  it('is a changed item of a conv resume of several ids', async () => {
    const [first, second] = [await paused('CONFIRM'), await paused('WORK')];
    const { code, out, err } = await conv('resume', first, second, '--json');
    expect(code, err).toBe(0);
    expect((JSON.parse(out) as BulkResult).items).toMatchObject([
      { id: first, ok: true, changed: true, before: 'waiting', after: 'waiting' },
      { id: second, ok: true, changed: true, before: 'paused', after: 'running' },
    ]);
  });
});

it('conv resume of several ids reads each conversation again right before it is changed', async () => {
  const ids = [await paused('hello'), await paused('WORK')];
  let reads = 0;
  at.loose.before = ({ method, path }) => {
    if (method !== 'GET' || path !== '/api/v1/app-conversations') return null;
    // Both have been found by then; another client starts the sandboxes.
    if (++reads === ids.length + 1)
      for (const id of at.loose.sandboxes.keys()) at.loose.sandboxes.set(id, 'RUNNING');
    return null;
  };
  const { out } = await conv('resume', ...ids, '--json');
  expect((JSON.parse(out) as BulkResult).items).toMatchObject([
    { changed: false },
    { changed: false },
  ]);
  expect(written()).toEqual([]);
});

it('conv resume --status paused starts no sandbox of a run that has finished or waits for a confirmation', async () => {
  const ids = {
    finished: await paused('hello'),
    waiting: await paused('CONFIRM'),
    paused: await paused('WORK'),
  };
  const open = at.loose.conversations.get(ids.paused);
  if (open) setState(open, 'paused');
  const { code, out, err } = await conv('resume', '--status', 'paused', '-y', '--json');
  expect(code, err).toBe(0);
  const { items, matched } = JSON.parse(out) as BulkResult;
  expect(matched).toBe(3);
  const changes = Object.fromEntries(
    items.map(({ id, changed, before }) => [id, [changed, before]]),
  );
  expect(changes).toEqual({
    [ids.finished]: [false, 'finished'],
    [ids.waiting]: [false, 'waiting'],
    [ids.paused]: [true, 'paused'],
  });
  expect([...at.loose.sandboxes.values()].toSorted()).toEqual(['PAUSED', 'PAUSED', 'RUNNING']);
});

describe('conv confirm of an action that waits in a paused sandbox', () => {
  it('shows the action from the events of the app server, and starts nothing', async () => {
    const id = await paused('CONFIRM');
    await at.ends(['conv', 'confirm', id, '--json'], {
      code: 8,
      out: { conversation_id: id, text: '$ touch done', answer: null, changed: false },
    });
    expect(await conv('confirm', id, '--action', 'another')).toMatchObject({ code: 6 });
    expect(written()).toEqual([]);
  });

  it.each(['--accept', '--reject'])(
    '%s exits 6 without --resume, and with it starts the sandbox first',
    async (flag) => {
      const id = await paused('CONFIRM');
      const line = `conv confirm ${id} ${flag}`;
      await at.ends(line, { code: 6, err: `acs ${line} --resume` });
      expect(written()).toEqual([]);
      await at.ends(`${line} --resume --json`, { out: { changed: true } });
      expect(written()).toEqual(['resume', 'respond_to_confirmation']);
    },
  );

  it('exits 6 without a start of the sandbox when the run has finished', async () => {
    const id = await paused('hello');
    for (const flags of [[], ['--resume'], ['--accept', '--resume']]) {
      expect(await conv('confirm', id, ...flags)).toMatchObject({ code: 6, out: '' });
    }
    expect(written()).toEqual([]);
  });

  it.each(['error', 'stuck'])(
    'exits 6 without a start of the sandbox when the run has ended with %s',
    async (word) => {
      const id = await paused('WORK');
      setState(at.loose.conversations.get(id)!, word);
      const err = 'has no pending confirmation';
      await at.ends(`conv confirm ${id} --accept --resume`, { code: 6, out: '', err });
      expect(written()).toEqual([]);
    },
  );

  it('prints the start of the sandbox in a dry run, and sends nothing', async () => {
    const id = await paused('CONFIRM');
    const out = { requests: [{ method: 'POST' }] };
    await at.ends(`conv confirm ${id} --accept --resume --dry-run --json`, { out });
    expect(written()).toEqual([]);
  });
});

describe('conv send to a run that waits for a confirmation in a paused sandbox', () => {
  it('exits 8 before the sandbox is started', async () => {
    const id = await paused('CONFIRM');
    await at.ends(`conv send ${id} hello --resume`, {
      code: 8,
      err: '--resume and --accept or --reject',
    });
    expect(written()).toEqual([]);
    expect(at.loose.sandboxes.get(at.loose.conversations.get(id)?.sandboxId ?? '')).toBe('PAUSED');
  });

  it('with an answer exits 6 without --resume, and with it answers and sends', async () => {
    const id = await paused('CONFIRM');
    await at.ends(`conv send ${id} hello --reject`, { code: 6 });
    expect(written()).toEqual([]);
    await at.ends(`conv send ${id} hello --reject --resume`, {});
    expect(written().slice(0, 2)).toEqual(['resume', 'respond_to_confirmation']);
  });
});
