import type { Reply } from '../../servers/support/fake-server.ts';
import { recordings } from '../../servers/support/recordings.ts';
import { OTHER_ID } from '../../servers/support/v1-world.ts';
import type { Ended } from '../../support/world.ts';
import { v1Trap, type V1Trap } from './trap.ts';

/** A recorded start task. */
export const RECORDED_TASK = (recordings('1.11.0').body('tasks.get') as Record<string, unknown>[])[0] ?? {};
const SANDBOX = '3FMPmdQNoK7m6jOnQfBmeI';

export interface StartTrap extends V1Trap {
  /** The id the start was sent with, which servers echo; empty before the start. */
  sentId: string;
  /** Accepts a start, whose task OTHER_ID then stays at this status; `members` gets the id that was sent. */
  tasksStandAt(status: string, members?: (id: string) => Record<string, unknown>): void;
  /** Runs `conv new` with these flags. */
  start(...flags: string[]): Promise<Ended>;
}

/** A V1 server on which the test sets the status of start tasks. */
export async function startTrap(): Promise<StartTrap> {
  const trap: StartTrap = Object.assign(await v1Trap(), {
    sentId: '',
    tasksStandAt(status: string, members: (id: string) => Record<string, unknown> = () => ({})) {
      trap.before = ({ method, path, body }): Reply | null => {
        if (method !== 'POST' || path !== '/api/v1/app-conversations') return null;
        trap.sentId = String((body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
        const task = {
          ...RECORDED_TASK,
          id: OTHER_ID,
          status,
          app_conversation_id: null,
          sandbox_id: SANDBOX,
          agent_server_url: null,
          request: { ...(RECORDED_TASK['request'] as object), conversation_id: trap.sentId },
          ...members(trap.sentId),
        };
        // The answer to the start carries a zone, the polled task does not; both are UTC.
        trap.tasks.set(OTHER_ID, task);
        return { json: { ...task, status: 'WORKING', created_at: `${String(RECORDED_TASK['created_at'])}Z` } };
      };
    },
    start: (...flags: string[]) => trap.acs('conv', 'new', 'hello', '--no-repo', '--json', ...flags),
  });
  return trap;
}
