/** `conv stop` and `conv resume`. */
import { describe, expect, it } from 'vitest';
import type { BulkResult } from '../../../src/output/view.ts';
import { useWorld } from '../../support/use-world.ts';
import {
  alone,
  endedRun,
  json,
  jsonLines,
  putToSleep,
  startHeldRun,
  startWaitingRun,
  statusOf,
} from './support.ts';

const UNKNOWN = 'f'.repeat(32);

describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const at = useWorld({ api, spec: 'process', noun: 'conv', oneSandbox: true });
  const stopped = async () => {
    const held = await startHeldRun(at.world);
    await at.ends(`stop ${held.id}`, {});
    return held;
  };

  describe('conv stop', () => {
    it('stops a run, and reports no change the second time', async () => {
      const { id } = await startHeldRun(at.world);
      const { out } = await at.ends(`stop ${id} --json`, { out: { id, changed: true } });
      expect(['paused', 'stopped']).toContain(json({ out }).status);
      await at.ends(`stop ${id} --json`, { out: { changed: false } });
      await at.ends(`wait ${id}`, { code: 6 });
    });

    it('changes nothing of runs that have ended', async () => {
      const ids = [await endedRun(at.world), await endedRun(at.world)];
      await at.ends(`stop ${ids[0]} --json`, { out: { status: 'finished', changed: false } });
      await at.ends(['stop', ...ids], { err: ids.map((id) => `: ${id} unchanged\n`) });
    });

    it('of a waiting run changes nothing over V1 and stops it over V0', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const status = api === 'v1' ? 'waiting' : 'stopped';
      const err = api === 'v1' ? `acs conv confirm ${id} --reject` : [];
      await at.ends(`stop ${id} --json`, { out: { status, changed: api === 'v0' }, err });
      expect(await statusOf(at.world, id)).toBe(status);
      expect(did(1)).toBe(false);
    });
  });

  describe('conv resume', () => {
    it('--follow prints the run that it continues', async () => {
      const { id, release } = await stopped();
      await release();
      const { out } = await at.ends(`resume ${id} --follow --json`, {});
      expect(jsonLines(out).at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
    });

    it('changes nothing of a run in progress, and starts only the sandbox of one that has finished', async () => {
      const { id, release } = await startHeldRun(at.world);
      await at.ends(`resume ${id} --json`, { out: { changed: false } });
      await release();
      await at.ends(`resume ${id} --wait`, {});
      await at.ends(`resume ${id} --json`, { out: { status: 'finished', changed: false } });
      await putToSleep(at, id);
      await at.ends(`resume ${id} --json`, { out: { status: 'finished', changed: true } });
      await at.ends(`resume ${id} --json`, { out: { changed: false } });
    });

    it('exits 8 for a run that waits for a confirmation, and starts only the sandbox of one that is paused', async () => {
      const { id, did } = await startWaitingRun(at.world);
      await at.ends(`resume ${id}`, { code: 8 });
      await putToSleep(at, id);
      const out = { id, status: 'waiting', changed: true };
      await at.ends(`resume ${id} --json`, { out, err: `acs conv confirm ${id}` });
      await putToSleep(at, id);
      await at.ends(`resume ${id} --wait`, { code: 8 });
      expect(did(1)).toBe(false);
      await at.ends(`confirm ${id} --accept`, {});
      await at.ends(`wait ${id}`, {});
      expect(did(1)).toBe(true);
    });

    it('takes several ids, also from stdin', async () => {
      const one = await stopped();
      const two = await endedRun(at.world);
      const many = await at.ends('resume - --json', {
        stdin: `${one.id}\n${two} ${UNKNOWN}\n`,
        code: 1,
        out: { matched: 3, failed: 1 },
      });
      expect(json<BulkResult>(many).items.map(({ changed }) => changed)).toEqual([
        true,
        false,
        false,
      ]);
      await one.release();
      await at.ends(`wait ${one.id}`, {});
      await at.ends(`resume ${one.id} ${two} --wait`, { code: 2 });
    });

    it('takes selectors, with --yes', async () => {
      const one = await stopped();
      const running = await startHeldRun(at.world);
      const select = '--status paused,stopped --older-than 0s';
      for (const wrong of [select, `${select} -y --wait`, `${one.id} ${select} -y`])
        await at.ends(`resume ${wrong}`, { code: 2 });
      const many = await at.ends(`resume ${select} -y --json`, {});
      const ids = json<BulkResult>(many).items.map(({ id }) => id);
      expect([ids.includes(one.id), ids.includes(running.id)]).toEqual([true, false]);
      await Promise.all([one.release(), running.release()]);
      await at.ends(`wait ${one.id} ${running.id}`, {});
      await at.ends('resume --older-than 1d -y --json', { out: { matched: 0 } });
    });

    it('sends the requests that --dry-run prints', async () => {
      const { id, release } = await startHeldRun(at.world);
      await putToSleep(at, id);
      await at.ends(`resume ${id} --dry-run --json`, {
        out: { requests: [{ method: 'POST' }] },
        writes: [],
      });
      const done = await endedRun(alone(at.world));
      await at.ends(`resume ${done} --dry-run --json`, {
        out: { dry_run: true, requests: [] },
        writes: [],
      });
      await release();
      await at.ends(`resume ${id} --wait --json`, {
        out: { conversation_id: id, status: 'finished', exit_code: 0 },
      });
      // The local service continues by itself what it had only paused.
      const woken =
        api === 'v0'
          ? `POST /api/conversations/${id}/start`
          : /^POST \/api\/v1\/sandboxes\/.+\/resume$/;
      expect(at.writes()).toEqual([expect.stringMatching(woken)]);
    });

    it.runIf(api === 'v1')(
      'exits 6 when the sandbox was deleted, 5 for an unknown id, and 2 without one',
      async () => {
        const id = await endedRun(alone(at.world));
        const { sandbox_id } = await at.json<{ sandbox_id: string }>(`show ${id}`);
        await at.world.acs('sandbox', 'delete', sandbox_id, '-y');
        await at.ends(`resume ${id}`, { code: 6 });
        await at.ends(`resume ${UNKNOWN}`, { code: 5 });
        await at.ends('resume', { code: 2 });
      },
    );
  });
});
