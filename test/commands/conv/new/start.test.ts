import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ID } from '../../../client/support/v1-server.ts';
import type { Reply } from '../../../support/server.ts';
import { useV1 } from '../../../support/use-scripted.ts';
import { useWorld } from '../../../support/use-world.ts';
import { errorOf } from '../support.ts';

describe('a start that the local service refuses', () => {
  const at = useWorld({ spec: 'process' });
  beforeEach(async () => {
    await at.file('empty.json', []);
    await at.file('wrong.json', [
      { action: 'think' },
      { source: 'agent', action: 'run', args: {} },
    ]);
  });
  afterEach(() => at.ends('sandbox list --json', { out: { items: [] } }));

  at.rows({
    'exits 3 without a model and leaves no sandbox of the spec': {
      acs: 'conv new hi --no-repo --spec process',
      code: 3,
      err: '--replay',
    },
    'exits 2 for an empty replay and leaves no sandbox of a spec that is not the default': {
      acs: 'conv new --replay empty.json --no-repo --spec bubblewrap-offline',
      code: 2,
    },
    'exits 5 for a spec that does not exist': {
      acs: 'conv new --replay demo --no-repo --spec huge',
      code: 5,
    },
    'is not sent with --dry-run, which prints the spec of its sandbox': {
      acs: 'conv new --replay demo --no-repo --spec bubblewrap --dry-run --json',
      out: { requests: [{ body: { sandbox_spec_id: 'bubblewrap' } }] },
      writes: [],
    },
  });

  it.each(['v1', 'v0'])(
    'names the file, the event counted from 1 and the member of a wrong replay over %s',
    async (api) => {
      const line = `conv new --replay wrong.json --no-repo --api ${api}`;
      const request = `request: POST ${at.server.url}/api/`;
      await at.ends(line, {
        code: 2,
        err: ['--replay wrong.json: ', 'event 2 (run): "command" must be a string', request],
        hides: /replay_json|Value error/,
      });
      expect(errorOf(await at.ends(`${line} --json`, { code: 2 }))).toMatchObject({
        request: { method: 'POST', url: expect.stringContaining(at.server.url) as string },
        status: expect.any(Number) as number,
        hint: expect.any(String) as string,
      });
    },
  );
});

describe('a start at the local service', () => {
  const at = useWorld({ spec: 'process' });
  it('has a sandbox of the spec', async () => {
    const start = 'conv new --replay demo --no-repo --spec process';
    const { sandbox_id } = await at.json<{ sandbox_id: string }>(start);
    await at.ends(`sandbox show ${sandbox_id} --json`, { out: { spec_id: 'process' } });
  });
});

describe('a start where bubblewrap is not installed', () => {
  const at = useWorld({ path: '' });
  it.each(['conv new --replay demo --no-repo', 'sandbox start'])(
    'exits 12 for %s --spec bubblewrap, names what is missing and the next step, and leaves no sandbox',
    async (line) => {
      expect(
        errorOf(await at.ends(`${line} --spec bubblewrap --json`, { code: 12 })),
      ).toMatchObject({
        message:
          'the server does not support this: the spec bubblewrap is not available: ' +
          'bubblewrap (bwrap) is not installed. Remove the cause and restart the service, ' +
          'or use the spec process, which runs commands without isolation',
        status: 501,
        retryable: false,
      });
      await at.ends('sandbox list --json', { out: { items: [] } });
    },
  );
});

describe.each(['v1', 'v0'] as const)('a start with a model on the local service over %s', (api) => {
  const at = useWorld({ path: '', api });
  const set = (line: string) => at.ends(`settings set ${line}`, {});

  it('exits 3 where nothing says where the model is served', async () => {
    await set('llm_model=small');
    const { message, hint } = errorOf(await at.ends('conv new hi --no-repo --json', { code: 3 }));
    expect(message).toContain('no URL for the model small (llm_base_url)');
    expect(hint).toContain('llm_base_url=');
    await at.ends('conv list --json', { out: { items: [] } });
  });

  it('exits 12 without bubblewrap, with the flag and the setting that permit it', async () => {
    await set('llm_model=small llm_base_url=http://127.0.0.1:9/v1');
    expect(errorOf(await at.ends('conv new hi --no-repo --json', { code: 12 }))).toMatchObject({
      message:
        'an agent with a model needs isolation, and bubblewrap does not work here: ' +
        'bubblewrap (bwrap) is not installed',
      hint:
        'run commands with your own rights, and confirm each: acs conv new … --spec process ' +
        '--confirm always\nfor all conversations: acs settings set ' +
        'default_sandbox_spec_id=process confirmation_mode=true security_analyzer=none',
      reason: 'no-isolation',
    });
  });
});

