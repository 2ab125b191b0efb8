/** Messages to conversations in each state, stopping them, and confirmations. */
import { expect } from 'vitest';
import { chat, KEYS } from '../../commands/conv/support.ts';
import {
  conversation,
  errorOf,
  events,
  expectCode,
  finished,
  inEachDialect,
  json,
  ok,
  show,
  started,
  until,
  untilAtWork,
} from '../support.ts';
import type { ContractCase, Dialect, Target } from '../target.ts';

export const SENDING: ContractCase[] = [
  ...inEachDialect(
    'send: a message continues a finished run, and the outcome is that of the new message',
    async (target, dialect) => {
      const id = await finished(target, dialect, 'WORK');
      const sent = await ok(target, 'conv', 'send', id, 'QUICK now', '--wait', '--json');
      expect(json<{ status: string }>(sent)).toMatchObject({
        status: 'finished',
        conversation_id: id,
      });
      expect((await ok(target, 'conv', 'result', id)).out).toBe('Done at once.');
      const said = (await events(target, id, '--source', 'user')).map(({ text }) => text);
      expect(said.filter((text) => text === 'QUICK now')).toHaveLength(1);
    },
  ),
  ...inEachDialect(
    'chat: a message at the prompt gets its answer, and /quit leaves with 0',
    async (target, dialect) => {
      const id = await finished(target, dialect, 'WORK');
      const terminal = chat(target, id, '--tail', '0');
      await terminal.prompt();
      terminal.type(`QUICK now${KEYS.enter}`);
      await terminal.sees('you    QUICK now');
      await terminal.sees('Done at once.');
      await terminal.prompt();
      terminal.type(`/quit${KEYS.enter}`);
      expect(await terminal.ended).toBe(0);
      expect((await ok(target, 'conv', 'result', id)).out).toBe('Done at once.');
    },
  ),
  ...inEachDialect('send: to a run in progress', async (target, dialect) => {
    const { id } = await started(target, dialect, target.hasModel ? 'COUNT' : 'WORK');
    if (target.hasModel) await untilAtWork(target, id);
    expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--wait'), 0);
    expect((await show(target, id)).status).toBe('finished');
    expect((await ok(target, 'conv', 'result', id)).out).toMatch(/Done at once\.|All done\./);
  }),
  ...inEachDialect(
    'stop: while a command runs; a message continues the run',
    async (target, dialect) => {
      const { id } = await started(target, dialect, 'SLOW');
      await untilAtWork(target, id);
      const stopped = json(await ok(target, 'conv', 'stop', id, '--json'));
      expect(stopped.changed).toBe(true);
      expect(['paused', 'stopped']).toContain(stopped.status);
      expect(json(await ok(target, 'conv', 'stop', id, '--json')).changed).toBe(false);
      expectCode(await target.acs('conv', 'wait', id), 6);
      await target.releaseCommands();
      expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--wait', '--resume'), 0);
    },
  ),
  ...inEachDialect(
    'confirmation: the run waits, a message is refused, and nothing is carried out',
    async (target, dialect) => {
      await ok(target, 'settings', 'set', 'confirmation_mode=true', 'security_analyzer=llm');
      try {
        await refusesWhileWaiting(target, dialect);
      } finally {
        await ok(target, 'settings', 'set', 'confirmation_mode=false');
      }
    },
  ),
];

async function refusesWhileWaiting(target: Target, dialect: Dialect): Promise<void> {
  const made = expectCode(await conversation(target, dialect, 'RISKY', '--wait', '--json'), 8);
  const { id, status } = json(made);
  expect(status).toBe('waiting');
  expect((await show(target, id)).waiting_for).not.toBeNull();
  expectCode(await target.acs('conv', 'wait', id), 8);
  expect(
    errorOf(expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--json'), 8)).code,
  ).toBe('needs-input');
  expect((await show(target, id)).status).toBe('waiting');
  await ok(target, 'conv', 'stop', id);
  await until('the state after stop', async () => (await show(target, id)).status !== 'running');
  const observed = (await events(target, id)).filter(
    ({ kind }) => kind === 'ObservationEvent' || kind === 'observation:run',
  );
  expect(observed.map(({ text }) => text)).toEqual([]);
}
