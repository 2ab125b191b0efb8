import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordingProxy } from '../../support/recording-proxy.ts';
import { createWorld } from '../../support/world.ts';
import { putToSleep } from './asleep.ts';
import { useConvWorld } from './conv-world.ts';
import { onTerminal } from './on-terminal.ts';
import { endedRun, errorOf, finish, json, replayFile, run, until } from './support.ts';
import { type ConfirmationJson, startWaitingRun, statusOf } from './waiting-run.ts';

describe.each(['v1', 'v0'] as const)('over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });
  const { conv } = at;
  const shown = async (id: string) => json<ConfirmationJson>(await conv('confirm', id, '--json'));

  describe('conv confirm', () => {
    it('prints the whole action and exits 8 off a terminal, and changes nothing', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const ended = await conv('confirm', id, '--json');
      expect(ended.code).toBe(8);
      expect(json<ConfirmationJson>(ended)).toMatchObject({
        conversation_id: id,
        kind: api === 'v1' ? 'TerminalAction' : 'run',
        text: expect.stringMatching(/^\$ touch .*\necho done$/) as string,
        answer: null,
        others: [],
        changed: false,
      });
      expect(['low', 'medium', 'high', 'unknown']).toContain(json<ConfirmationJson>(ended).risk);
      expect((await conv('confirm', id, '-y')).code).toBe(8);
      expect(did(1)).toBe(false);
      expect(await statusOf(at.world, id)).toBe('waiting');
    });

    it('--accept executes the action and the run continues', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const { action_id } = await shown(id);
      const accepted = await conv('confirm', id, '--accept', '--action', action_id, '--json');
      expect(accepted.code, accepted.err).toBe(0);
      expect(json<ConfirmationJson>(accepted)).toMatchObject({ action_id, answer: 'accepted', changed: true });
      expect((await conv('wait', id)).code).toBe(0);
      expect(did(1)).toBe(true);
    });

    it('--reject skips the action, and the run waits for a message', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const rejected = await conv('confirm', id, '--reject', '--json');
      expect(rejected.code, rejected.err).toBe(0);
      expect(json<ConfirmationJson>(rejected)).toMatchObject({ answer: 'rejected', changed: true });
      expect((await conv('wait', id)).code).toBe(8);
      expect(did(1)).toBe(false);
    });

    it('exits 6 for an action that is no longer pending', async () => {
      const { id, did } = await startWaitingRun(at.world, 2);
      const { action_id: first } = await shown(id);
      expect((await conv('confirm', id, '--action', 'another', '--json')).code).toBe(6);
      const other = await conv('confirm', id, '--accept', '--action', 'another', '--json');
      expect(other.code).toBe(6);
      expect(errorOf(other)).toMatchObject({ code: 'conflict', pending: [first] });
      expect((await conv('confirm', id, '--accept', '--action', first)).code).toBe(0);
      await until(
        async () => (await conv('confirm', id, '--json')).code === 8 && (await shown(id)).action_id !== first,
      );
      expect((await conv('confirm', id, '--accept', '--action', first)).code).toBe(6);
      expect([did(1), did(2)]).toEqual([true, false]);
    });

    it('exits 6 when no confirmation is pending', async () => {
      const id = await endedRun(at.world);
      for (const flag of [[], ['--accept'], ['--reject']]) expect((await conv('confirm', id, ...flag)).code).toBe(6);
      expect(await statusOf(at.world, id)).toBe('finished');
    });

    it('exits 6 for an action in a paused sandbox without --resume', async () => {
      const { id, did } = await startWaitingRun(at.world);
      await putToSleep(at.world, id);
      const looked = await conv('confirm', id, '--json');
      // A stopped conversation of V0 has no status that shows the action.
      expect(looked.code, looked.err).toBe(api === 'v1' ? 8 : 6);
      expect(api === 'v1' ? looked.out : looked.err).toContain(api === 'v1' ? 'echo done' : '--resume');
      const refused = await conv('confirm', id, '--accept', '--json');
      expect(refused.code).toBe(6);
      expect(errorOf(refused).hint).toContain(`acs conv confirm ${id} --accept --resume`);
      expect(did(1)).toBe(false);
      const accepted = await conv('confirm', id, '--accept', '--resume', '--json');
      expect(accepted.code, accepted.err).toBe(0);
      expect((await conv('wait', id)).code).toBe(0);
      expect(did(1)).toBe(true);
    });

    it('--resume starts the sandbox and prints the action', async () => {
      const { id, did } = await startWaitingRun(at.world);
      await putToSleep(at.world, id);
      const looked = await conv('confirm', id, '--resume', '--json');
      expect(looked.code, looked.err).toBe(8);
      expect(json<ConfirmationJson>(looked).text).toContain('echo done');
      expect(json(await conv('show', id, '--json'))).toMatchObject({ sandbox_status: 'running', status: 'waiting' });
      await putToSleep(at.world, id);
      const sent = await conv('send', id, 'hello', '--resume');
      expect(sent.code).toBe(8);
      if (api === 'v1') expect(json(await conv('show', id, '--json'))).toMatchObject({ sandbox_status: 'paused' });
      expect(did(1)).toBe(false);
    });

    it('is the hint of conv result while a confirmation is pending', async () => {
      const { id } = await startWaitingRun(at.world);
      const { code, err } = await conv('result', id);
      expect(code).toBe(5);
      expect(err).toContain(`acs conv confirm ${id}`);
    });

    it('--dry-run prints the answer and does not send it', async () => {
      const { id } = await startWaitingRun(at.world);
      const dry = await conv('confirm', id, '--accept', '--dry-run', '--json');
      expect(dry.code).toBe(0);
      expect(json<{ requests: unknown[] }>(dry).requests).toMatchObject([
        {
          method: 'POST',
          body:
            api === 'v1' ? { accept: true } : { action: 'change_agent_state', args: { agent_state: 'user_confirmed' } },
        },
      ]);
      expect(await statusOf(at.world, id)).toBe('waiting');
    });

    it('prompts on a terminal, below the whole action', async () => {
      const { id, did } = await startWaitingRun(at.world);
      const left = await onTerminal(at.world, ['conv', 'confirm', id], () => Promise.resolve('leave'));
      expect(left.code).toBe(8);
      expect(left.err).toContain('echo done');
      expect(did(1)).toBe(false);
      const accepted = await onTerminal(at.world, ['conv', 'confirm', id], () => Promise.resolve('accept'));
      expect(accepted.code).toBe(0);
      expect((await conv('wait', id)).code).toBe(0);
      expect(did(1)).toBe(true);
    });

    it('exits 2 for both answers, and for a reason without a rejection', async () => {
      const id = 'f'.repeat(32);
      expect((await conv('confirm', id, '--accept', '--reject')).code).toBe(2);
      expect((await conv('confirm', id, '--accept', '--reason', 'no')).code).toBe(2);
      expect((await conv('confirm', id, '--accept')).code).toBe(5);
    });
  });
});

