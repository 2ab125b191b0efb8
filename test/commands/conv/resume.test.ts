import { describe, expect, it } from 'vitest';
import { recordingProxy } from '../../support/recording-proxy.ts';
import { createWorld } from '../../support/world.ts';
import { putToSleep } from './asleep.ts';
import { useConvWorld } from './conv-world.ts';
import { endedRun, json, jsonLines, startHeldRun, until, type OutcomeJson } from './support.ts';
import { startWaitingRun, statusOf } from './waiting-run.ts';
import type { BulkResult } from '../../../src/output/bulk.ts';

describe.each(['v1', 'v0'] as const)('conv resume over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });
  const { conv } = at;
  const stopped = async () => {
    const held = await startHeldRun(at.world);
    await conv('stop', held.id);
    return held;
  };

  it('continues a run that was stopped', async () => {
    const { id, release } = await stopped();
    const resumed = await conv('resume', id, '--json');
    expect(resumed.code, resumed.err).toBe(0);
    expect(json(resumed)).toMatchObject({ id, changed: true });
    await until(async () => (await statusOf(at.world, id)) === 'running');
    await release();
    expect((await conv('wait', id)).code).toBe(0);
  });

  it('starts a paused sandbox and continues its run', async () => {
    const { id, release } = await startHeldRun(at.world);
    await putToSleep(at.world, id);
    await release();
    const resumed = await conv('resume', id, '--wait', '--json');
    expect(resumed.code, resumed.err).toBe(0);
    expect(json<OutcomeJson>(resumed)).toMatchObject({ conversation_id: id, status: 'finished', exit_code: 0 });
  });

  it('--follow prints the run that it continues', async () => {
    const { id, release } = await stopped();
    await release();
    const followed = await conv('resume', id, '--follow', '--json');
    expect(followed.code, followed.err).toBe(0);
    expect(jsonLines(followed.out).at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
  });

  it('changes nothing of a run that runs or has finished', async () => {
    const done = await endedRun(at.world);
    expect(json(await conv('resume', done, '--json'))).toMatchObject({ status: 'finished', changed: false });
    const { id, release } = await startHeldRun(at.world);
    expect(json(await conv('resume', id, '--json'))).toMatchObject({ changed: false });
    await release();
    expect((await conv('resume', id, '--wait')).code).toBe(0);
  });

  it('starts only the sandbox of a finished run', async () => {
    const id = await endedRun(at.world);
    await putToSleep(at.world, id);
    expect(json(await conv('resume', id, '--json'))).toMatchObject({ status: 'finished', changed: true });
    expect(json(await conv('resume', id, '--json'))).toMatchObject({ changed: false });
  });

  it('exits 8 for a run that waits for a confirmation, and starts only the sandbox of one that is paused', async () => {
    const { id, did } = await startWaitingRun(at.world);
    expect((await conv('resume', id)).code).toBe(8);
    await putToSleep(at.world, id);
    const resumed = await conv('resume', id, '--json');
    expect(resumed.code, resumed.err).toBe(0);
    expect(json(resumed)).toMatchObject({ id, status: 'waiting', changed: true });
    expect(resumed.err).toContain(`acs conv confirm ${id}`);
    await putToSleep(at.world, id);
    expect((await conv('resume', id, '--wait')).code).toBe(8);
    expect(did(1)).toBe(false);
    expect((await conv('confirm', id, '--accept')).code).toBe(0);
    expect((await conv('wait', id)).code).toBe(0);
    expect(did(1)).toBe(true);
  });

  it('takes several ids, also from stdin', async () => {
    const one = await stopped();
    const two = await endedRun(at.world);
    const many = await at.world.invoke({
      args: ['conv', 'resume', '-', '--json'],
      stdin: `${one.id}\n${two} ${'f'.repeat(32)}\n`,
    });
    expect(many.code).toBe(1);
    expect(json<BulkResult>(many)).toMatchObject({ matched: 3, failed: 1 });
    expect(json<BulkResult>(many).items.map(({ changed }) => changed)).toEqual([true, false, false]);
    await one.release();
    expect((await conv('wait', one.id)).code).toBe(0);
    expect((await conv('resume', one.id, two, '--wait')).code).toBe(2);
  });

  it('takes selectors, with --yes', async () => {
    const one = await stopped();
    const running = await startHeldRun(at.world);
    const select = ['--status', 'paused,stopped', '--not-older-than', '1d'];
    expect((await conv('resume', ...select)).code).toBe(2);
    expect((await conv('resume', ...select, '-y', '--wait')).code).toBe(2);
    expect((await conv('resume', one.id, ...select, '-y')).code).toBe(2);
    const many = await conv('resume', ...select, '-y', '--json');
    expect(many.code, many.err).toBe(0);
    const ids = json<BulkResult>(many).items.map(({ id }) => id);
    expect(ids).toContain(one.id);
    expect(ids).not.toContain(running.id);
    await Promise.all([one.release(), running.release()]);
    expect((await conv('wait', one.id, running.id)).code).toBe(0);
    expect(json<BulkResult>(await conv('resume', '--older-than', '1d', '-y', '--json'))).toMatchObject({ matched: 0 });
  });

  it('sends the requests that --dry-run prints', async () => {
    const { id, release } = await startHeldRun(at.world);
    await putToSleep(at.world, id);
    const proxy = await recordingProxy(at.world.service.url);
    const resume = (...flags: string[]) =>
      at.world.invoke({ args: ['conv', 'resume', id, ...flags], env: { ACS_BASE_URL: proxy.url } });
    const dry = await resume('--dry-run', '--json');
    expect(dry.code, dry.err).toBe(0);
    expect(json<{ requests: { method: string }[] }>(dry).requests[0]?.method).toBe('POST');
    const ended = await conv('resume', await endedRun(at.world), '--dry-run', '--json');
    expect(json(ended)).toEqual({ dry_run: true, requests: [] });
    expect(proxy.writes()).toEqual([]);
    await release();
    const { code, err } = await resume('--wait');
    await proxy.close();
    expect(code, err).toBe(0);
    const paths = proxy.writes().map(({ path }) => path);
    // The local service continues by itself what it had only paused.
    const woken = api === 'v0' ? `/api/conversations/${id}/start` : /^\/api\/v1\/sandboxes\/.+\/resume$/;
    expect(paths).toEqual([expect.stringMatching(woken)]);
  });
});

describe('conv resume', () => {
  it('exits 6 when the sandbox was deleted', async () => {
    const world = await createWorld({ spec: 'process' });
    try {
      const id = await endedRun(world);
      const { sandbox_id: sandbox } = json(await world.acs('conv', 'show', id, '--json'));
      await world.acs('sandbox', 'delete', sandbox ?? '', '-y');
      expect((await world.acs('conv', 'resume', id)).code).toBe(6);
      expect((await world.acs('conv', 'resume', 'f'.repeat(32))).code).toBe(5);
      expect((await world.acs('conv', 'resume')).code).toBe(2);
    } finally {
      await world.close();
    }
  });
});