describe('a start at a server where acs creates the sandbox for --spec', () => {
  const at = useV1();
  const [CREATE, START] = ['POST /api/v1/sandboxes', 'POST /api/v1/app-conversations'];
  const DELETE = 'DELETE /api/v1/sandboxes/sb9';
  const [CREATED, DELETED] = [`${CREATE}?sandbox_spec_id=small`, `${DELETE}?sandbox_id=sb9`];
  const acs = 'conv new hi --no-repo --spec small --json';
  const running = { id: 'sb9', status: 'RUNNING', sandbox_spec_id: 'small' };
  const refused: Reply = { status: 400, json: { detail: 'no such plugin' } };
  const task = { id: '11'.repeat(16), request: {} };

  beforeEach(() =>
    at.script({
      'GET /api/v1/sandbox-specs/search': {
        json: { items: [{ id: 'small' }], next_page_id: null },
      },
      [CREATE]: { json: { ...running, status: 'STARTING' } },
      'GET /api/v1/sandboxes': { json: [running] },
      [DELETE]: { json: { success: true } },
    }),
  );

  at.rows({
    'deletes the sandbox when the server refuses the start': {
      server: { [START]: refused },
      acs,
      code: 2,
      err: ['"status":400', '"request":{"method":"POST"'],
      writes: [CREATED, START, DELETED],
    },
    'deletes the sandbox when the start task ends in error': {
      server: { [START]: { json: { ...task, status: 'ERROR', detail: 'cannot clone' } } },
      acs,
      code: 1,
      writes: [CREATED, START, DELETED],
    },
    'deletes the sandbox when it does not come up': {
      server: {
        'GET /api/v1/sandboxes': {
          json: [{ id: 'sb9', status: 'ERROR', status_detail: 'no image' }],
        },
      },
      acs,
      code: 1,
      err: '"the sandbox sb9 did not start: no image"',
      writes: [CREATED, DELETED],
    },
    'keeps the sandbox when the answer to the start is lost': {
      server: { [START]: { cut: true } },
      acs,
      code: 11,
      writes: [CREATED, START],
    },
    'names the sandbox when it cannot be deleted': {
      server: { [START]: refused, [DELETE]: { status: 409, json: { detail: 'busy' } } },
      acs,
      code: 2,
      err: 'acs sandbox delete sb9',
    },
  });

  it.each([
    ['policy', 'confirmation_policy', 422],
    ['policy', 'confirmation_policy', 401],
    ['policy', 'confirmation_policy', 409],
    ['message', 'events', 400],
  ])(
    'keeps the sandbox of an accepted start and names the conversation when its sandbox refuses the %s (%s: %i)',
    async (_, route, status) => {
      at.v1.addConversation({ sandbox_id: 'sb9', execution_status: 'idle' });
      const own = `POST /agent/api/conversations/${ID}`;
      at.script({
        [START]: { json: { ...task, status: 'READY', app_conversation_id: ID, sandbox_id: 'sb9' } },
        [`${own}/confirmation_policy`]: { json: { success: true } },
        [`${own}/${route}`]: { status, json: { detail: 'not now' } },
      });
      const ended = await at.acs(...acs.split(' '), '--confirm', 'always');
      expect(ended.code).not.toBe(0);
      expect(errorOf(ended).message).toContain(`the run may continue as ${ID}`);
      expect(errorOf(ended).hint).toContain(`acs conv stop ${ID}`);
      expect(at.writes()).toContain(`${own}/${route}`);
      expect(at.writes()).not.toContain(DELETED);
    },
  );
});
