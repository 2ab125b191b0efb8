import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createV1World, event, ID, KEY, userMessage, type V1World } from '../../servers/support/v1-world.ts';
import { idleClock } from '../../support/idle-clock.ts';
import { invoke, type Ended } from '../../support/world.ts';

let world: V1World;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
  world = await createV1World();
  world.addConversation({ execution_status: 'idle' });
  world.agentEvents.push(event('SystemPromptEvent'));
});
afterEach(async () => {
  await world.close();
  await rm(dir, { recursive: true, force: true });
});

function wait(): Promise<Ended> {
  return invoke({
    args: ['conv', 'wait', ID, '--wait-timeout', '300ms'],
    cwd: dir,
    clock: idleClock(),
    env: { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: world.fake.url, ACS_API_KEY: KEY },
  });
}

it('conv wait for a conversation without a message prints a notice with the command that sends one', async () => {
  const ended = await wait();
  expect(ended.code).toBe(124);
  expect(ended.err).toContain(`is idle and has had no message yet; give it one: acs conv send ${ID}`);
});

it('conv wait prints no such notice when a message is stored but not processed yet', async () => {
  world.agentEvents.push(userMessage('hello'));
  const ended = await wait();
  expect(ended.code).toBe(124);
  expect(ended.err).not.toContain('no message yet');
});