describe('confirmations', () => {
  const at = useConvWorld({ spec: 'process' });
  it('send the reason of a rejection to the agent', async () => {
    const { id } = await startWaitingRun(at.world);
    const rejected = await at.world.acs('conv', 'confirm', id, '--reject', '--reason', 'not like that', '--json');
    expect(rejected.code).toBe(0);
    const { out } = await at.world.acs('conv', 'events', id, '--kind', 'UserRejectObservation', '--json');
    expect(out).toContain('not like that');
  });

  it('conv new --confirm makes the first action of a replay wait', async () => {
    const mark = path.join(at.world.dir, 'first-step');
    const file = await replayFile(at.world, 'first.json', [run(`touch ${mark}`), finish('done')]);
    const start = (...flags: string[]) =>
      at.world.acs('conv', 'new', '--no-repo', '--replay', file, '--wait', '--json', ...flags);
    expect((await start('--confirm', 'always')).code).toBe(8);
    expect((await start('--confirm', 'risky')).code).toBe(8);
    expect(existsSync(mark)).toBe(false);
    expect((await start('--confirm', 'always', '--on-confirm', 'accept')).code).toBe(0);
    expect(existsSync(mark)).toBe(true);
    expect((await start('--confirm', 'never')).code).toBe(0);
  });

  it('send the policy in the request of the start', async () => {
    const proxy = await recordingProxy(at.world.service.url);
    const start = ['conv', 'new', '--no-repo', '--replay', 'demo', '--confirm', 'always', '--wait'];
    const { code } = await at.world.invoke({ args: start, env: { ACS_BASE_URL: proxy.url } });
    await proxy.close();
    expect(code).toBe(8);
    expect(proxy.writes()).toMatchObject([{ body: { confirmation_policy: { kind: 'AlwaysConfirm' } } }]);
  });
});

describe('over V0', () => {
  it('a rejection with a reason of a stopped conversation exits 12 and starts nothing', async () => {
    const world = await createWorld({ api: 'v0', spec: 'process' });
    const proxy = await recordingProxy(world.service.url);
    try {
      const { id } = await startWaitingRun(world);
      await world.restart();
      const args = ['conv', 'confirm', id, '--reject', '--reason', 'no', '--resume'];
      const { code, err } = await world.invoke({ args, env: { ACS_BASE_URL: proxy.url } });
      expect({ code, writes: proxy.writes() }, err).toEqual({ code: 12, writes: [] });
    } finally {
      await proxy.close();
      await world.close();
    }
  });

  it('an answer is sent only while the action waits, and a reason exits 12', async () => {
    const world = await createWorld({ api: 'v0', spec: 'process' });
    const proxy = await recordingProxy(world.service.url);
    const acs = (...args: string[]) => world.invoke({ args, env: { ACS_BASE_URL: proxy.url } });
    try {
      const { id } = await startWaitingRun(world);
      expect((await acs('conv', 'confirm', id, '--reject', '--reason', 'no')).code).toBe(12);
      expect(proxy.writes()).toEqual([]);
      expect((await acs('conv', 'confirm', id, '--reject')).code).toBe(0);
      expect(proxy.writes()).toMatchObject([
        {
          path: `/api/conversations/${id}/events`,
          body: { action: 'change_agent_state', args: { agent_state: 'user_rejected' } },
        },
      ]);
      expect((await acs('conv', 'confirm', id, '--accept')).code).toBe(6);
      expect(proxy.writes()).toHaveLength(1);
    } finally {
      await proxy.close();
      await world.close();
    }
  });
});
