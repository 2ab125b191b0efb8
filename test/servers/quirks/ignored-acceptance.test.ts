import { describe, expect, it } from 'vitest';
import { failure } from '../support/failure.ts';
import { ID } from '../support/v1-world.ts';
import { accept, observed, terminalAction, waitingV1 } from '../support/waiting-v1.ts';

const v1 = waitingV1();

describe('over V1', () => {
  it('accepts a pending action again: a server that still reports the run before accepts it without effect', async () => {
    const next = terminalAction('two', 'call_2');
    v1.world.agentEvents = [terminalAction('one', 'call_1')];
    v1.reply = () => (v1.posted.length < 3 ? { json: { success: true } } : v1.taken());
    await v1.server.conversations.answer(ID, accept);
    expect(v1.posted.map(({ body }) => body)).toEqual([{ accept: true }, { accept: true }, { accept: true }]);
    // The action was carried out by then, and the next one awaits approval: that is no ignored answer.
    v1.world.agentState['execution_status'] = 'waiting_for_confirmation';
    v1.reply = () => {
      v1.world.agentEvents.push(observed(v1.world.agentEvents[0] ?? {}), next);
      return { json: { success: true } };
    };
    await v1.server.conversations.answer(ID, accept);
    expect(v1.posted).toHaveLength(4);
  });

  it('accepts no other action, although the accepted one has no observation', async () => {
    v1.world.agentEvents = [terminalAction('one', 'call_1')];
    v1.reply = () => {
      v1.world.agentEvents.push(terminalAction('two', 'call_2'));
      return { json: { success: true } };
    };
    await v1.server.conversations.answer(ID, accept);
    expect(v1.posted).toHaveLength(1);
  });

  it('reports that an acceptance has been sent when a signal ends the wait for its effect', async () => {
    v1.world.agentEvents = [terminalAction('one', 'call_1')];
    const notices = await v1.noticesWhenEnded((stopped) => stopped.conversations.answer(ID, accept));
    expect(notices).toEqual([expect.stringContaining('the acceptance has been sent')]);
    expect(v1.posted).toHaveLength(1);
  });

  it('reports an acceptance that never takes effect', async () => {
    v1.world.agentEvents = [terminalAction('one', 'call_1')];
    const error = await failure(v1.server.conversations.answer(ID, accept));
    expect(error.message).toContain('still waits');
  });
});
