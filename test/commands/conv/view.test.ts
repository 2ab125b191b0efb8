import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createV1World, ID, KEY, OTHER_ID, type V1World } from '../../servers/support/v1-world.ts';
import { invoke, type Ended } from '../../support/world.ts';
import { errorOf, json } from './support.ts';

const TASK = OTHER_ID;

let world: V1World;
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
  world = await createV1World();
});
afterEach(async () => {
  await world.close();
  await rm(dir, { recursive: true, force: true });
});

/** The record of a start in progress. */
function addTask(request: Record<string, unknown>, members: Record<string, unknown> = {}): void {
  const now = new Date().toISOString();
  world.tasks.set(TASK, {
    id: TASK,
    status: 'WAITING_FOR_SANDBOX',
    detail: null,
    app_conversation_id: null,
    sandbox_id: null,
    agent_server_url: null,
    request,
    created_at: now,
    updated_at: now,
    ...members,
  });
}

function acs(...args: string[]): Promise<Ended> {
  return invoke({
    args,
    cwd: dir,
    env: { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: world.fake.url, ACS_API_KEY: KEY },
  });
}

describe('a start in progress', () => {
  it('is shown by the id that was chosen for its conversation', async () => {
    addTask({ conversation_id: ID });
    expect(json(await acs('conv', 'show', TASK, '--json'))).toMatchObject({
      id: ID,
      start_task_id: TASK,
      status: 'starting',
    });
    expect((await acs('conv', 'show', TASK, '-q')).out).toBe(`${ID}\n`);
    const waited = await acs('conv', 'wait', TASK, '--wait-timeout', '0s', '--json');
    expect({ code: waited.code, id: errorOf(waited)['id'] }).toEqual({ code: 124, id: ID });
  });

  it('has the id null in JSON and no row in a table when the server chooses the id later', async () => {
    addTask({});
    expect(json(await acs('conv', 'show', TASK, '--json'))).toMatchObject({ id: null, start_task_id: TASK });
    expect((await acs('conv', 'show', TASK, '-q')).out).toBe(`${TASK}\n`);
    expect((await acs('conv', 'show', TASK, '--format', 'table')).out).not.toMatch(/^id/m);
  });

  it('has no id when it failed', async () => {
    addTask({ conversation_id: ID }, { status: 'ERROR', detail: 'no room' });
    expect(json(await acs('conv', 'show', TASK, '--json'))).toMatchObject({ id: null, status: 'failed' });
  });
});
