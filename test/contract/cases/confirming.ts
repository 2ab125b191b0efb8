/** Actions that await approval, and runs that continue after a stop. */
import { expect } from 'vitest';
import {
  conversation,
  errorOf,
  events,
  expectCode,
  inEachDialect,
  json,
  lastStates,
  ok,
  show,
  started,
  untilAtWork,
  type EventJson,
} from '../support.ts';
import type { ContractCase, Dialect, Target } from '../target.ts';

interface PendingJson {
  action_id: string;
  text: string;
  risk: string;
  answer: string | null;
}

/** With confirmations on for conversations that begin within. */
async function confirming(target: Target, within: () => Promise<void>): Promise<void> {
  await ok(target, 'settings', 'set', 'confirmation_mode=true', 'security_analyzer=llm');
  try {
    await within();
  } finally {
    await ok(target, 'settings', 'set', 'confirmation_mode=false');
  }
}

/** A run whose first action waits; its id. */
async function waiting(target: Target, dialect: Dialect): Promise<string> {
  return json(expectCode(await conversation(target, dialect, 'RISKY', '--wait', '--json'), 8)).id;
}

async function executed(target: Target, id: string): Promise<EventJson[]> {
  const kinds = ['ObservationEvent', 'observation:run'];
  const ofTerminal = ({ kind, payload }: EventJson): boolean =>
    kinds.includes(kind) &&
    payload['tool_name'] !== 'finish' &&
    payload['observation'] !== 'finish';
  return (await events(target, id)).filter(ofTerminal);
}

export const CONFIRMING: ContractCase[] = [
  ...inEachDialect(
    'confirm: an action is shown, an id of another one is refused, and the accepted one ' +
      'is executed',
    (target, dialect) =>
      confirming(target, async () => {
        const id = await waiting(target, dialect);
        const seen = json<PendingJson>(
          expectCode(await target.acs('conv', 'confirm', id, '--json'), 8),
        );
        expect(seen.text).toContain('risky.txt');
        expect(seen.answer).toBeNull();
        expectCode(await target.acs('conv', 'confirm', id, '--accept', '--action', 'another'), 6);
        expect(await executed(target, id)).toEqual([]);
        const accepted = json<PendingJson>(
          await ok(target, 'conv', 'confirm', id, '--accept', '--action', seen.action_id, '--json'),
        );
        expect(accepted).toMatchObject({ answer: 'accepted', changed: true });
        expectCode(await target.acs('conv', 'wait', id), 0);
        expect(await executed(target, id)).toHaveLength(1);
        expectCode(await target.acs('conv', 'confirm', id, '--accept'), 6, 'no action is pending');
      }),
  ),
  ...inEachDialect(
    'confirm: after a rejection nothing is executed, and a message continues the run',
    (target, dialect) =>
      confirming(target, async () => {
        const id = await waiting(target, dialect);
        const withReason = await target.acs(
          'conv',
          'confirm',
          id,
          '--reject',
          '--reason',
          'Not here.',
        );
        // V0 has no place for a reason.
        if (withReason.code === 12 && dialect === 'v0')
          await ok(target, 'conv', 'confirm', id, '--reject');
        else expectCode(withReason, 0);
        expectCode(await target.acs('conv', 'wait', id), 8);
        expect(await executed(target, id)).toEqual([]);
        expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--wait'), 0);
      }),
  ),
  ...inEachDialect('confirm: a message that rejects the pending action', (target, dialect) =>
    confirming(target, async () => {
      const id = await waiting(target, dialect);
      expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--reject', '--wait'), 0);
      expect(await executed(target, id)).toEqual([]);
    }),
  ),
  ...inEachDialect(
    'resume: a run that was stopped continues to its end',
    async (target, dialect) => {
      const { id } = await started(target, dialect, 'SLOW');
      await untilAtWork(target, id);
      await ok(target, 'conv', 'stop', id);
      if (dialect === 'v0' && target.hasModel) {
        const asked = expectCode(await target.acs('conv', 'resume', id, '--wait', '--json'), 8);
        expect(errorOf(asked).hint).toContain('acs conv send');
        const start = await target.request('POST', `/api/conversations/${id}/start`, {
          providers_set: [],
        });
        const states = await lastStates(target, id);
        expect(states).toMatch(/^awaiting_user_input/);
        expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--wait'), 0);
        return {
          notHere:
            `a start of a stopped run is answered ${JSON.stringify(start)}, and the ` +
            `agent then waits for a message: its last states, the newest first: ${states}`,
        };
      }
      await target.releaseCommands();
      expectCode(await target.acs('conv', 'resume', id, '--wait'), 0);
      expect((await show(target, id)).status).toBe('finished');
      expect(json(await ok(target, 'conv', 'resume', id, '--json')).changed).toBe(false);
    },
  ),
];
