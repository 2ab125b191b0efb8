import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import type { Reply } from '../support/fake-server.ts';
import { createV1World, ID, SANDBOX_KEY, type V1World } from '../support/v1-world.ts';

describe('another title over V1', () => {
  const RECORD = `PATCH /api/v1/app-conversations/${ID}`;
  const SANDBOX = `PATCH /agent/api/conversations/${ID}`;
  let world: V1World;
  let server: Server;
  /** What the server does once it has answered one of these. */
  let afterwards: Record<string, () => void>;
  let sandboxAnswer: Reply;

  const patches = (): string[] => world.fake.lines().filter((line) => line.startsWith('PATCH'));
  const rename = async (): Promise<string | null> => (await server.conversations.rename(ID, 'Chosen')).title;

  beforeEach(async () => {
    world = await createV1World();
    world.addConversation({ title: 'Conversation 0a1b2' });
    afterwards = {};
    sandboxAnswer = { json: { success: true } };
    world.before = ({ method, path, body }) => {
      const name = `${method} ${path}`;
      if (name !== RECORD && name !== SANDBOX) return null;
      const members = { ...world.conversations.get(ID), ...(body as object) };
      const reply = name === SANDBOX ? sandboxAnswer : { json: world.addConversation(members) };
      afterwards[name]?.();
      return reply;
    };
    server = await connectTo(world.fake.url);
  });

  afterEach(async () => {
    await server.close();
    await world.close();
  });

  it('is sent to the sandbox after the record, so that the server reads the same one there', async () => {
    expect(await rename()).toBe('Chosen');
    expect(patches()).toEqual([RECORD, SANDBOX]);
    const request = world.fake.asked.find(({ method, path }) => `${method} ${path}` === SANDBOX);
    expect([request?.body, request?.headers['x-session-api-key']]).toEqual([{ title: 'Chosen' }, SANDBOX_KEY]);
  });

  it('is sent again when the server has replaced it with its own', async () => {
    afterwards[SANDBOX] = () => {
      afterwards = {};
      world.addConversation({ title: 'Made up' });
    };
    expect(await rename()).toBe('Chosen');
    expect(patches()).toEqual([RECORD, SANDBOX, RECORD, SANDBOX]);
  });

  it('is returned as the server stores it when the server changes every title', async () => {
    afterwards[SANDBOX] = () => world.addConversation({ title: 'chosen' });
    expect(await rename()).toBe('chosen');
    expect(patches()).toHaveLength(6);
  });

  it('succeeds without a running sandbox, and when the sandbox refuses it', async () => {
    sandboxAnswer = { status: 500, json: { detail: 'Internal Server Error' } };
    expect(await rename()).toBe('Chosen');
    world.addConversation({ title: null, sandbox_status: 'PAUSED', conversation_url: null });
    expect(await rename()).toBe('Chosen');
    expect(patches()).toEqual([RECORD, SANDBOX, RECORD]);
  });

  it('succeeds when the read after it fails', async () => {
    const { before } = world;
    afterwards[SANDBOX] = () => {
      world.before = (asked) =>
        asked.method === 'GET' ? { status: 500, json: { detail: 'Internal Server Error' } } : before(asked);
    };
    expect(await rename()).toBe('Chosen');
    expect(patches()).toEqual([RECORD, SANDBOX]);
  });

  it('is not sent to the sandbox once the server has the title, because that would recreate the record', async () => {
    world.addConversation({ title: 'Made up' });
    expect(await rename()).toBe('Chosen');
    expect(patches()).toEqual([RECORD]);
  });

  it('is shown by a dry run with each request', async () => {
    const dry = await connectTo(world.fake.url, { mode: 'dry-run' });
    const planned = await dry.conversations.rename(ID, 'Chosen').catch((stop: unknown) => stop);
    await dry.close();
    expect((planned as { requests: { url: string }[] }).requests.map(({ url }) => new URL(url).pathname)).toEqual(
      [RECORD, SANDBOX].map((line) => line.replace('PATCH ', '')),
    );
    expect(patches()).toEqual([]);
  });
});
