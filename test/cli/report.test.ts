/**
 * An error that no single request has caused names the server whose answers it is about, and a next
 * step.
 */
import { beforeEach, expect, it } from 'vitest';
import { ID } from '../client/support/v1-server.ts';
import { useV1 } from '../support/use-scripted.ts';
import { errorOf } from '../support/use-world.ts';

const at = useV1();
beforeEach(() => {
  at.v1.addConversation();
  // Two ids with the same beginning.
  at.v1.addConversation({ id: `${ID.slice(0, 8)}${'f'.repeat(24)}` });
});

it.each([
  ['an id that is not found', 5, 'f'.repeat(32)],
  ['an ambiguous id', 2, ID.slice(0, 6)],
  ['@last where nothing was started', 5, '@last'],
  ['a prefix of an id that is not found', 5, 'fedc9876'],
])(
  'an error without a failed request names the server in text and in JSON: %s',
  async (_, code, id) => {
    const { err } = await at.ends(`conv show ${id}`, { code });
    const [message = '', where, hint] = err.trimEnd().split('\n').slice(-3);
    expect([message.slice(0, 7), where]).toEqual(['error: ', `  server: ${at.server.url}`]);
    expect(hint).toMatch(/^ {2}\S/);
    const json = await at.ends(`conv show ${id} --json`, { code });
    expect(errorOf(json)).toMatchObject({ server: at.server.url, request: null });
  },
);

it('an error before any request names no server', async () => {
  const { err } = await at.ends('conv show !', { code: 2, requests: 0 });
  expect(err).not.toContain('server:');
});
