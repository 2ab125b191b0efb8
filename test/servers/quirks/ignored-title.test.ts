import { afterEach, expect, it } from 'vitest';
import { connectTo } from '../support/connect.ts';
import { looseTrap, type LooseTrap } from '../../traps/support/trap.ts';

const ID = '0123456789abcdef0123456789abcdef';
let trap: LooseTrap;
afterEach(() => trap.close());

it.each([
  ['answers 422', true],
  ['returns the record with the old title', false],
])('conv rename uses the route of V0 where the route of V1 %s', async (_, isRefused) => {
  trap = await looseTrap({ v0: true });
  await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', ID);
  const patches = (): string[] => trap.fake.lines().filter((line) => line.startsWith('PATCH'));
  const overV1 = `PATCH /api/v1/app-conversations/${ID}`;
  const overV0 = `PATCH /api/conversations/${ID}`;
  trap.before = (asked) => {
    if (`${asked.method} ${asked.path}` !== overV1) return null;
    if (isRefused) return { status: 422, json: { detail: [{ loc: ['body', 'public'], msg: 'Field required' }] } };
    return { json: { id: ID, sandbox_id: 'sandbox-1', title: 'Old', sandbox_status: 'RUNNING' } };
  };
  expect((await trap.acs('conv', 'rename', ID, 'First')).code).toBe(0);
  expect(trap.conversations.get(ID)?.title).toBe('First');
  expect(patches()).toEqual([overV1, overV0]);
});

it('a rename to the title that a conversation has shows nothing about a server that ignores titles', async () => {
  trap = await looseTrap({ v0: true, ignores: ['title'] });
  await trap.acs('conv', 'new', 'hello', '--no-repo', '--id', ID);
  const conversation = trap.conversations.get(ID)!;
  trap.before = ({ method, path, body }) => {
    if (`${method} ${path}` === `PATCH /api/conversations/${ID}`)
      conversation.title = (body as { title: string }).title;
    return null;
  };
  conversation.title = 'First';
  const server = await connectTo(trap.url);
  try {
    expect((await server.conversations.rename(ID, 'First')).title).toBe('First');
    expect((await server.conversations.rename(ID, 'Second')).title).toBe('Second');
    expect(conversation.title).toBe('Second');
  } finally {
    await server.close();
  }
});
