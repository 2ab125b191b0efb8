/**
 * Runs in paused sandboxes of a server whose records then have no state of the run, as genuine ones: only the events
 * have it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/bulk.ts';
import { setState } from '../../servers/support/loose-runs.ts';
import type { Ended } from '../../support/world.ts';
import { looseTrap, type LooseTrap } from '../../traps/support/trap.ts';

let trap: LooseTrap;
beforeEach(async () => {
  trap = await looseTrap();
});
afterEach(() => trap.close());

const json = <T = Record<string, unknown>>({ out }: Ended): T => JSON.parse(out) as T;
const conv = (...args: string[]): Promise<Ended> => trap.acs('conv', ...args);

/** Starts a conversation with this message and pauses its sandbox; gives its id. */
async function paused(message: string): Promise<string> {
  const started = await conv('new', message, '--no-repo', '--json');
  expect(started.code, started.err).toBe(0);
  const { id, sandbox_id } = json<{ id: string; sandbox_id: string }>(started);
  trap.sandboxes.set(sandbox_id, 'PAUSED');
  trap.fake.asked.length = 0;
  return id;
}

/** The last parts of the paths that were written to. */
const written = (): string[] =>
  trap.fake.asked.filter(({ method }) => method === 'POST').map(({ path }) => path.slice(path.lastIndexOf('/') + 1));

describe('a run with a pending confirmation in a paused sandbox', () => {
  it('has the status waiting in conv show and conv wait, which exit 8', async () => {
    const id = await paused('CONFIRM');
    const shown = await conv('show', id, '--exit-status', '--json');
    expect(shown.code, shown.err).toBe(8);
    expect(json(shown)).toMatchObject({ status: 'waiting', waiting_for: 'confirmation', sandbox_status: 'paused' });
    const waited = await conv('wait', id, '--json');
    expect(waited.code, waited.err).toBe(8);
    expect(json(waited)).toMatchObject({ status: 'waiting', waiting_for: 'confirmation', exit_code: 8 });
  });

  it('has its sandbox started by conv resume, and no run', async () => {
    const id = await paused('CONFIRM');
    const resumed = await conv('resume', id, '--json');
    expect(resumed.code, resumed.err).toBe(0);
    expect(json(resumed)).toMatchObject({ id, status: 'waiting', sandbox_status: 'running', changed: true });
    expect(resumed.err).toContain(`acs conv confirm ${id}`);
    expect(written()).toEqual(['resume']);
  });

  it('has no run started by conv resume when the sandbox starts with another status', async () => {
    const id = await paused('CONFIRM');
    const conversation = trap.conversations.get(id);
    if (conversation) conversation.state = 'idle';
    expect((await conv('resume', id)).code).toBe(0);
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
  trap.before = ({ method, path }) => {
    if (method !== 'GET' || path !== '/api/v1/app-conversations') return null;
    // Both have been found by then; another client starts the sandboxes.
    if (++reads === ids.length + 1) for (const id of trap.sandboxes.keys()) trap.sandboxes.set(id, 'RUNNING');
    return null;
  };
  const { out } = await conv('resume', ...ids, '--json');
  expect((JSON.parse(out) as BulkResult).items).toMatchObject([{ changed: false }, { changed: false }]);
  expect(written()).toEqual([]);
});

it('conv resume --status paused starts no sandbox of a run that has finished or waits for a confirmation', async () => {
  const ids = { finished: await paused('hello'), waiting: await paused('CONFIRM'), paused: await paused('WORK') };
  const open = trap.conversations.get(ids.paused);
  if (open) setState(open, 'paused');
  const { code, out, err } = await conv('resume', '--status', 'paused', '-y', '--json');
  expect(code, err).toBe(0);
  const { items, matched } = JSON.parse(out) as BulkResult;
  expect(matched).toBe(3);
  const changes = Object.fromEntries(items.map(({ id, changed, before }) => [id, [changed, before]]));
  expect(changes).toEqual({
    [ids.finished]: [false, 'finished'],
    [ids.waiting]: [false, 'waiting'],
    [ids.paused]: [true, 'paused'],
  });
  expect([...trap.sandboxes.values()].toSorted()).toEqual(['PAUSED', 'PAUSED', 'RUNNING']);
});

describe('conv confirm of an action that waits in a paused sandbox', () => {
  it('shows the action from the events of the app server, and starts nothing', async () => {
    const id = await paused('CONFIRM');
    const shown = await conv('confirm', id, '--json');
    expect(shown.code, shown.err).toBe(8);
    expect(json(shown)).toMatchObject({ conversation_id: id, text: '$ touch done', answer: null, changed: false });
    expect(await conv('confirm', id, '--action', 'another')).toMatchObject({ code: 6 });
    expect(written()).toEqual([]);
  });

  it.each(['--accept', '--reject'])(
    '%s exits 6 without --resume, and with it starts the sandbox first',
    async (flag) => {
      const id = await paused('CONFIRM');
      const refused = await conv('confirm', id, flag, '--json');
      expect(refused.code).toBe(6);
      expect(refused.err).toContain(`acs conv confirm ${id} ${flag} --resume`);
      expect(written()).toEqual([]);
      const answered = await conv('confirm', id, flag, '--resume', '--json');
      expect(answered.code, answered.err).toBe(0);
      expect(json(answered)).toMatchObject({ changed: true });
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

  it.each(['error', 'stuck'])('exits 6 without a start of the sandbox when the run has ended with %s', async (word) => {
    const id = await paused('WORK');
    const conversation = trap.conversations.get(id);
    if (conversation) setState(conversation, word);
    const refused = await conv('confirm', id, '--accept', '--resume');
    expect(refused).toMatchObject({ code: 6, out: '' });
    expect(refused.err).toContain('has no pending confirmation');
    expect(written()).toEqual([]);
  });

  it('prints the start of the sandbox in a dry run, and sends nothing', async () => {
    const id = await paused('CONFIRM');
    const dry = await conv('confirm', id, '--accept', '--resume', '--dry-run', '--json');
    expect(dry.code, dry.err).toBe(0);
    expect(json<{ requests: { url: string }[] }>(dry).requests).toMatchObject([{ method: 'POST' }]);
    expect(dry.err).toContain('then: accept the action');
    expect(written()).toEqual([]);
  });
});

describe('conv send to a run that waits for a confirmation in a paused sandbox', () => {
  it('exits 8 before the sandbox is started', async () => {
    const id = await paused('CONFIRM');
    const refused = await conv('send', id, 'hello', '--resume');
    expect(refused.code).toBe(8);
    expect(refused.err).toContain('--resume and --accept or --reject');
    expect(written()).toEqual([]);
    expect(trap.sandboxes.get(trap.conversations.get(id)?.sandboxId ?? '')).toBe('PAUSED');
  });

  it('with an answer exits 6 without --resume, and with it answers and sends', async () => {
    const id = await paused('CONFIRM');
    expect(await conv('send', id, 'hello', '--reject')).toMatchObject({ code: 6 });
    expect(written()).toEqual([]);
    const sent = await conv('send', id, 'hello', '--reject', '--resume');
    expect(sent.code, sent.err).toBe(0);
    expect(written().slice(0, 2)).toEqual(['resume', 'respond_to_confirmation']);
  });
});
