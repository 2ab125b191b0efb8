/** `conv new --stop-on-exit`: the run is stopped in the seconds after the deadline. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ID, OTHER_ID } from '../client/support/v1-server.ts';
import type { Ended } from '../support/world.ts';
import type { Reply } from '../support/server.ts';
import { useIdleV1, useLoose } from '../support/use-scripted.ts';
import { errorOf } from '../support/use-world.ts';

const at = useIdleV1();

describe('conv new --stop-on-exit', () => {
  let stops: string[];
  /** When the start task names its conversation: on the clock of the trap. */
  let begunAtMs: number;
  let sandboxId: string | null;

  beforeEach(() => {
    stops = [];
    begunAtMs = Number.POSITIVE_INFINITY;
    sandboxId = null;
    const task = (): Record<string, unknown> => {
      const isBegun = at.clock.now() >= begunAtMs;
      if (isBegun && at.v1.conversations.size === 0) at.v1.addConversation();
      return {
        id: OTHER_ID,
        status: isBegun ? 'READY' : 'WAITING_FOR_SANDBOX',
        detail: null,
        app_conversation_id: isBegun ? ID : null,
        sandbox_id: sandboxId,
        request: {},
        created_at: '2026-11-21T10:12:00Z',
        updated_at: '2026-11-21T10:12:00Z',
      };
    };
    at.v1.before = ({ method, path }) => {
      if (path === '/api/v1/sandboxes/search') return { json: { items: [], next_page_id: null } };
      if (path === '/api/v1/app-conversations' && method === 'POST') return { json: task() };
      if (path === '/api/v1/app-conversations/start-tasks') return { json: [task()] };
      if (/\/(interrupt|pause)$/.test(path)) {
        stops.push(path);
        if (at.v1.conversations.has(ID))
          at.v1.conversations.get(ID)!['execution_status'] = 'paused';
        return path.startsWith('/api/v1/sandboxes/') ? null : { json: { success: true } };
      }
      return null;
    };
  });

  const start = (): Promise<Ended> =>
    at.ends('conv new hello --no-repo --wait --wait-timeout 4s --stop-on-exit --json', {
      code: 124,
    });

  it('names the given time, and stops a run that begins within 5 s after it', async () => {
    begunAtMs = at.clock.now() + 6_000;
    const ended = await start();
    expect(stops.length).toBe(1);
    expect(errorOf(ended)).toMatchObject({ code: 'timeout' });
    expect(errorOf(ended).message).toContain(`after 4s; conversation ${ID} was stopped`);
  });

  it('reports that a run which awaits approval does not run', async () => {
    begunAtMs = at.clock.now();
    const { before } = at.v1;
    at.v1.before = (asked) => {
      const reply = before(asked);
      if (asked.path.endsWith('/interrupt'))
        at.v1.conversations.get(ID)!['execution_status'] = 'waiting_for_confirmation';
      return reply;
    };
    const ended = await start();
    expect(errorOf(ended).message).toContain(
      `conversation ${ID} waits for a confirmation and does not run`,
    );
  });

  it.each<[string, string, number]>([
    ['pauses the sandbox', 'its sandbox sb9 was paused', 1],
    [
      'keeps the sandbox of other conversations',
      '(sandbox sb9 has other conversations) and may continue',
      0,
    ],
  ])('%s of a start that is not ready', async (_, message, pauses) => {
    sandboxId = 'sb9';
    at.v1.addSandbox(sandboxId);
    if (pauses === 0) at.v1.addConversation({ sandbox_id: 'sb9' });
    const ended = await start();
    expect(errorOf(ended).message).toContain(message);
    expect(stops).toEqual(Array<string>(pauses).fill('/api/v1/sandboxes/sb9/pause'));
  });

  it('reports that the run may continue where it cannot be stopped, and prints the stop command', async () => {
    const ended = await start();
    expect(stops).toEqual([]);
    expect(errorOf(ended).message).toContain(
      `start task ${OTHER_ID} could not be stopped (it is still being started) and may continue`,
    );
    expect(errorOf(ended).hint).toContain(`stop it: acs conv stop ${OTHER_ID}`);
  });

  it('names the refusal of the stop, and not that the run was still starting before', async () => {
    begunAtMs = at.clock.now() + 6_000;
    const answer = at.v1.before;
    at.v1.before = (asked) =>
      /\/(interrupt|pause)$/.test(asked.path)
        ? { status: 403, json: { detail: 'not yours' } }
        : answer(asked);
    const ended = await start();
    expect(errorOf(ended).message).toContain('could not be stopped');
    expect(errorOf(ended).message).not.toContain('still being started');
  });

  it('uses the time after the deadline for the stop alone', async () => {
    begunAtMs = at.clock.now();
    const { before } = at.v1;
    let isLate = false;
    at.v1.before = (request) => {
      if (request.path.endsWith('/events/search') && !isLate) {
        isLate = true;
        at.clock.sleep(4_000).then(
          () =>
            (at.v1.before = ({ path }) =>
              path.endsWith('interrupt') ? before(request) : { silence: true }),
          () => undefined,
        );
      }
      return before(request);
    };
    const ended = await start();
    expect(errorOf(ended).hint).toContain(`acs conv stop ${ID}`);
  });
});

