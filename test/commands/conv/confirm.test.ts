/** `conv confirm`, and --on-confirm of the verbs that wait. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { errorOf, useWorld } from '../../support/use-world.ts';
import {
  alone,
  endedRun,
  finish,
  json,
  jsonLines,
  onTerminal,
  putToSleep,
  replayFile,
  run,
  startWaitingRun,
  statusOf,
  until,
  type Person,
  type WaitingRun,
} from './support.ts';

const UNKNOWN = 'f'.repeat(32);
const never = (): Promise<never> => new Promise(() => {});
/** Ctrl-C at a prompt. */
const leave = (): Promise<never> =>
  Promise.reject(new AppError('interrupted', 'the prompt was cancelled', { exitCode: 130 }));

describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const at = useWorld({ api, spec: 'process', noun: 'conv', oneSandbox: true });
  const actionOf = async (id: string) =>
    json<{ action_id: string }>(await at.ends(`confirm ${id} --json`, { code: 8 })).action_id;

  /** A run that no test changes. */
  let kept: WaitingRun;
  beforeAll(async () => {
    kept = await startWaitingRun(at.world);
  });

  describe('conv confirm', () => {
    it('prints the whole action and exits 8 off a terminal, and changes nothing', async () => {
      const { id, did } = kept;
      const text = expect.stringMatching(/^\$ touch .*\necho done$/) as string;
      const risk = expect.stringMatching(/^(low|medium|high|unknown)$/) as string;
      const own = {
        conversation_id: id,
        kind: api === 'v1' ? 'TerminalAction' : 'run',
        text,
        risk,
      };
      await at.ends(`confirm ${id} --json`, {
        code: 8,
        out: { ...own, answer: null, others: [], changed: false },
      });
      await at.ends(`confirm ${id} -y`, { code: 8 });
      await at.ends(`result ${id}`, { code: 5, err: `acs conv confirm ${id}` });
      expect([did(1), await statusOf(at.world, id)]).toEqual([false, 'waiting']);
    });

    it('--reject skips the action, and the run waits for a message', async () => {
      const { id, did } = await startWaitingRun(at.world);
      await at.ends(`confirm ${id} --reject --json`, {
        out: { answer: 'rejected', changed: true },
      });
      await at.ends(`wait ${id}`, { code: 8 });
      expect(did(1)).toBe(false);
    });

    it('exits 6 for an action that is no longer pending', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const first = await actionOf(id);
      await at.ends(`confirm ${id} --action another`, { code: 6 });
      const other = await at.ends(`confirm ${id} --accept --action another --json`, { code: 6 });
      expect(errorOf(other)).toMatchObject({ code: 'conflict', pending: [first] });
      await at.ends(`confirm ${id} --accept --action ${first}`, {});
      await until(async () => {
        const { code, out } = await at.acs('confirm', id, '--json');
        return code === 8 && json<{ action_id: string }>({ out }).action_id !== first;
      });
      await at.ends(`confirm ${id} --accept --action ${first}`, { code: 6 });
      expect([did(1), did(2)]).toEqual([true, false]);
    });

    it('exits 6 when no confirmation is pending', async () => {
      const id = await endedRun(at.world);
      for (const flag of ['', '--accept', '--reject'])
        await at.ends(`confirm ${id} ${flag}`, { code: 6 });
      expect(await statusOf(at.world, id)).toBe('finished');
    });

    it('exits 6 for an action in a paused sandbox without --resume', async () => {
      const { id, did } = await startWaitingRun(alone(at.world));
      await putToSleep(at, id);
      // A stopped conversation of V0 has no status that shows the action.
      await at.ends(
        `confirm ${id} --json`,
        api === 'v1' ? { code: 8, out: /echo done/ } : { code: 6, err: '--resume' },
      );
      await at.ends(`confirm ${id} --accept`, {
        code: 6,
        err: `acs conv confirm ${id} --accept --resume`,
      });
      expect(did(1)).toBe(false);
      await at.ends(`confirm ${id} --accept --resume`, {});
      await at.ends(`wait ${id}`, {});
      expect(did(1)).toBe(true);
    });

    it('--resume starts the sandbox and prints the action, and conv send --resume does not', async () => {
      const { id, did } = await startWaitingRun(alone(at.world));
      await putToSleep(at, id);
      await at.ends(`confirm ${id} --resume --json`, { code: 8, out: /echo done/ });
      await at.ends(`show ${id} --json`, { out: { sandbox_status: 'running', status: 'waiting' } });
      await putToSleep(at, id);
      await at.ends(`send ${id} hello --resume`, { code: 8 });
      if (api === 'v1') await at.ends(`show ${id} --json`, { out: { sandbox_status: 'paused' } });
      expect(did(1)).toBe(false);
    });

    it('--dry-run prints the answer and does not send it', async () => {
      const { id } = kept;
      const v0 = { action: 'change_agent_state', args: { agent_state: 'user_confirmed' } };
      const out = { requests: [{ method: 'POST', body: api === 'v1' ? { accept: true } : v0 }] };
      await at.ends(`confirm ${id} --accept --dry-run --json`, { out, writes: [] });
    });

    it('prompts on a terminal, below the whole action', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const left = await onTerminal(at.world, ['conv', 'confirm', id], leave);
      expect([left.code, left.err, did(1)]).toEqual([
        130,
        expect.stringContaining('echo done'),
        false,
      ]);
      await at.ends(`confirm ${id}`, { answers: [true] });
      await at.ends(`wait ${id}`, {});
      expect(did(1)).toBe(true);
    });

    it.runIf(api === 'v1')('sends the reason of a rejection to the agent', async () => {
      const { id } = await startWaitingRun(at.world);
      await at.ends(['confirm', id, '--reject', '--reason', 'not like that'], {});
      await at.ends(`events ${id} --kind UserRejectObservation --json`, { out: /not like that/ });
    });

    it.runIf(api === 'v0')(
      'exits 12 for a reason, and sends an answer only while the action waits',
      async () => {
        const { id } = await startWaitingRun(at.world);
        await at.ends(`confirm ${id} --reject --reason no`, { code: 12, writes: [] });
        await at.ends(`confirm ${id} --reject`, {
          writes: [`POST /api/conversations/${id}/events`],
        });
        const body = { action: 'change_agent_state', args: { agent_state: 'user_rejected' } };
        expect(at.server.writes()).toMatchObject([{ body }]);
        await at.ends(`confirm ${id} --accept`, { code: 6 });
        expect(at.writes()).toHaveLength(1);
      },
    );

    it.runIf(api === 'v0')(
      'exits 12 for a reason in a stopped conversation, and starts nothing',
      async () => {
        const { id } = await startWaitingRun(at.world);
        await putToSleep(at, id);
        await at.ends(`confirm ${id} --reject --reason no --resume`, { code: 12, writes: [] });
      },
    );

    at.rows({
      'exits 2 for both answers': { acs: `confirm ${UNKNOWN} --accept --reject`, code: 2 },
      'exits 2 for a reason without a rejection': {
        acs: `confirm ${UNKNOWN} --accept --reason no`,
        code: 2,
      },
      'exits 5 for an unknown id': { acs: `confirm ${UNKNOWN} --accept`, code: 5 },
      '--on-confirm exits 2 for conv new that does not wait': {
        acs: 'new x --no-repo --replay demo --on-confirm accept',
        code: 2,
      },
      '--on-confirm exits 2 for conv send that does not wait': {
        acs: `send ${UNKNOWN} x --on-confirm accept`,
        code: 2,
      },
      '--on-confirm exits 2 for another word': {
        acs: `follow ${UNKNOWN} --on-confirm perhaps`,
        code: 2,
      },
    });
  });

  describe('--on-confirm', () => {
    it('exit makes conv follow exit 8', async () => {
      const { id, did } = kept;
      for (const flags of ['', '--on-confirm ask'])
        await at.ends(`follow ${id} ${flags}`, { code: 8, err: `acs conv confirm ${id}` });
      expect(did(1)).toBe(false);
    });

    it('accept accepts each action', async () => {
      const { id, did } = await startWaitingRun(at.world, 3);
      const followed = await at.ends(`follow ${id} --on-confirm accept --json`, {});
      expect(jsonLines(followed.out).at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
      expect([did(1), did(2), did(3)]).toEqual([true, true, true]);
      expect(followed.err.match(/accepted: /g)).toHaveLength(3);
    });

    it('reject rejects the action, and the command exits 8', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      await at.ends(`follow ${id} --on-confirm reject`, { code: 8 });
      expect([did(1), did(2)]).toEqual([false, false]);
    });

    const follow = (id: string, person: Person, ...flags: string[]) =>
      onTerminal(at.world, ['conv', 'follow', id, ...flags], person);

    it('ask prompts on a terminal and continues to follow', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const answers = ['yes', 'no', 'use b.txt'];
      const followed = await follow(id, () => Promise.resolve(answers.shift() ?? ''));
      expect(followed.code, followed.err).toBe(8);
      expect([did(1), did(2)]).toEqual([true, false]);
      const { out } = await at.ends(`events ${id} --json`, {});
      // V0 takes no reason.
      expect([answers.length, out.includes('use b.txt')]).toEqual(
        api === 'v1' ? [0, true] : [1, false],
      );
    });

    it('hides the status line during the prompt', async () => {
      const { id } = await startWaitingRun(at.world, 2);
      const rows: string[] = [];
      const answers = ['yes'];
      const followed = await follow(id, async (_question, _until, _shown, screen) => {
        await new Promise((resolve) => setImmediate(resolve));
        rows.push(screen?.last ?? '');
        return answers.shift() ?? (await leave());
      });
      expect([followed.code, rows]).toEqual([130, ['', '']]);
      expect(followed.err).toMatch(/waiting · \d+:\d\d/);
      expect(followed.err.lastIndexOf('\x1b[J')).toBeGreaterThan(followed.err.lastIndexOf(' · '));
    });

    it('withdraws the question when another client answers', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const asked: (AbortSignal | undefined)[] = [];
      const shownBelow: string[] = [];
      const following = follow(id, (_question, closed, shown) => {
        const before = shown?.() ?? '';
        closed?.addEventListener('abort', () =>
          shownBelow.push((shown?.() ?? '').slice(before.length)),
        );
        asked.push(closed);
        return asked.length === 1 ? never() : leave();
      });
      await until(() => asked.length === 1);
      await at.ends(`confirm ${id} --accept`, {});
      const followed = await following;
      expect(followed.code, followed.err).toBe(130);
      expect(followed.err).toContain('answered elsewhere');
      expect(asked.map((signal) => signal?.aborted)).toEqual([true, true]);
      expect(shownBelow[0], 'nothing is written over an open question').toBe('');
      expect([did(1), did(2)]).toEqual([true, false]);
    });

    it('exits 130 when the question is left with Ctrl-C, and reports that the run continues', async () => {
      const { id, did } = kept;
      const followed = await follow(id, leave, '--json');
      expect(followed.code).toBe(130);
      expect(jsonLines(followed.out).at(-1)).toMatchObject({
        type: 'outcome',
        status: 'waiting',
        exit_code: 130,
      });
      expect(errorOf(followed)).toMatchObject({ code: 'interrupted', id });
      expect(did(1)).toBe(false);
    });

    it('withdraws the question when the run has ended', async () => {
      const { id } = await startWaitingRun(at.world);
      const asked: string[] = [];
      const following = follow(id, (question) => {
        asked.push(question);
        return never();
      });
      await until(() => asked.length === 1);
      await at.ends(`confirm ${id} --accept`, {});
      expect((await following).code).toBe(0);
    });
  });

  it.runIf(api === 'v1')(
    'conv new --confirm sends the policy, and the first action of a replay waits',
    async () => {
      const mark = path.join(at.dir, 'first-step');
      await replayFile(at.world, 'first.json', [run(`touch ${mark}`), finish('done')]);
      const place = `--sandbox ${at.world.sandbox}`;
      const start = `new --no-repo --replay first.json ${place} --wait --json --confirm`;
      await at.ends(`${start} always`, { code: 8 });
      expect(at.server.writes()).toMatchObject([
        { body: { confirmation_policy: { kind: 'AlwaysConfirm' } } },
      ]);
      await at.ends(`${start} risky`, { code: 8 });
      expect(existsSync(mark)).toBe(false);
      await at.ends(`${start} always --on-confirm accept`, {});
      expect(existsSync(mark)).toBe(true);
      await at.ends(`${start} never`, {});
    },
  );
});
