import { describe, expect, it } from 'vitest';
import { useConvWorld } from './conv-world.ts';
import { json, startHeldRun } from './support.ts';
import { startWaitingRun, statusOf } from './waiting-run.ts';

// What a command does must not depend on what its server speaks.
describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });
  const { conv, ended } = at;
  const held = () => startHeldRun(at.world);

  describe('conv stop', () => {
    it('stops a run, and reports no change the second time', async () => {
      const { id } = await held();
      const stopped = await conv('stop', id, '--json');
      expect(stopped.code, stopped.err).toBe(0);
      expect(json(stopped)).toMatchObject({ id, changed: true });
      expect(['paused', 'stopped']).toContain(json(stopped).status);
      expect(json(await conv('stop', id, '--json'))).toMatchObject({ changed: false });
      expect((await conv('wait', id)).code).toBe(6);
    });

    it('changes nothing of a run that has ended', async () => {
      const id = await ended();
      expect(json(await conv('stop', id, '--json'))).toMatchObject({ status: 'finished', changed: false });
    });

    it('reports each of several runs that have ended as unchanged', async () => {
      const ids = [await ended(), await ended()];
      const { code, err } = await conv('stop', ...ids);
      expect(code, err).toBe(0);
      for (const id of ids) expect(err).toContain(`: ${id} unchanged\n`);
    });
  });
});

describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });
  const { conv } = at;

  describe('conv stop', () => {
    it('of a waiting run changes nothing over V1 and stops it over V0', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const ended = await conv('stop', id, '--json');
      expect(ended.code, ended.err).toBe(0);
      const after = await statusOf(at.world, id);
      expect(json(ended)).toMatchObject({ status: after, changed: after !== 'waiting' });
      expect(after).toBe(api === 'v1' ? 'waiting' : 'stopped');
      if (api === 'v1') expect(ended.err).toContain(`acs conv confirm ${id} --reject`);
      expect(did(1)).toBe(false);
    });
  });
});
