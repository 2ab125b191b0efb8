/** What a start may do besides starting: never end, forget the title, be called ready without its repository. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Reply } from '../servers/support/fake-server.ts';
import { recordings } from '../servers/support/recordings.ts';
import { OTHER_ID } from '../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

const RECORDED = (recordings('1.11.0').body('tasks.get') as Record<string, unknown>[])[0] ?? {};
const SANDBOX = '3FMPmdQNoK7m6jOnQfBmeI';
let trap: V1Trap;
/** The id the start was sent with; servers echo it. */
let sentId: string;

beforeEach(async () => {
  trap = await v1Trap();
  sentId = '';
});
afterEach(() => trap.close());

/** Takes a start, whose task then stands at this state. */
function tasksStandAt(status: string, members: (id: string) => Record<string, unknown> = () => ({})): void {
  trap.before = ({ method, path, body }): Reply | null => {
    if (method !== 'POST' || path !== '/api/v1/app-conversations') return null;
    sentId = String((body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
    const task = {
      ...RECORDED,
      id: OTHER_ID,
      status,
      app_conversation_id: null,
      sandbox_id: SANDBOX,
      agent_server_url: null,
      request: { ...(RECORDED['request'] as object), conversation_id: sentId },
      ...members(sentId),
    };
    // The answer to the start carries a zone, the polled task does not; both are UTC.
    trap.tasks.set(OTHER_ID, task);
    return { json: { ...task, status: 'WORKING', created_at: `${String(RECORDED['created_at'])}Z` } };
  };
}
const start = (...flags: string[]) => trap.acs('conv', 'new', 'hello', '--no-repo', '--json', ...flags);

describe('the title', () => {
  it('is set by a rename, because the server drops that of the start', async () => {
    tasksStandAt('READY', (id) => {
      trap.addConversation({ id, title: `Conversation ${id.slice(0, 5)}` });
      return { app_conversation_id: id };
    });
    const { before } = trap;
    trap.before = (asked) => {
      if (asked.method !== 'PATCH') return before(asked);
      const record = trap.conversations.get(sentId) ?? {};
      Object.assign(record, asked.body);
      return { json: record };
    };
    const { code, out, err } = await start('--title', 'What it is about');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: sentId, title: 'What it is about' });
    const started = trap.fake.asked.find(({ method }) => method === 'POST');
    expect(started?.body).not.toHaveProperty('title');
  });

  it('that cannot be set is an error, and the start is printed', async () => {
    tasksStandAt('READY', (id) => {
      trap.addConversation({ id });
      return { app_conversation_id: id };
    });
    const { before } = trap;
    trap.before = (asked) =>
      asked.method === 'PATCH' ? { status: 500, text: 'Internal Server Error', type: 'text/plain' } : before(asked);
    const { code, out, err } = await start('--title', 'What it is about');
    expect(JSON.parse(out)).toMatchObject({ id: sentId });
    expect(code, err).toBe(9);
    expect(err).toContain('acs conv rename');
  });
});

it('no id of digits alone is sent, because it breaks the database of servers', async () => {
  tasksStandAt('READY', (id) => {
    trap.addConversation({ id });
    return { app_conversation_id: id };
  });
  await start();
  expect(sentId).toMatch(/[a-f]/);
});
