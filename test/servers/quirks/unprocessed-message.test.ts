import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { AppError } from '../../../src/errors.ts';
import { connectTo, quickClock } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import type { Asked, Reply } from '../support/fake-server.ts';
import { createV1World, event, ID, status, userMessage, type V1World } from '../support/v1-world.ts';

describe('over V1', () => {
  let world: V1World;
  let server: Server;
  let posted: Asked[];
  let reply: (asked: Asked) => Reply;
  const refused: Reply = {
    status: 409,
    json: { detail: 'Conversation already running. Wait for completion or pause first.' },
  };

  beforeEach(async () => {
    world = await createV1World();
    server = await connectTo(world.fake.url);
    posted = [];
    reply = () => ({ json: { success: true } });
    world.before = (asked) => {
      if (asked.method !== 'POST') return null;
      posted.push(asked);
      return reply(asked);
    };
    world.addConversation({ execution_status: 'waiting_for_confirmation' });
    world.agentState['execution_status'] = 'waiting_for_confirmation';
  });
  afterEach(async () => {
    await server.close();
    await world.close();
  });
  /** What is said when a signal ends the first wait behind what was sent. */
  const noticesWhenEnded = async (work: (stopped: Server) => Promise<unknown>): Promise<string[]> => {
    const stop = new AbortController();
    const clock = quickClock();
    const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
      if (posted.length > 0) stop.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      return clock.sleep(ms, signal);
    };
    const notices: string[] = [];
    const options = {
      signal: stop.signal,
      clock: { now: clock.now, sleep },
      notice: (text: string) => notices.push(text),
    };
    const stopped = await connectTo(world.fake.url, options);
    expect((await failure(work(stopped))).kind).toBe('interrupted');
    await stopped.close();
    return notices;
  };

  describe('a message', () => {
    const paths = (): string[] => posted.map(({ path }) => path.split('/').at(-1) ?? '');
    const send = (): Promise<void> => server.conversations.send(ID, { text: 'go on', image_urls: [] });
    const arrives = (word: string) => (): Reply => {
      if (posted.length === 1) world.agentEvents.push(userMessage('go on'));
      if (posted.length === 1) world.agentState['execution_status'] = word;
      return posted.length < 3 && posted.length > 1 ? refused : { json: { success: true } };
    };

    it.each(['error', 'paused', 'running'])(
      'that a run in the status %s has not processed starts a run',
      async (word) => {
        world.agentEvents = [status(word)];
        world.agentState['execution_status'] = word;
        reply = arrives(word === 'running' ? 'idle' : word);
        await send();
        expect(posted[0]?.body).toMatchObject({ run: word !== 'running' });
        expect(paths()).toEqual(['send-message', 'run', 'run']);
      },
    );

    it('that was processed starts no run, whatever the status is by then', async () => {
      world.agentState['execution_status'] = 'error';
      reply = () => {
        world.agentEvents.push(
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
      world.agentEvents = [status('error')];
      world.agentState['execution_status'] = 'error';
      reply = arrives('error');
      const notices = await noticesWhenEnded((stopped) =>
        stopped.conversations.send(ID, { text: 'go on', image_urls: [] }),
      );
      expect(notices).toEqual([expect.stringContaining('the message was stored')]);
    });

    it('succeeds when its run cannot be read, or waits for a confirmation again', async () => {
      world.agentState['execution_status'] = 'error';
      reply = () => {
        world.agentState['execution_status'] = 'waiting_for_confirmation';
        return { json: { success: true } };
      };
      await send();
      world.agentState['execution_status'] = 'error';
      reply = arrives('error');
      posted = [];
      const readable = world.before;
      world.before = (asked) => {
        const isGone = posted.length > 0 && asked.path.startsWith('/agent/');
        return isGone ? { status: 500, type: 'text/plain', text: 'Internal Server Error' } : readable(asked);
      };
      await send();
      expect(paths()).toEqual(['send-message']);
    });
  });
});
