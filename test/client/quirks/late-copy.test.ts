/** What reads events alone: test/client/v1/events.test.ts and result.test.ts. */
import { describe, expect, it } from 'vitest';
import { idleClock } from '../../support/test-clock.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { event, finish, ID, status, userMessage } from '../support/v1-server.ts';

const at = useV1({ noun: 'conv', clock: () => idleClock(30) });

describe('conv follow of a sandbox that does not answer', () => {
  /** The app server receives the events after so many reads of its copy. */
  const receives = (reads: number, ...late: Record<string, unknown>[]): void => {
    at.v1.addConversation({ execution_status: 'finished' });
    at.v1.appEvents.push(userMessage('do it'), status('running'));
    at.server.acceptSocket = () => false;
    let read = 0;
    at.v1.before = ({ path }) => {
      if (path.startsWith('/api/v1/conversation/') && ++read === reads)
        at.v1.appEvents.push(...late);
      return path.startsWith('/agent/') ? { cut: true } : null;
    };
  };

  it('prints late events before the outcome', async () => {
    receives(8, finish('the answer'), status('finished'));
    const { out } = await at.ends(`follow ${ID} --json`, {});
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map((line) => line['text'] ?? line['type'])).toEqual([
      'do it',
      'execution_status: running',
      'the answer',
      'execution_status: finished',
      'outcome',
    ]);
  });

  it('prints a notice when the last events never arrive', async () => {
    receives(Infinity, event('ActionEvent', { tool_name: 'x' }));
    await at.ends(`follow ${ID} --json`, {
      err: 'the last events of this run have not reached the app server',
    });
  });

  it.each(['follow', 'events --follow'])(
    '%s prints a notice when it is paused and may have newer ones',
    async (line) => {
      at.v1.addConversation({
        sandbox_status: 'PAUSED',
        execution_status: null,
        conversation_url: null,
      });
      at.v1.appEvents.push(userMessage('do it'), status('running'));
      await at.ends(`${line} ${ID}`, { code: 6, err: 'the app server may lack its newest events' });
    },
  );
});
