import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import type { Reply } from '../support/fake-server.ts';
import { recordings } from '../support/recordings.ts';
import { OTHER_ID } from '../support/v1-world.ts';

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

describe('a start task without an end', () => {
  it('is replaced by its conversation once the conversation runs', async () => {
    tasksStandAt('STARTING_CONVERSATION', (id) => {
      trap.addConversation({ id });
      return {};
    });
    const { code, out, err } = await start();
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: sentId, status: 'running', start_task_id: OTHER_ID });
  });
});
