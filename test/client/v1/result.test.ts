import { beforeEach, describe, expect, it } from 'vitest';
import { useV1 } from '../../support/use-scripted.ts';
import { agentMessage, finish, ID, status, userMessage } from '../support/v1-server.ts';

const at = useV1({ noun: 'conv' });
const line = `result ${ID}`;
const asleep = {
  sandbox_status: 'PAUSED',
  execution_status: null,
  conversation_url: null,
  session_api_key: null,
};

beforeEach(() => void at.v1.addConversation({ execution_status: 'finished' }));

describe('conv result', () => {
  it.each([
    ['what the agent finished with', finish('  the answer\n\n')],
    ['a message, where the model ends with a text', agentMessage('  the answer\n\n')],
  ])('prints %s, byte for byte', async (_, last) => {
    at.v1.agentEvents.push(
      userMessage('do it'),
      agentMessage('on my way'),
      last,
      status('finished'),
    );
    await at.ends(line, { out: '  the answer\n\n' });
    // A route that only newer servers have.
    expect(at.server.lines().join()).not.toContain('agent_final_response');
  });

  it.each([
    ['the sandbox', {}],
    ['the copy', asleep],
  ])('prints no older answer for the newest message, by %s', async (_, members) => {
    at.v1.addConversation({ execution_status: 'finished', ...members });
    at.v1.appEvents.push(userMessage('first'), finish('old answer'), userMessage('second'));
    at.v1.agentEvents.push(...at.v1.appEvents);
    await at.ends(line, { code: 5, out: '' });
  });

  describe('while the sandbox does not answer', () => {
    beforeEach(() => {
      at.v1.appEvents.push(userMessage('one'), finish('first'));
      at.v1.agentEvents.push(...at.v1.appEvents, userMessage('two'), finish('second'));
    });
    /** The sandbox drops this many connections. */
    const cut = (times: number): void => {
      let left = times;
      at.v1.before = ({ path }) =>
        path.endsWith('/events/search') && isCut(path) ? { cut: true } : null;
      const isCut = (path: string) => path.startsWith('/agent/') && left-- > 0;
    };

    it('reads the sandbox again, because the copy may lack the newest message', async () => {
      cut(3);
      await at.ends(line, { out: 'second', err: '' });
    });

    it('prints the answer of the copy in the end, with a notice', async () => {
      cut(Infinity);
      await at.ends(line, { out: 'first', err: 'may be up to 30 s behind' });
    });

    it('waits for an answer that reaches the app server up to 30 s late', async () => {
      at.v1.appEvents = [userMessage('do it'), status('running')];
      let reads = 0;
      cut(Infinity);
      const { before } = at.v1;
      at.v1.before = (asked) => {
        if (asked.path.startsWith('/api/v1/conversation/') && ++reads === 8)
          at.v1.appEvents.push(finish('the answer'), status('finished'));
        return before(asked);
      };
      await at.ends(line, { out: 'the answer' });
    });
  });
});
