/**
 * The status of runs whose sandbox does not run: after a restart of the service, a pause and a
 * deletion.
 */
import path from 'node:path';
import Database from 'libsql';
import { beforeAll, describe, expect, it } from 'vitest';
import { useWorld } from '../../support/use-world.ts';
import {
  endedRun,
  finish,
  json,
  jsonLines,
  replayFile,
  run,
  startHeldRun,
  startWaitingRun,
  type WaitingRun,
} from './support.ts';
import { TO_VERSION_5 } from '../../service/storage/support.ts';

const at = useWorld({ spec: 'process', api: 'v1', noun: 'conv' });
let finished: string;
let stopped: string;
let waiting: WaitingRun;

async function listed(flags = ''): Promise<Record<string, string[]>> {
  const { items } = await at.json<{ items: Record<string, string>[] }>(`list ${flags}`);
  return Object.fromEntries(
    items.map(({ id = '', status = '', sandbox_status = '' }) => [id, [status, sandbox_status]]),
  );
}

beforeAll(async () => {
  finished = await endedRun(at.world);
  ({ id: stopped } = await startHeldRun(at.world));
  await at.ends(`stop ${stopped}`, {});
  waiting = await startWaitingRun(at.world);
  await at.world.restart();
});

describe('after a restart of the service', () => {
  it('conv list shows the last status of each run', async () => {
    const last = { [finished]: 'finished', [stopped]: 'paused', [waiting.id]: 'waiting' };
    expect(await listed()).toEqual(
      Object.fromEntries(Object.entries(last).map(([id, status]) => [id, [status, 'paused']])),
    );
    for (const [id, status] of Object.entries(last))
      expect(Object.keys(await listed(`--status ${status}`))).toEqual([id]);
  });

  it('conv wait exits 0 for a finished run, 6 for a paused one, and 8 when a confirmation is pending', async () => {
    await at.ends(`wait ${finished}`, {});
    await at.ends(`wait ${stopped}`, { code: 6 });
    const out = { status: 'waiting', waiting_for: 'confirmation', exit_code: 8 };
    await at.ends(`wait ${waiting.id} --json`, { code: 8, out });
    await at.ends(`show ${waiting.id} --exit-status`, { code: 8 });
  });

  it.each(['exit', 'accept'])(
    'conv follow --on-confirm %s exits 8 and executes no action',
    async (onConfirm) => {
      const { out } = await at.ends(`follow ${waiting.id} --on-confirm ${onConfirm} --json`, {
        code: 8,
      });
      expect(jsonLines(out).at(-1)).toMatchObject({ type: 'outcome', status: 'waiting' });
      expect(waiting.did(1)).toBe(false);
    },
  );

  it('conv stop of a run that waits in a paused sandbox changes nothing', async () => {
    await at.ends(`stop ${waiting.id} --json`, { out: { changed: false, status: 'waiting' } });
  });
});

describe('without a restart', () => {
  it('conv list shows a finished run as finished when its sandbox is deleted, and another one as archived', async () => {
    const ended = await endedRun(at.world);
    await replayFile(at, 'to-be-stopped.json', [run('sleep 1000'), finish('never')]);
    const open = json(await at.ends('new --no-repo --replay to-be-stopped.json --json', {})).id;
    await at.ends(`stop ${open}`, {});
    for (const id of [ended, open]) {
      const { sandbox_id } = await at.json<{ sandbox_id: string }>(`show ${id}`);
      expect((await at.world.acs('sandbox', 'delete', sandbox_id, '-y')).code).toBe(0);
    }
    expect(await listed()).toMatchObject({
      [ended]: ['finished', 'missing'],
      [open]: ['archived', 'missing'],
    });
  });

  it('a database of an earlier version gets the status of each run from its event log', async () => {
    const id = await endedRun(at.world);
    await at.world.service.close();
    const database = new Database(path.join(at.world.dataDir, 'service.db'));
    database.exec("UPDATE conversations SET execution_status = 'running'");
    database.exec(
      `${TO_VERSION_5} ALTER TABLE sandboxes DROP COLUMN isolation; ALTER TABLE sandboxes DROP COLUMN fell_back;
       PRAGMA user_version = 2;`,
    );
    database.close();
    await at.world.restart();
    expect(await listed()).toMatchObject({
      [id]: ['finished', 'paused'],
      [finished]: ['finished', 'paused'],
    });
  });
});
