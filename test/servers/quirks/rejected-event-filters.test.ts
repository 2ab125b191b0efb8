import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventTrap, items } from '../../traps/support/event-trap.ts';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import { finish, ID, status, userMessage } from '../support/v1-world.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await eventTrap();
});
afterEach(() => trap.close());

describe('times', () => {
  it('are compared by acs when a release answers every filter by time with 500', async () => {
    await trap.close();
    trap = await v1Trap('1.6.0');
    trap.addConversation({ sandbox_status: 'PAUSED', execution_status: null, conversation_url: null });
    trap.appEvents.push(
      { ...userMessage('before'), timestamp: '2026-11-21T10:15:00.000000' },
      { ...finish('after'), timestamp: '2026-11-21T10:16:00.000000' },
      { ...status('finished'), timestamp: '2026-11-21T10:16:01.000000' },
    );
    trap.before = ({ query }) =>
      query.has('timestamp__gte') ? { status: 500, text: 'Internal Server Error', type: 'text/plain' } : null;
    const { code, out, err } = await trap.acs('conv', 'events', ID, '--since', '2026-11-21T10:15:30Z', '--json');
    expect(code, err).toBe(0);
    expect(items(out).map(({ text }) => text)).toEqual(['after', 'execution_status: finished']);
  });
});
