import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTrap, type StartTrap } from '../../traps/support/start-trap.ts';
import { OTHER_ID } from '../support/v1-world.ts';

let trap: StartTrap;

beforeEach(async () => {
  trap = await startTrap();
});
afterEach(() => trap.close());

describe('a start task without an end', () => {
  it('is replaced by its conversation once the conversation runs', async () => {
    trap.tasksStandAt('STARTING_CONVERSATION', (id) => {
      trap.addConversation({ id });
      return {};
    });
    const { code, out, err } = await trap.start();
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: trap.sentId, status: 'running', start_task_id: OTHER_ID });
  });
});
