import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventTrap, items } from '../../traps/support/event-trap.ts';
import type { V1Trap } from '../../traps/support/trap.ts';
import { ID, userMessage } from '../support/v1-world.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await eventTrap();
});
afterEach(() => trap.close());

describe('times', () => {
  it('without a zone are UTC, and are printed with one', async () => {
    trap.agentEvents.push({ ...userMessage('do it'), timestamp: '2026-11-21T10:15:35.212958' });
    const { out } = await trap.acs('conv', 'events', ID, '--json');
    expect(items(out)[0]?.timestamp).toMatch(/^2026-11-21T10:15:35\.212(958)?Z$/);
  });

  it('are sent without a zone: with one the event of exactly that time would be left out', async () => {
    trap.agentEvents.push({ ...userMessage('exactly then'), timestamp: '2026-11-21T10:15:35.212000' });
    const { out } = await trap.acs('conv', 'events', ID, '--since', '2026-11-21T10:15:35.212Z', '--json');
    expect(items(out).map(({ text }) => text)).toEqual(['exactly then']);
    const sent = trap.fake.asked.map(({ query }) => query.get('timestamp__gte')).filter((time) => time !== null);
    expect(sent).toEqual(['2026-11-21T10:15:35.212']);
  });
});
