import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Reply } from '../../servers/support/fake-server.ts';
import { ID } from '../../servers/support/v1-world.ts';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import { createWorld, type World } from '../../support/world.ts';
import { errorOf, json } from './support.ts';

describe('a start that the local service refuses', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ spec: 'process' });
  });
  afterAll(() => world.close());

  const sandboxes = async () => json<{ items: unknown[] }>(await world.acs('sandbox', 'list', '--json')).items;

  it('exits 3 without a model and leaves no sandbox of the spec', async () => {
    const { code, err } = await world.acs('conv', 'new', 'hi', '--no-repo', '--spec', 'process');
    expect({ code, err }).toMatchObject({ code: 3, err: expect.stringContaining('--replay') as string });
    expect(await sandboxes()).toEqual([]);
  });

  it('exits 2 for an empty replay and leaves no sandbox of a spec that is not the default', async () => {
    const file = path.join(world.dir, 'empty.json');
    await writeFile(file, '[]');
    const flags = ['--replay', file, '--no-repo', '--spec', 'bubblewrap-offline'];
    const { code } = await world.acs('conv', 'new', ...flags);
    expect({ code, sandboxes: await sandboxes() }).toEqual({ code: 2, sandboxes: [] });
  });

  it.each(['v1', 'v0'])(
    'names the file, the event counted from 1 and what is allowed for a wrong replay over %s',
    async (api) => {
      const file = path.join(world.dir, 'wrong.json');
      await writeFile(file, '[{"action":"think"},{"source":"agent","action":"browse","args":{}}]');
      const flags = ['--replay', file, '--no-repo', '--api', api];
      const text = await world.acs('conv', 'new', ...flags);
      expect(text.code).toBe(2);
      for (const words of [
        `--replay ${file}: `,
        'event 2: ',
        'allowed are run, ',
        `request: POST ${world.service.url}/api/`,
      ])
        expect(text.err).toContain(words);
      expect(text.err).not.toMatch(/replay_json|Value error/);
      const error = errorOf(await world.acs('conv', 'new', ...flags, '--json'));
      expect(error).toMatchObject({
        request: { method: 'POST', url: expect.stringContaining(world.service.url) as string },
      });
      expect(error.status).not.toBeNull();
      expect(error.hint).not.toBeNull();
    },
  );

  it('exits 5 for a spec that does not exist', async () => {
    const { code } = await world.acs('conv', 'new', '--replay', 'demo', '--no-repo', '--spec', 'huge');
    expect({ code, sandboxes: await sandboxes() }).toEqual({ code: 5, sandboxes: [] });
  });

  it('starts in a sandbox of the spec with one request', async () => {
    const dry = await world.acs(
      ...['conv', 'new', '--replay', 'demo', '--no-repo', '--spec', 'bubblewrap', '--dry-run', '--json'],
    );
    expect(json<{ requests: unknown[] }>(dry).requests).toMatchObject([{ body: { sandbox_spec_id: 'bubblewrap' } }]);
    const started = await world.acs('conv', 'new', '--replay', 'demo', '--no-repo', '--spec', 'process', '--json');
    expect(
      json<{ spec_id: string }>(await world.acs('sandbox', 'show', json(started).sandbox_id ?? '', '--json')),
    ).toMatchObject({ spec_id: 'process' });
  });
});

describe('a start where bubblewrap is not installed', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ path: '' });
  });
  afterAll(() => world.close());

  it.each([
    ['conv new', ['conv', 'new', '--replay', 'demo', '--no-repo', '--spec', 'bubblewrap', '--json']],
    ['sandbox start', ['sandbox', 'start', '--spec', 'bubblewrap', '--json']],
  ])(
    'exits 12 for %s --spec bubblewrap, names what is missing and the next step, and leaves no sandbox',
    async (_, args) => {
      const ended = await world.acs(...args);
      const { message, status, retryable } = errorOf(ended);
      expect({ code: ended.code, message, status, retryable }).toEqual({
        code: 12,
        message:
          'the server does not support this: the spec bubblewrap needs bubblewrap, which does not work here: ' +
          'bubblewrap (bwrap) is not installed. Make it work and restart the service, or use the spec process, ' +
          'which runs commands without isolation',
        status: 501,
        retryable: false,
      });
      expect(json<{ items: unknown[] }>(await world.acs('sandbox', 'list', '--json')).items).toEqual([]);
    },
  );
});

