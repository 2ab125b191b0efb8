import { describe, expect, it } from 'vitest';
import { many, startRun, startSandbox, useSandboxWorld } from '../sandbox/support.ts';

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;

  describe('of a sandbox with a run in progress', () => {
    it('exit 6 and name the conversation, unless --force is given', async () => {
      const busy = await startRun(at.world);
      const idle = await startSandbox(at.world);
      const refused = await acs('delete', busy.sandboxId, '-y', '--json');
      expect(refused.code).toBe(6);
      expect(refused.err).toContain(`conversations: ${busy.conversationId}`);
      const bulk = await acs('delete', '--all', '-y', '--json');
      expect(bulk.code).toBe(1);
      expect(many(bulk).items.map(({ id, ok, error }) => [id, ok, error?.code])).toEqual([
        [idle, true, undefined],
        [busy.sandboxId, false, 'conflict'],
      ]);
      expect((await acs('delete', busy.sandboxId, '-y', '--force')).code).toBe(0);
    });

    it('pause a sandbox that is named, and keep one that a selector matches', async () => {
      const busy = await startRun(at.world);
      const bulk = await acs('pause', '--status', 'running', '-y', '--json');
      expect({ code: bulk.code, error: many(bulk).items[0]?.error?.code }).toEqual({ code: 1, error: 'conflict' });
      expect((await acs('pause', busy.sandboxId)).code).toBe(0);
      await acs('resume', busy.sandboxId);
      await busy.finish();
      expect((await acs('delete', busy.sandboxId, '-y')).code).toBe(0);
    });
  });
});
