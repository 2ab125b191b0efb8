/**
 * Which requests wait for their turn: those to the app server, as servers limit them (interface
 * 13).
 */
import { beforeEach, expect, it } from 'vitest';
import { PACE_LIMITS } from '../../../src/client/http/time-limits.ts';
import { TestClock } from '../../support/test-clock.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { agentMessage, ID } from '../support/v1-server.ts';

const PAGES = 30;
/** No turn is waited for so long. */
const TURN_MS = 1_000;
const at = useV1();
let clock: TestClock;

beforeEach(() => {
  // Each turn that is waited for is one pause, and moves the time on.
  clock = new TestClock({ movedBy: 'sleeps', limitMs: TURN_MS, startMs: Date.now() });
  for (let index = 0; index < PAGES * 100; index++)
    at.v1.agentEvents.push(agentMessage(`message ${index}`));
  at.v1.appEvents.push(...at.v1.agentEvents);
});

/** The pauses before a turn; a longer one is the limit of a request. */
const turns = (): number => clock.pauses.filter((ms) => ms < TURN_MS).length;

async function readEvents(): Promise<{ agent: number; app: number }> {
  const args = ['conv', 'events', ID, '--json'];
  const env = { ACS_RATE: String(PACE_LIMITS['self-hosted'].perSecond) };
  const { code, out, err } = await at.invoke({ args, clock, env });
  expect(code, err).toBe(0);
  expect((JSON.parse(out) as { items: unknown[] }).items).toHaveLength(PAGES * 100);
  const agent = at.server.asked.filter(({ path }) => path.startsWith('/agent/')).length;
  return { agent, app: at.server.asked.length - agent };
}

it('requests to an agent server are not paced', async () => {
  at.v1.addConversation();
  expect((await readEvents()).agent).toBeGreaterThanOrEqual(PAGES);
  expect(turns()).toBe(0);
});

it('requests to the app server are paced', async () => {
  at.v1.addConversation({
    sandbox_status: 'PAUSED',
    conversation_url: null,
    session_api_key: null,
  });
  const { app } = await readEvents();
  expect(app).toBeGreaterThanOrEqual(PAGES);
  expect(turns()).toBeGreaterThanOrEqual(app - PACE_LIMITS['self-hosted'].burst);
});
