import { describe, expect, it } from 'vitest';
import { many, one, startSandbox, useSandboxWorld } from './support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;
  const status = at.status;

  describe('waiting', () => {
    it('exits 0 at once when the sandbox has the status', async () => {
      const id = await startSandbox(at.world);
      expect(one(await acs('wait', id, '--json'))).toMatchObject({ id, status: 'running' });
      expect((await acs('wait', id, '--for', 'paused,running')).code).toBe(0);
    });

    it('exits 0 when the status is reached', async () => {
      const id = await startSandbox(at.world);
      const waiting = acs('wait', id, '--for', 'paused', '--json');
      await at.world.acs('sandbox', 'pause', id);
      expect(one(await waiting)).toMatchObject({ status: 'paused' });
    });

    it('exits 124 at its deadline and names the last status', async () => {
      const id = await startSandbox(at.world);
      for (const flag of ['--wait-timeout', '--timeout']) {
        const { code, err } = await acs('wait', id, '--for', 'paused', flag, '200ms');
        expect(code).toBe(124);
        expect(err).toContain(`sandbox ${id} is still running after 200ms`);
      }
    });

    it('exits 5 when the sandbox is deleted, unless --for names that', async () => {
      const id = await startSandbox(at.world);
      const waiting = [acs('wait', id, '--for', 'paused'), acs('wait', id, '--for', 'missing')];
      await Promise.all([at.world.acs('sandbox', 'delete', id, '-y'), ...waiting]);
      expect((await Promise.all(waiting)).map(({ code }) => code)).toEqual([5, 0]);
      expect((await acs('wait', id, '--for', 'missing')).code).toBe(0);
      expect((await acs('wait', id, '--for', 'asleep')).code).toBe(2);
    });

    it('exits 130 on a signal, and keeps the sandbox', async () => {
      const id = await startSandbox(at.world);
      const { AppError } = await import('../../../src/errors.ts');
      const controller = new AbortController();
      const waiting = at.world.invoke({ args: ['sandbox', 'wait', id, '--for', 'paused'], signal: controller.signal });
      controller.abort(new AppError('interrupted', 'interrupted'));
      expect((await waiting).code).toBe(130);
      expect(await status(id)).toBe('running');
    });
  });

  describe('several', () => {
    it('waits for each of several', async () => {
      const [a, b] = [await startSandbox(at.world), await startSandbox(at.world)];
      await acs('pause', b);
      const ended = await acs('wait', a, b, '--json');
      expect(many(ended).items.map(({ id, after }) => [id, after])).toEqual([
        [a, 'running'],
        [b, 'paused'],
      ]);
      const late = await acs('wait', a, b, 'nowhere', '--for', 'paused', '--wait-timeout', '100ms', '--json');
      expect(late.code).toBe(124);
      expect(many(late).items.map(({ error }) => error?.code)).toEqual(['timeout', undefined, 'not-found']);
      expect((await acs('wait', a, 'nowhere', '--json')).code).toBe(5);
    });
  });
});
