/** A run of a V1 server that a test follows until its end, on a quick clock; all of it is made anew for each test. */
import { afterEach, beforeEach } from 'vitest';
import { quickClock } from './connect.ts';
import { connectedV1, type ConnectedV1 } from './connected-v1.ts';
import { ID } from './v1-world.ts';

export interface FollowedV1 extends ConnectedV1 {
  clock: ReturnType<typeof quickClock>;
  /** Ends what the test does at the server. */
  stop: AbortController;
  /** The texts of the events, `=running`, and the error that the following ends with. */
  lines: string[];
  /** Settles when the following has ended. */
  following: Promise<void>;
  follow(): void;
}

/** Call it at the top of a test file, which it gives its hooks. */
export function followedV1(): FollowedV1 {
  const fresh = () => ({
    clock: quickClock(),
    stop: new AbortController(),
    lines: [] as string[],
    following: Promise.resolve(),
  });
  beforeEach(() => void Object.assign(v1, fresh()));
  const v1: FollowedV1 = Object.assign(
    connectedV1(() => ({ signal: v1.stop.signal, clock: v1.clock })),
    fresh(),
    {
      follow() {
        const { server, stop, lines } = v1;
        v1.following = (async () => {
          for await (const item of server.conversations.follow(ID, { signal: stop.signal })) {
            if (item.type === 'event') lines.push(item.event.text);
            if (item.type === 'state') lines.push(`=${item.conversation.status}`);
          }
        })();
        v1.following.catch((error: unknown) => lines.push(String(error)));
      },
    },
  );
  beforeEach(() => void v1.world.addConversation());
  afterEach(async () => {
    v1.stop.abort(new Error('test is over'));
    await v1.following.catch(() => undefined);
  });
  return v1;
}