describe('conv new --stop-on-exit', () => {
  const loose = useLoose();
  const LINE = 'conv new WORK --no-repo --wait --wait-timeout 3s --stop-on-exit --json';

  it.each<[string, boolean, Reply | null]>([
    ['the run continues', true, null],
    ['its record cannot be read', false, { status: 500, json: {} }],
  ])(
    'does not claim a stop that the server accepts where %s after it',
    async (_, isIgnored, reply) => {
      if (isIgnored) loose.serve({ ignores: ['stop'] });
      let isSent = false;
      loose.script(({ method, path }) => {
        isSent ||= method === 'POST' && /(pause|interrupt)$/.test(path);
        return isSent && method === 'GET' ? reply : null;
      });
      const ended = await loose.ends(LINE, {
        code: 124,
        out: { status: 'running' },
        hides: /was stopped/,
      });
      const [id] = loose.loose.conversations.keys();
      expect(errorOf(ended).message).toMatch(
        /accepted that and does not show the effect\) and may continue$/,
      );
      expect(errorOf(ended).hint).toContain(`acs conv stop ${id}`);
    },
  );

  it('does not claim a pause of the sandbox that the server ignores', async () => {
    loose.serve({ ignores: ['pause'] });
    loose.script(({ path }) => {
      const items = [...loose.loose.tasks.values()].map((task) => ({
        ...task,
        status: 'WAITING_FOR_SANDBOX',
      }));
      if (path.endsWith('/start-tasks')) return { json: items };
      if (path.endsWith('/start-tasks/search')) return { json: { items, next_page_id: null } };
      return path.endsWith('/app-conversations/search')
        ? { json: { items: [], next_page_id: null } }
        : null;
    });
    const ended = await loose.ends(LINE, { code: 124, hides: /was paused/ });
    expect(errorOf(ended).message).toMatch(
      /accepted that and does not show the effect\) and may continue$/,
    );
  });
});

describe('conv new --stop-on-exit of a run without a status after the stop', () => {
  const loose = useLoose();

  it('reads the status again', async () => {
    const options: { omits?: readonly string[] } = {};
    loose.serve(options);
    let readsWithoutStatus = 0;
    loose.loose.before = ({ method, path }) => {
      if (method === 'POST' && /(pause|interrupt)$/.test(path))
        options.omits = ['execution_status'];
      if (options.omits === undefined || method !== 'GET' || path !== '/api/v1/app-conversations')
        return null;
      // More reads than one look at a record without a status makes.
      if (++readsWithoutStatus === 9) delete options.omits;
      return null;
    };
    const out = { status: 'paused', outcome: { status: 'paused' } };
    await loose.ends('conv new WORK --no-repo --wait --wait-timeout 5s --stop-on-exit --json', {
      code: 124,
      out,
    });
    expect(readsWithoutStatus).toBe(9);
  });
});
