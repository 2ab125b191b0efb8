import { afterEach, beforeEach, expect, it } from 'vitest';
import { readKnownRun, untilMessageShows } from '../../../src/commands/conv/evidence.ts';
import type { Server } from '../../../src/servers/server.ts';
import { connectTo, quickClock } from '../../servers/support/connect.ts';
import { createV1World, event, finish, ID, status, userMessage, type V1World } from '../../servers/support/v1-world.ts';

let world: V1World;
let server: Server;

beforeEach(async () => {
  world = await createV1World();
  server = await connectTo(world.fake.url);
  world.addConversation();
});

afterEach(async () => {
  await server.close();
  await world.close();
});

it('a message that shows late begins a new run, whatever the end of the run before', async () => {
  world.agentEvents.push(userMessage('one'), finish('first answer'), status('finished'));
  const { last } = await readKnownRun(server, ID);
  let looks = 0;
  world.before = ({ path }) => {
    if (path.endsWith('/events/search') && ++looks === 4) world.agentEvents.push(userMessage('two'));
    return null;
  };
  await untilMessageShows({ clock: quickClock(), signal: new AbortController().signal }, server, ID, last);
  expect((await readKnownRun(server, ID)).evidence).toMatchObject({ since_message: 'none', last_word: null });
});

it('a message that is very far back is known to be there, and that none was sent is known too', async () => {
  world.agentEvents.push(status('idle'));
  expect((await readKnownRun(server, ID)).evidence.since_message).toBe('unknown');
  world.agentEvents.push(userMessage('one'), ...Array.from({ length: 400 }, () => event('ActionEvent')));
  expect((await readKnownRun(server, ID)).evidence.since_message).toBe('some');
});

it('a message that never shows is not waited for for ever', async () => {
  world.agentEvents.push(userMessage('one'), finish('first answer'));
  const { last } = await readKnownRun(server, ID);
  const clock = quickClock();
  await untilMessageShows({ clock, signal: new AbortController().signal }, server, ID, last);
  expect(clock.waited.length).toBeGreaterThan(1);
});
