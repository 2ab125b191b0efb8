/** The title of a start, which servers drop, and the ids that starts send. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTrap, type StartTrap } from './support/start-trap.ts';

let trap: StartTrap;

beforeEach(async () => {
  trap = await startTrap();
});
afterEach(() => trap.close());

describe('the title', () => {
  it('is set by a rename, because the server drops that of the start', async () => {
    trap.tasksStandAt('READY', (id) => {
      trap.addConversation({ id, title: `Conversation ${id.slice(0, 5)}` });
      return { app_conversation_id: id };
    });
    const { before } = trap;
    trap.before = (asked) => {
      if (asked.method !== 'PATCH') return before(asked);
      const record = trap.conversations.get(trap.sentId) ?? {};
      Object.assign(record, asked.body);
      return { json: record };
    };
    const { code, out, err } = await trap.start('--title', 'What it is about');
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: trap.sentId, title: 'What it is about' });
    const started = trap.fake.asked.find(({ method }) => method === 'POST');
    expect(started?.body).not.toHaveProperty('title');
  });

  it('that cannot be set is an error, and the start is printed', async () => {
    trap.tasksStandAt('READY', (id) => {
      trap.addConversation({ id });
      return { app_conversation_id: id };
    });
    const { before } = trap;
    trap.before = (asked) =>
      asked.method === 'PATCH' ? { status: 500, text: 'Internal Server Error', type: 'text/plain' } : before(asked);
    const { code, out, err } = await trap.start('--title', 'What it is about');
    expect(JSON.parse(out)).toMatchObject({ id: trap.sentId });
    expect(code, err).toBe(9);
    expect(err).toContain('acs conv rename');
  });
});

it('no id of digits alone is sent, because it breaks the database of servers', async () => {
  trap.tasksStandAt('READY', (id) => {
    trap.addConversation({ id });
    return { app_conversation_id: id };
  });
  await trap.start();
  expect(trap.sentId).toMatch(/[a-f]/);
});
