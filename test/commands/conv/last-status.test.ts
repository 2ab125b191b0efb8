/** The status of runs whose sandbox does not run: after a restart of the service, a pause and a deletion. */
import path from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';
import { endedRun, errorOf, finish, json, replayFile, run, startHeldRun, type ConversationJson } from './support.ts';
import { startWaitingRun, type WaitingRun } from './waiting-run.ts';

interface Listed extends ConversationJson {
  execution_status: string | null;
  sandbox_status: string;
}

let world: World;
let finished: string;
let stopped: string;
let waiting: WaitingRun;

async function listed(...flags: string[]): Promise<Record<string, string[]>> {
  const { code, out, err } = await world.acs('conv', 'list', '--json', ...flags);
  expect(code, err).toBe(0);
  const { items } = JSON.parse(out) as { items: Listed[] };
  return Object.fromEntries(items.map(({ id, status, sandbox_status }) => [id, [status, sandbox_status]]));
}

const restarted = () => ({
  [finished]: ['finished', 'paused'],
  [stopped]: ['paused', 'paused'],
  [waiting.id]: ['waiting', 'paused'],
});

beforeAll(async () => {
  world = await createWorld({ spec: 'process', api: 'v1' });
  finished = await endedRun(world);
  ({ id: stopped } = await startHeldRun(world));
  await world.acs('conv', 'stop', stopped);
  waiting = await startWaitingRun(world);
  await world.restart();
}, 60_000);
afterAll(() => world.close());

describe('after a restart of the service', () => {
  it('conv list shows the last status of each run', async () => {
    expect(await listed()).toEqual(restarted());
    expect(Object.keys(await listed('--status', 'finished'))).toEqual([finished]);
    expect(Object.keys(await listed('--status', 'paused'))).toEqual([stopped]);
    expect(Object.keys(await listed('--status', 'waiting'))).toEqual([waiting.id]);
  });

  it('conv wait exits 0 for a finished run, 6 for a paused one, and 8 when a confirmation is pending', async () => {
    expect((await world.acs('conv', 'wait', finished)).code).toBe(0);
    expect((await world.acs('conv', 'wait', stopped)).code).toBe(6);
    const { code, out } = await world.acs('conv', 'wait', waiting.id, '--json');
    expect(code).toBe(8);
    expect(JSON.parse(out)).toMatchObject({ status: 'waiting', waiting_for: 'confirmation', exit_code: 8 });
    expect((await world.acs('conv', 'show', waiting.id, '--exit-status')).code).toBe(8);
  });

  it.each(['exit', 'accept'])('conv follow --on-confirm %s exits 8 and executes no action', async (onConfirm) => {
    const { code, out } = await world.acs('conv', 'follow', waiting.id, '--on-confirm', onConfirm, '--json');
    expect(code).toBe(8);
    expect(JSON.parse(out.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ type: 'outcome', status: 'waiting' });
    expect(waiting.did(1)).toBe(false);
  });

  it('conv stop of a run that waits in a paused sandbox changes nothing', async () => {
    const { code, out } = await world.acs('conv', 'stop', waiting.id, '--json');
    expect({ code, ...json(out === '' ? { out: '{}' } : { out }) }).toMatchObject({
      code: 0,
      changed: false,
      status: 'waiting',
    });
  });

  it('conv resume --status paused leaves the sandboxes of finished and waiting runs paused', async () => {
    const { out } = await world.acs('conv', 'resume', '--status', 'paused', '-y', '--json');
    expect(JSON.parse(out)).toMatchObject({ matched: 1, failed: 0, items: [{ id: stopped, changed: true }] });
    const now = await listed();
    expect(now).toMatchObject({ ...restarted(), [stopped]: ['running', 'running'] });
  });

  it('conv resume of a finished run starts its sandbox, and then changes nothing', async () => {
    const [first, second] = [
      await world.acs('conv', 'resume', finished, '--json'),
      await world.acs('conv', 'resume', finished, '--json'),
    ];
    expect({ code: first.code, ...json(first) }).toMatchObject({ code: 0, status: 'finished', changed: true });
    expect({ code: second.code, ...json(second) }).toMatchObject({ code: 0, status: 'finished', changed: false });
  });

  it('a pending confirmation is answered once its sandbox runs', async () => {
    const { sandbox_id } = json(await world.acs('conv', 'show', waiting.id, '--json'));
    const early = await world.acs('conv', 'confirm', waiting.id, '--accept', '--json');
    expect(early.code).toBe(6);
    expect(errorOf(early).message).toContain('paused');
    expect((await world.acs('sandbox', 'resume', sandbox_id ?? '')).code).toBe(0);
    expect((await world.acs('conv', 'wait', waiting.id)).code).toBe(8);
    expect((await world.acs('conv', 'confirm', waiting.id, '--accept')).code).toBe(0);
    expect((await world.acs('conv', 'wait', waiting.id)).code).toBe(0);
    expect(waiting.did(1)).toBe(true);
  });
});

describe('without a restart', () => {
  it('a run in progress is paused with its sandbox, and continues when it is resumed', async () => {
    const { id, release } = await startHeldRun(world);
    const { sandbox_id } = json(await world.acs('conv', 'show', id, '--json'));
    await world.acs('sandbox', 'pause', sandbox_id ?? '');
    expect(await listed()).toMatchObject({ [id]: ['paused', 'paused'] });
    expect((await world.acs('conv', 'wait', id)).code).toBe(6);
    await world.acs('sandbox', 'resume', sandbox_id ?? '');
    await release();
    expect((await world.acs('conv', 'wait', id)).code).toBe(0);
  });

  it('conv list shows a finished run as finished when its sandbox is deleted, and another one as archived', async () => {
    const ended = await endedRun(world);
    const file = await replayFile(world, 'to-be-stopped.json', [run('sleep 1000'), finish('never')]);
    const open = json(await world.acs('conv', 'new', '--no-repo', '--replay', file, '--json')).id;
    await world.acs('conv', 'stop', open);
    for (const id of [ended, open]) {
      const { sandbox_id } = json(await world.acs('conv', 'show', id, '--json'));
      expect((await world.acs('sandbox', 'delete', sandbox_id ?? '', '-y')).code).toBe(0);
    }
    expect(await listed()).toMatchObject({ [ended]: ['finished', 'missing'], [open]: ['archived', 'missing'] });
  });

  it('a database of an earlier version gets the status of each run from its event log', async () => {
    const id = await endedRun(world);
    await world.service.close();
    const database = new Database(path.join(world.dataDir, 'service.db'));
    database.exec("UPDATE conversations SET execution_status = 'running'");
    database.exec('ALTER TABLE sandboxes DROP COLUMN isolation; PRAGMA user_version = 2;');
    database.close();
    await world.restart();
    expect(await listed()).toMatchObject({ [id]: ['finished', 'paused'], [finished]: ['finished', 'paused'] });
  });
});
