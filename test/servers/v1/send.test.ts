/**
 * While an action waits for a confirmation, a message that runs, and a run, make a genuine server carry it out
 * (interface 7.4): recorded on both releases, over V0 any change of the agent's state as well.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { event, ID, status, userMessage } from '../support/v1-world.ts';
import { NOT_FOUND, type Asked, type Reply } from '../support/fake-server.ts';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';

const WAITING = 'waiting_for_confirmation';

describe.each(['1.11.0', '1.6.0'] as const)('at a server of release %s', (release) => {
  let trap: V1Trap;
  let written: Asked[];
  /** What the server does besides saying yes. */
  let moves: (asked: Asked) => Reply;

  beforeEach(async () => {
    trap = await v1Trap(release);
    written = [];
    moves = () => ({ json: { success: true } });
    trap.before = (asked) => {
      if (asked.method !== 'POST') return null;
      written.push(asked);
      return moves(asked);
    };
  });
  afterEach(() => trap.close());

  /** The status in the record, and the status in the sandbox. */
  function standsAt(recorded: string | null, actual: string): void {
    trap.addConversation({ execution_status: recorded });
    trap.agentState['execution_status'] = actual;
    trap.agentEvents.push(
      userMessage('do it'),
      event('ActionEvent', {
        tool_name: 'terminal',
        tool_call_id: 'call-1',
        action: { kind: 'TerminalAction', command: 'rm -r everything' },
        security_risk: 'HIGH',
      }),
      status(actual),
    );
  }
  const paths = (): string[] => written.map(({ path }) => path.slice(path.lastIndexOf('/')));

  it.each([
    ['the record says so', WAITING],
    ['the record is older and says that it runs', 'running'],
    ['the record shows no state for a moment', null],
  ])('a message is not sent when %s', async (_, recorded) => {
    standsAt(recorded, WAITING);
    const { code, err } = await trap.acs('conv', 'send', ID, 'hello');
    expect({ code, written }).toEqual({ code: 8, written: [] });
    expect(err).toContain(`acs conv confirm ${ID}`);
  });

  it('a message is not sent when the sandbox does not answer and its events contain the action', async () => {
    standsAt(null, WAITING);
    trap.appEvents.push(...trap.agentEvents);
    const { before } = trap;
    trap.before = (asked) => (asked.path.startsWith('/agent/') ? { cut: true } : before(asked));
    expect(await trap.acs('conv', 'send', ID, 'hello')).toMatchObject({ code: 8 });
    expect(written).toEqual([]);
  });

  it('a message to a run that begins to await a confirmation at that moment is stored, and the action still waits', async () => {
    standsAt('running', 'running');
    moves = () => {
      trap.agentState['execution_status'] = WAITING;
      return { json: { success: true } };
    };
    const { code, err } = await trap.acs('conv', 'send', ID, 'hello');
    expect(code, err).toBe(0);
    expect(written.map(({ body }) => (body as { run?: boolean }).run)).toEqual([false]);
  });

  it('a message to a run that ends at that moment is processed', async () => {
    standsAt('running', 'running');
    moves = ({ path }) => {
      const isRun = path.endsWith('/run');
      trap.agentState['execution_status'] = isRun ? 'running' : 'finished';
      trap.agentEvents.push(...(isRun ? [status('running')] : [status('finished'), userMessage('hello')]));
      return { json: { success: true } };
    };
    const { code, err } = await trap.acs('conv', 'send', ID, 'hello');
    expect(code, err).toBe(0);
    expect(paths()).toEqual([release === '1.11.0' ? '/send-message' : '/events', '/run']);
  });

  it('a message that has arrived is reported as sent although the sandbox stops answering', async () => {
    standsAt('running', 'running');
    const { before } = trap;
    moves = () => {
      trap.before = (asked) => (asked.path.startsWith('/agent/') ? { cut: true } : before(asked));
      return { json: { success: true } };
    };
    const { code, err } = await trap.acs('conv', 'send', ID, 'hello');
    expect(code, err).toBe(0);
    expect(err).toContain(`acs conv resume ${ID}`);
    expect(written).toHaveLength(1);
  });

  it('a message goes to the sandbox when the server has no document and the route of the app server is missing', async () => {
    standsAt('finished', 'finished');
    const { before } = trap;
    trap.before = (asked) => (asked.path === '/openapi.json' ? NOT_FOUND : before(asked));
    moves = ({ path }) => (path.endsWith('/send-message') ? NOT_FOUND : { json: { success: true } });
    const { code, err } = await trap.acs('conv', 'send', ID, 'hello');
    expect(code, err).toBe(0);
    expect(written.filter(({ path }) => path.startsWith('/agent/'))).toHaveLength(1);
  });

  it('conv resume exits 8 and starts no run', async () => {
    standsAt('running', WAITING);
    expect(await trap.acs('conv', 'resume', ID)).toMatchObject({ code: 8 });
    expect(written).toEqual([]);
  });

  it('an action other than the printed one is not answered', async () => {
    standsAt(WAITING, WAITING);
    const { code } = await trap.acs('conv', 'confirm', ID, '--accept', '--action', 'an-older-action');
    expect({ code, written }).toEqual({ code: 6, written: [] });
  });
});
