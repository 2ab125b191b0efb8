/**
 * Conversations of both dialects on the local service. What a command does with one of them:
 * test/contract.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import {
  endedRun,
  json,
  startHeldRun,
  type ConversationJson,
} from '../../commands/conv/support.ts';
import { useWorld } from '../../support/use-world.ts';

const at = useWorld({ spec: 'process' });
const endedV0 = (): Promise<string> => endedRun(at.world, '--api', 'v0');
const list = (flags = '') =>
  at.json<{ items: ConversationJson[]; has_more: boolean }>(`conv list ${flags}`);
const show = (id: string) =>
  at.json<ConversationJson & { sandbox_status: string }>(`conv show ${id}`);

describe('conversations of both dialects on one server', () => {
  it('are listed once each, newest first, with the dialect they were started over', async () => {
    const [first, second, third] = [
      await endedRun(at.world),
      await endedV0(),
      await endedRun(at.world),
    ];
    const { items } = await list();
    expect(items.slice(0, 3).map(({ id, dialect, status }) => [id, dialect, status])).toEqual([
      [third, 'v1', 'finished'],
      [second, 'v0', 'finished'],
      [first, 'v1', 'finished'],
    ]);
    expect(await list('-L 2')).toMatchObject({
      items: [{ id: third }, { id: second }],
      has_more: true,
    });
    const all = (await list('--all-pages')).items.map(({ id }) => id);
    expect(new Set(all).size).toBe(all.length);
    expect((await list('--older-than 1d')).items).toEqual([]);
  });

  it('exit 12 for a start in a named sandbox over V0', async () => {
    const { sandbox_id: known } = await show(await endedRun(at.world));
    for (const sandbox of [known ?? '', 'A1b2C3d4E5f6G7h8I9j0K1'])
      for (const flag of ['', '--dry-run'])
        await at.ends(`conv new x --no-repo --api v0 --sandbox ${sandbox} ${flag}`, {
          code: 12,
          err: '--sandbox',
        });
  });

  it('keep the conversation of the other dialect that has the id of a new one', async () => {
    const id = await endedV0();
    const line = `conv new again --no-repo --replay demo --api v1 --id ${id} --json`;
    await at.ends(line, { out: { id, changed: false } });
  });
});

describe('sandboxes in which V0 conversations run', () => {
  beforeEach(() => at.ends('sandbox delete --all -y --force', {}));

  it('list them, and are not deleted while they run', async () => {
    const { id, release } = await startHeldRun(at.world, '--api', 'v0');
    const { sandbox_id: sandbox } = await show(id);
    const use = { conversation_ids: [id] };
    await at.ends(`sandbox show ${sandbox} --json`, { out: use });
    await at.ends('sandbox list --json', { out: { items: [use] } });
    const spared = { items: [{ id: sandbox, ok: false, error: { code: 'conflict' } }] };
    await at.ends('sandbox pause --all -y --json', { code: 1, out: spared });
    await at.ends(`sandbox delete ${sandbox} -y`, { code: 6 });
    await at.ends('sandbox list --idle 0s --json', { out: { items: [] } });
    await release();
    await at.ends(`conv wait ${id}`, {});
    expect(
      json<{ items: unknown[] }>(await at.acs('sandbox', 'list', '--idle', '0s', '--json')).items,
    ).toHaveLength(1);
    await at.ends('sandbox pause --all -y', {});
    expect(await show(id)).toMatchObject({ status: 'finished', sandbox_status: 'paused' });
  });

  it('are resumed by conv send --resume', async () => {
    const id = await endedV0();
    await at.ends(`sandbox pause ${(await show(id)).sandbox_id}`, {});
    await at.ends(['conv', 'send', id, 'go on'], { code: 6 });
    await at.ends(['conv', 'send', id, 'go on', '--resume'], {});
    expect(await show(id)).toMatchObject({ sandbox_status: 'running' });
  });
});