describe('a start at a server where acs creates the sandbox for --spec', () => {
  let trap: V1Trap;
  let replies: Record<string, Reply>;
  beforeEach(async () => {
    trap = await v1Trap();
    const running = { id: 'sb9', status: 'RUNNING', sandbox_spec_id: 'small' };
    replies = {
      'GET /api/v1/sandbox-specs/search': { json: { items: [{ id: 'small' }], next_page_id: null } },
      'POST /api/v1/sandboxes': { json: { ...running, status: 'STARTING' } },
      'GET /api/v1/sandboxes': { json: [running] },
      'DELETE /api/v1/sandboxes/sb9': { json: { success: true } },
    };
    trap.before = ({ method, path: asked }) => replies[`${method} ${asked}`] ?? null;
  });
  afterEach(() => trap.close());

  const start = (...flags: string[]) =>
    trap.acs('conv', 'new', 'hi', '--no-repo', '--spec', 'small', '--json', ...flags);
  const deleted = () => trap.fake.lines().filter((line) => line.startsWith('DELETE'));

  it('deletes the sandbox when the server refuses the start', async () => {
    replies['POST /api/v1/app-conversations'] = { status: 400, json: { detail: 'no such plugin' } };
    const ended = await start();
    expect(ended.code, ended.err).toBe(2);
    expect(errorOf(ended)).toMatchObject({ status: 400, request: { method: 'POST' } });
    expect(deleted()).toEqual(['DELETE /api/v1/sandboxes/sb9']);
  });

  it('deletes the sandbox when the start task ends in error', async () => {
    const task = { id: '11'.repeat(16), status: 'ERROR', detail: 'cannot clone', request: {} };
    replies['POST /api/v1/app-conversations'] = { json: task };
    expect((await start()).code).toBe(1);
    expect(deleted()).toEqual(['DELETE /api/v1/sandboxes/sb9']);
  });

  it.each([
    ['policy', 'confirmation_policy', 422],
    ['policy', 'confirmation_policy', 401],
    ['policy', 'confirmation_policy', 409],
    ['message', 'events', 400],
  ])(
    'keeps the sandbox of an accepted start and names the conversation when its sandbox refuses the %s (%s: %i)',
    async (_, route, status) => {
      trap.addConversation({ sandbox_id: 'sb9', execution_status: 'idle' });
      const task = { id: '11'.repeat(16), status: 'READY', app_conversation_id: ID, sandbox_id: 'sb9', request: {} };
      replies['POST /api/v1/app-conversations'] = { json: task };
      const own = `POST /agent/api/conversations/${ID}`;
      replies[`${own}/confirmation_policy`] = { json: { success: true } };
      replies[`${own}/${route}`] = { status, json: { detail: 'not now' } };
      const ended = await start('--confirm', 'always');
      expect(trap.fake.lines()).toContain(`${own}/${route}`);
      expect(ended.code).not.toBe(0);
      expect(deleted()).toEqual([]);
      expect(errorOf(ended).message).toContain(`the run may continue as ${ID}`);
      expect(errorOf(ended).hint).toContain(`acs conv stop ${ID}`);
    },
  );

  it('deletes the sandbox when it does not come up', async () => {
    replies['GET /api/v1/sandboxes'] = { json: [{ id: 'sb9', status: 'ERROR', status_detail: 'no image' }] };
    const ended = await start();
    expect([ended.code, errorOf(ended).message]).toEqual([1, 'the sandbox sb9 did not start: no image']);
    expect(deleted()).toEqual(['DELETE /api/v1/sandboxes/sb9']);
  });

  it('keeps the sandbox when the answer to the start is lost', async () => {
    replies['POST /api/v1/app-conversations'] = { cut: true };
    expect((await start()).code).toBe(11);
    expect(deleted()).toEqual([]);
  });

  it('names the sandbox when it cannot be deleted', async () => {
    replies['POST /api/v1/app-conversations'] = { status: 400, json: { detail: 'no such plugin' } };
    replies['DELETE /api/v1/sandboxes/sb9'] = { status: 409, json: { detail: 'busy' } };
    const { code, err } = await start();
    expect(code).toBe(2);
    expect(err).toContain('acs sandbox delete sb9');
  });
});
