import { afterEach, beforeEach, expect, it } from 'vitest';
import { readKnownRun } from '../../src/runs/run-reads.ts';
import type { Server } from '../../src/servers/server.ts';
import { connectTo } from '../servers/support/connect.ts';
import { createV1World, event, ID, status, userMessage, type V1World } from '../servers/support/v1-world.ts';

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

it('a very old user message is found, and the absence of one is established', async () => {
  world.agentEvents.push(status('idle'));
  expect((await readKnownRun(server, ID)).evidence.since_message).toBe('unknown');
  world.agentEvents.push(userMessage('one'), ...Array.from({ length: 400 }, () => event('ActionEvent')));
  expect((await readKnownRun(server, ID)).evidence.since_message).toBe('some');
});
