import { describe, expect, it } from 'vitest';
import { one, startSandbox, useSandboxWorld } from './support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;
  const writes = at.writes;
  const status = at.status;

  describe('of one sandbox', () => {
    it('delete sends the same id in path and query', async () => {
      const id = await startSandbox(at.world);
      const ended = await acs('delete', id, '-y', '--json');
      expect(ended.code).toBe(0);
      expect(one(ended)).toMatchObject({ id, status: 'missing', changed: true });
      expect(ended.err).toContain(`sandbox ${id} (running), conversations: none`);
      expect(writes()).toEqual([`DELETE /api/v1/sandboxes/${id}?sandbox_id=${id}`]);
      expect((await acs('delete', id, '-y')).code).toBe(5);
      expect(one(await acs('delete', id, '-y', '--ignore-not-found', '--json'))).toMatchObject({ id, changed: false });
    });

    it('delete exits 2 without --yes off a terminal', async () => {
      const id = await startSandbox(at.world);
      const { code, err } = await acs('delete', id);
      expect(code).toBe(2);
      expect(err).toContain('add -y');
      expect(writes()).toEqual([]);
    });

    it('delete prompts on a terminal', async () => {
      const id = await startSandbox(at.world);
      const answer = (stdin: string) => at.world.invoke({ args: ['sandbox', 'delete', id], columns: 100, stdin });
      expect(await answer('n\n')).toMatchObject({ code: 2, out: '' });
      expect(await status(id)).toBe('running');
      expect((await answer('y\n')).code).toBe(0);
      expect((await at.world.acs('sandbox', 'show', id)).code).toBe(5);
    });
  });
});
