import { describe, expect, it } from 'vitest';
import { many, startSandbox, useSandboxWorld } from './sandbox/support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;

  describe('several', () => {
    it('continue when one of several servers cannot be reached', async () => {
      const id = await startSandbox(at.world);
      for (const [name, url] of [
        ['here', at.world.service.url],
        ['closed', 'http://127.0.0.1:1'],
      ] as const) {
        const add = ['profile', 'add', name, '--base-url', url, '--api-key-file', '-', '--no-check'];
        expect((await at.world.invoke({ args: add, stdin: at.world.service.key })).code).toBe(0);
      }
      const env = { ACS_BASE_URL: undefined, ACS_API_KEY: undefined };
      const several = (...args: string[]) => at.world.invoke({ args: ['sandbox', ...args, '-p', 'here,closed'], env });
      const ended = await several('pause', '--all', '-y', '--json');
      expect(ended.code).toBe(1);
      expect(many(ended).items).toMatchObject([
        { id, profile: 'here', ok: true, after: 'paused' },
        { id: null, profile: 'closed', ok: false, error: { code: 'network' } },
      ]);
      expect(JSON.parse(ended.out)).toMatchObject({ matched: 1, failed: 1 });
      expect(ended.err).toContain('closed: ');
      expect(ended.err).not.toContain('of 1 could not');
      const named = await several('resume', id, '--json');
      expect(many(named).items[0]).toMatchObject({ id, profile: 'here', ok: true, after: 'running' });
      expect((await several('show', id)).code).toBe(2);
    });

    it('report the ids that were not changed when a signal comes', async () => {
      const id = await startSandbox(at.world);
      const { AppError } = await import('../../src/errors.ts');
      const controller = new AbortController();
      const ended = at.world.invoke({
        args: ['sandbox', 'wait', id, id.slice(0, 12), '--for', 'paused', '--json'],
        signal: controller.signal,
      });
      controller.abort(new AppError('interrupted', 'interrupted', { exitCode: 143 }));
      expect((await ended).code).toBe(143);
    });

    it('change each id once and exit 1 when one failed', async () => {
      const [a, b] = [await startSandbox(at.world), await startSandbox(at.world)];
      await acs('pause', b);
      const ended = await acs('pause', a, b, a, 'zzzzzzzz', '--json');
      expect(ended.code).toBe(1);
      expect(many(ended)).toEqual({
        items: [
          { id: a, ok: true, changed: true, before: 'running', after: 'paused', error: null },
          { id: b, ok: true, changed: false, before: 'paused', after: 'paused', error: null },
          {
            id: 'zzzzzzzz',
            ok: false,
            changed: false,
            before: null,
            after: null,
            error: expect.objectContaining({ code: 'not-found' }),
          },
        ],
        matched: 3,
        failed: 1,
      });
      expect(ended.err).toContain('1 of 3 could not be paused');
    });

    it('reads ids from stdin', async () => {
      const [a, b] = [await startSandbox(at.world), await startSandbox(at.world)];
      const pause = (stdin: string, ...args: string[]) =>
        at.world.invoke({ args: ['sandbox', 'pause', ...args, '--json'], stdin });
      expect(many(await pause(`${a}\n${b}\n`, '-')).items.map(({ id, after }) => `${id} ${after}`)).toEqual([
        `${a} paused`,
        `${b} paused`,
      ]);
      expect(await pause('', '-')).toMatchObject({ code: 0 });
      expect((await pause('', '-', '-')).code).toBe(2);
    });
  });
});
