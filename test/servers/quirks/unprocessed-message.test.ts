import { describe, expect, it } from 'vitest';
import type { Reply } from '../support/fake-server.ts';
import { event, ID, status, userMessage } from '../support/v1-world.ts';
import { refused, waitingV1 } from '../support/waiting-v1.ts';

const v1 = waitingV1();

describe('over V1', () => {
  describe('a message', () => {
    const paths = (): string[] => v1.posted.map(({ path }) => path.split('/').at(-1) ?? '');
    const send = (): Promise<void> => v1.server.conversations.send(ID, { text: 'go on', image_urls: [] });
    const arrives = (word: string) => (): Reply => {
      if (v1.posted.length === 1) v1.world.agentEvents.push(userMessage('go on'));
      if (v1.posted.length === 1) v1.world.agentState['execution_status'] = word;
      return v1.posted.length < 3 && v1.posted.length > 1 ? refused : { json: { success: true } };
    };

    it.each(['error', 'paused', 'running'])(
      'that a run in the status %s has not processed starts a run',
      async (word) => {
        v1.world.agentEvents = [status(word)];
        v1.world.agentState['execution_status'] = word;
        v1.reply = arrives(word === 'running' ? 'idle' : word);
        await send();
        expect(v1.posted[0]?.body).toMatchObject({ run: word !== 'running' });
        expect(paths()).toEqual(['send-message', 'run', 'run']);
      },
    );

    it('that was processed starts no run, whatever the status is by then', async () => {
      v1.world.agentState['execution_status'] = 'error';
      v1.reply = () => {
        v1.world.agentEvents.push(
          userMessage('go on'),
          status('running'),
          event('ConversationErrorEvent'),
          status('error'),
        );
        return { json: { success: true } };
      };
      await send();
      expect(paths()).toEqual(['send-message']);
    });

    it('is reported as arrived when a signal ends the wait for its run', async () => {
      v1.world.agentEvents = [status('error')];
      v1.world.agentState['execution_status'] = 'error';
      v1.reply = arrives('error');
      const notices = await v1.noticesWhenEnded((stopped) =>
        stopped.conversations.send(ID, { text: 'go on', image_urls: [] }),
      );
      expect(notices).toEqual([expect.stringContaining('the message was stored')]);
    });

    it('succeeds when its run cannot be read, or waits for a confirmation again', async () => {
      v1.world.agentState['execution_status'] = 'error';
      v1.reply = () => {
        v1.world.agentState['execution_status'] = 'waiting_for_confirmation';
        return { json: { success: true } };
      };
      await send();
      v1.world.agentState['execution_status'] = 'error';
      v1.reply = arrives('error');
      v1.posted = [];
      const readable = v1.world.before;
      v1.world.before = (asked) => {
        const isGone = v1.posted.length > 0 && asked.path.startsWith('/agent/');
        return isGone ? { status: 500, type: 'text/plain', text: 'Internal Server Error' } : readable(asked);
      };
      await send();
      expect(paths()).toEqual(['send-message']);
    });
  });
});
