/** An error that no single request has caused names the server whose answers it is about, and a next step. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandsAt, type Commands } from './traps/support/trap.ts';
import { createV1World, ID, type V1World } from './servers/support/v1-world.ts';

let server: V1World;
let commands: Commands;
/** Two ids with the same beginning. */
const TWIN = `${ID.slice(0, 8)}${'f'.repeat(24)}`;

beforeAll(async () => {
  server = await createV1World();
  server.addConversation();
  server.addConversation({ id: TWIN });
  commands = await commandsAt(server.fake.url);
});
afterAll(async () => {
  await commands.close();
  await server.close();
});

describe('an error without a failed request', () => {
  it.each([
    ['an id that is not found', 5, ['conv', 'show', 'f'.repeat(32)]],
    ['an ambiguous id', 2, ['conv', 'show', ID.slice(0, 6)]],
    ['@last where nothing was started', 5, ['conv', 'show', '@last']],
    ['a prefix of an id that is not found', 5, ['conv', 'show', 'fedc9876']],
  ])('names the server in text and in JSON: %s', async (_, code, args) => {
    const text = await commands.acs(...args);
    expect(text.code, text.err).toBe(code);
    const [message = '', where, hint] = text.err.trimEnd().split('\n').slice(-3);
    expect(message).toMatch(/^error: /);
    expect(where).toBe(`  server: ${server.fake.url}`);
    expect(hint).toMatch(/^ {2}\S/);
    const json = await commands.acs(...args, '--json');
    const line = json.err.trimEnd().split('\n').at(-1) ?? '';
    expect((JSON.parse(line) as { error: unknown }).error).toMatchObject({ server: server.fake.url, request: null });
  });

  it('names none where no request was sent', async () => {
    const { code, err } = await commands.acs('conv', 'show', '!');
    expect(code).toBe(2);
    expect(err).not.toContain('server:');
  });
});
