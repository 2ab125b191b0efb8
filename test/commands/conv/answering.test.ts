import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { useConvWorld } from './conv-world.ts';
import { onTerminal } from './on-terminal.ts';
import { errorOf, jsonLines, until } from './support.ts';
import { startWaitingRun } from './waiting-run.ts';

const never = (): Promise<never> => new Promise(() => {});

describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });
  const { conv } = at;

  describe('--on-confirm', () => {
    it.each(['follow', 'resume'])('exit makes conv %s exit 8', async (verb) => {
      const { id, did } = await startWaitingRun(at.world);
      const ended = await conv(verb, id);
      expect(ended.code).toBe(8);
      expect(ended.err).toContain(`acs conv confirm ${id}`);
      if (verb === 'follow') expect((await conv(verb, id, '--on-confirm', 'ask')).code).toBe(8);
      expect(did(1)).toBe(false);
    });

    it('accept accepts each action', async () => {
      const { id, did } = await startWaitingRun(at.world, 3);
      const followed = await conv('follow', id, '--on-confirm', 'accept', '--json');
      expect(followed.code, followed.err).toBe(0);
      expect(jsonLines(followed.out).at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
      expect([did(1), did(2), did(3)]).toEqual([true, true, true]);
      expect(followed.err.match(/accepted: /g)).toHaveLength(3);
    });

    it('reject rejects the action, and the command exits 8', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      expect((await conv('follow', id, '--on-confirm', 'reject')).code).toBe(8);
      expect([did(1), did(2)]).toEqual([false, false]);
    });

    it('ask prompts on a terminal and continues to follow', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const answers = ['accept', 'leave'];
      const followed = await onTerminal(at.world, ['conv', 'follow', id], () => Promise.resolve(answers.shift() ?? ''));
      expect(followed.code, followed.err).toBe(8);
      expect([did(1), did(2)]).toEqual([true, false]);
    });

    it('hides the status line during the prompt', async () => {
      const { id } = await startWaitingRun(at.world, 2);
      const rows: string[] = [];
      const answers = ['accept', 'leave'];
      const followed = await onTerminal(at.world, ['conv', 'follow', id], async (_question, _until, _shown, screen) => {
        await new Promise((resolve) => setImmediate(resolve));
        rows.push(screen?.last ?? '');
        return answers.shift() ?? '';
      });
      expect(rows).toEqual(['', '']);
      expect(followed.err).toMatch(/waiting · \d+:\d\d/);
      expect(followed.err.lastIndexOf('\x1b[J')).toBeGreaterThan(followed.err.lastIndexOf(' · '));
    });

    it('withdraws the question when another client answers', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const asked: (AbortSignal | undefined)[] = [];
      const shownBelow: string[] = [];
      const following = onTerminal(at.world, ['conv', 'follow', id], (_question, until, shown) => {
        const before = shown?.() ?? '';
        until?.addEventListener('abort', () => shownBelow.push((shown?.() ?? '').slice(before.length)));
        asked.push(until);
        return asked.length === 1 ? never() : Promise.resolve('leave');
      });
      await until(() => asked.length === 1);
      expect((await conv('confirm', id, '--accept')).code).toBe(0);
      const followed = await following;
      expect(followed.code, followed.err).toBe(8);
      expect(followed.err).toContain('answered elsewhere');
      expect(asked.map((signal) => signal?.aborted)).toEqual([true, true]);
      expect(shownBelow[0], 'nothing is written over an open question').toBe('');
      expect([did(1), did(2)]).toEqual([true, false]);
    });

    it('exits 130 when the question is left with Ctrl-C, and reports that the run continues', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const followed = await onTerminal(at.world, ['conv', 'follow', id, '--json'], () =>
        Promise.reject(new AppError('interrupted', 'the prompt was cancelled', { exitCode: 130 })),
      );
      expect(followed.code).toBe(130);
      expect(jsonLines(followed.out).at(-1)).toMatchObject({ type: 'outcome', status: 'waiting', exit_code: 130 });
      expect(errorOf(followed)).toMatchObject({ code: 'interrupted', id });
      expect(did(1)).toBe(false);
    });

    it('withdraws the question when the run has ended', async () => {
      const { id } = await startWaitingRun(at.world);
      const asked: string[] = [];
      const following = onTerminal(at.world, ['conv', 'follow', id], (question) => {
        asked.push(question);
        return never();
      });
      await until(() => asked.length === 1);
      expect((await conv('confirm', id, '--accept')).code).toBe(0);
      expect((await following).code).toBe(0);
    });

    it('exits 2 for a command that neither waits nor follows', async () => {
      expect((await conv('new', 'x', '--no-repo', '--replay', 'demo', '--on-confirm', 'accept')).code).toBe(2);
      expect((await conv('send', 'f'.repeat(32), 'x', '--on-confirm', 'accept')).code).toBe(2);
      expect((await conv('follow', 'f'.repeat(32), '--on-confirm', 'perhaps')).code).toBe(2);
    });
  });
});
