/** `conv new --stop-on-timeout`: the run is stopped in the seconds after the deadline. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ID, OTHER_ID } from '../servers/support/v1-world.ts';
import type { Ended } from '../support/world.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
});
afterEach(() => trap.close());

function errorOf({ err }: Ended): { code: string; message: string; hint: string; id?: string } {
  const last = err.trimEnd().split('\n').at(-1) ?? '';
  return (JSON.parse(last) as { error: { code: string; message: string; hint: string } }).error;
}

describe('conv new --stop-on-timeout', () => {
  let stops: string[];
  /** When the start task names its conversation: on the clock of the trap. */
  let begunAtMs: number;

  beforeEach(() => {
    stops = [];
    begunAtMs = Number.POSITIVE_INFINITY;
    const task = (): Record<string, unknown> => {
      const isBegun = trap.clock.now() >= begunAtMs;
      if (isBegun && trap.conversations.size === 0) trap.addConversation();
      return {
        id: OTHER_ID,
        status: isBegun ? 'READY' : 'WAITING_FOR_SANDBOX',
        detail: null,
        app_conversation_id: isBegun ? ID : null,
        sandbox_id: null,
        request: {},
        created_at: '2026-11-21T10:12:00Z',
        updated_at: '2026-11-21T10:12:00Z',
      };
    };
    trap.before = ({ method, path }) => {
      if (path === '/api/v1/sandboxes/search') return { json: { items: [], next_page_id: null } };
      if (path === '/api/v1/app-conversations' && method === 'POST') return { json: task() };
      if (path === '/api/v1/app-conversations/start-tasks') return { json: [task()] };
      if (/\/(interrupt|pause)$/.test(path)) {
        stops.push(path);
        trap.conversations.get(ID)!['execution_status'] = 'paused';
        return { json: { success: true } };
      }
      return null;
    };
  });

  const start = (): Promise<Ended> =>
    trap.acs('conv', 'new', 'hello', '--no-repo', '--wait', '--wait-timeout', '4s', '--stop-on-timeout', '--json');

  it('names the given time, and stops a run that begins within 5 s after it', async () => {
    begunAtMs = trap.clock.now() + 6_000;
    const ended = await start();
    expect(ended.code, ended.err).toBe(124);
    expect(stops.length).toBe(1);
    expect(errorOf(ended)).toMatchObject({ code: 'timeout' });
    expect(errorOf(ended).message).toContain(`after 4s; conversation ${ID} was stopped`);
  });

  it('reports that the run continues where it cannot be stopped, and prints the stop command', async () => {
    const ended = await start();
    expect({ code: ended.code, stops }, ended.err).toEqual({ code: 124, stops: [] });
    expect(errorOf(ended).message).toMatch(/could not be stopped \(.+\) and continues/);
    expect(errorOf(ended).hint).toContain(`stop it: acs conv stop ${OTHER_ID}`);
  });

  it('names the refusal of the stop, and not that the run was still starting before', async () => {
    begunAtMs = trap.clock.now() + 6_000;
    const answer = trap.before;
    trap.before = (asked) =>
      /\/(interrupt|pause)$/.test(asked.path) ? { status: 403, json: { detail: 'not yours' } } : answer(asked);
    const ended = await start();
    expect(ended.code, ended.err).toBe(124);
    expect(errorOf(ended).message).toContain('could not be stopped');
    expect(errorOf(ended).message).not.toContain('still being started');
  });

  it('uses the time after the deadline for the stop alone', async () => {
    begunAtMs = trap.clock.now();
    const { before } = trap;
    let isLate = false;
    trap.before = (request) => {
      if (request.path.endsWith('/events/search') && !isLate) {
        isLate = true;
        trap.clock.sleep(4_000).then(
          () => (trap.before = ({ path }) => (path.endsWith('interrupt') ? before(request) : { silence: true })),
          () => undefined,
        );
      }
      return before(request);
    };
    const ended = await start();
    expect(ended.code, ended.err).toBe(124);
    expect(errorOf(ended).hint).toContain(`acs conv stop ${ID}`);
  });
});
