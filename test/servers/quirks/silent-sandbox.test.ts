/** A sandbox that accepts connections and never answers, while its app server does. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentMessage, ID, userMessage } from '../support/v1-world.ts';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';

/** More than two pages of the app server's copy. */
const MESSAGES = 250;

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
  trap.addConversation();
  trap.appEvents.push(userMessage('do it'));
  for (let index = 1; index < MESSAGES; index++) trap.appEvents.push(agentMessage(`message ${index}`));
  trap.agentEvents.push(...trap.appEvents);
});
afterEach(() => trap.close());

const asksSandbox = (path: string): boolean => path.startsWith('/agent/');
const idsOf = (out: string): unknown[] => (JSON.parse(out) as { items: { id: unknown }[] }).items.map(({ id }) => id);

it.each([
  ['from the beginning', ['--json']],
  ['from the end', ['--json', '--tail', String(MESSAGES)]],
])('conv events reads the copy %s after one request time-out, with a notice', async (_, args) => {
  trap.before = ({ path }) => (asksSandbox(path) ? { silence: true } : null);
  const { code, out, err } = await trap.acs('conv', 'events', ID, ...args, '--request-timeout', '1s');
  expect(code, err).toBe(0);
  expect(idsOf(out)).toEqual(trap.appEvents.map(({ id }) => id));
  expect(err.match(/the sandbox does not answer \(.*\); this is the copy of the app server/g)).toHaveLength(1);
  expect(trap.fake.asked.filter(({ path }) => asksSandbox(path))).toHaveLength(1);
});

it('conv events continues with the copy when the sandbox stops answering, after one request time-out', async () => {
  trap.before = ({ path, query }) => (asksSandbox(path) && query.get('page_id') !== null ? { silence: true } : null);
  const { code, out, err } = await trap.acs('conv', 'events', ID, '--json', '--request-timeout', '1s');
  expect(code, err).toBe(0);
  expect(idsOf(out)).toEqual(trap.appEvents.map(({ id }) => id));
  expect(err).toContain('this is the copy of the app server');
  const unanswered = trap.fake.asked.filter(({ path, query }) => asksSandbox(path) && query.get('page_id') !== null);
  expect(unanswered).toHaveLength(1);
});
