import { beforeEach, describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { following } from '../support/follower.ts';
import { ID, SANDBOX_KEY } from '../support/v1-world.ts';

const v1 = connectedV1();
beforeEach(() => void v1.world.addConversation());

describe('following', () => {
  it('sends the key of the sandbox in the header of the socket, not in its URL', async () => {
    const seen: unknown[] = [];
    v1.world.fake.acceptSocket = (path, headers) =>
      seen.push(path, headers['x-session-api-key'], headers.authorization) > 0;
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    expect(seen).toEqual([`/agent/sockets/events/${ID}`, SANDBOX_KEY, undefined]);
    await follower.stop();
  });

  it('falls back to the key in the query only when the header is refused', async () => {
    const paths: string[] = [];
    v1.world.fake.acceptSocket = (path) => {
      paths.push(path);
      return path.includes('session_api_key=');
    };
    const follower = following(v1.server);
    await follower.until(() => v1.world.fake.sockets.length === 1);
    expect(paths.slice(0, 2).join()).not.toContain(SANDBOX_KEY);
    expect(paths).toHaveLength(3);
    await follower.stop();
  });

  it('keeps the key in the header after it has worked once, however often it fails later', async () => {
    const paths: string[] = [];
    v1.world.fake.acceptSocket = (path) => paths.push(path) === 1;
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running') && v1.world.fake.sockets.length === 1);
    v1.world.fake.sockets[0]?.terminate();
    await follower.until(() => paths.length >= 6);
    expect(paths.join()).not.toContain(SANDBOX_KEY);
    await follower.stop();
  });
});
