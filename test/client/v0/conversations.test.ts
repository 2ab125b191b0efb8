/** Conversations over V0, in the shapes of genuine servers. */
import { describe, expect, it } from 'vitest';
import { NOT_FOUND, startFake, type Reply } from '../../support/server.ts';
import {
  happens,
  V0_ID as ID,
  older,
  stateChanges,
  userSays,
  useV0,
  type V0Server,
} from '../../support/use-scripted.ts';

const at = useV0();
const CONVERSATION = `/api/conversations/${ID}`;

type Step = (server: V0Server) => void;
const user: Step = (server) => userSays(server, 'do it');
const becomes =
  (state: string, reason = ''): Step =>
  (server) =>
    stateChanges(server, state, reason);
const answers: Step = (server) =>
  happens(server, {
    source: 'agent',
    message: 'the answer',
    action: 'message',
    args: { content: 'the answer' },
  });
const runs: Step = (server) =>
  happens(server, {
    source: 'agent',
    message: 'Running command: ls -la',
    action: 'run',
    args: {
      command: 'ls -la',
      thought: 'Step 1.',
      confirmation_state: 'awaiting_confirmation',
      security_risk: 1,
    },
  });
const rejected: Step = (server) =>
  happens(server, { source: 'agent', observation: 'user_rejected', content: 'no' });

/** What happens, and the status of the record. */
function given(steps: readonly Step[], status = 'RUNNING'): void {
  for (const step of steps) step(at.v0);
  at.v0.record = { ...at.v0.record, status };
}

describe('conv show has the status', () => {
  const WAITS = becomes('awaiting_user_input');
  const AUTH = 'STATUS$ERROR_LLM_AUTHENTICATION';
  const STEPS =
    'RuntimeError: Agent reached maximum iteration. Current iteration: 3, max iteration: 3';
  const failed = (code: string, text: string) => ({ status: 'failed', reason: { code, text } });

  it.each<[string, Step[], string, object]>([
    [
      'running without a state of the agent',
      [user],
      'RUNNING',
      { status: 'running', reason: null },
    ],
    [
      'starting while the agent loads',
      [user, becomes('loading')],
      'RUNNING',
      { status: 'starting' },
    ],
    ['starting by the record', [becomes('finished')], 'STARTING', { status: 'starting' }],
    [
      'failed by the agent alone, with a code as its reason',
      [becomes('loading'), user, becomes('running'), becomes('error', AUTH)],
      'RUNNING',
      failed('ERROR_LLM_AUTHENTICATION', 'error llm authentication'),
    ],
    [
      'failed, with a text as its reason',
      [user, becomes('error', STEPS)],
      'RUNNING',
      failed('error', STEPS),
    ],
    [
      'running after the failure of an earlier message',
      [user, becomes('error', AUTH), user, becomes('running')],
      'RUNNING',
      { status: 'running', reason: null },
    ],
    [
      'waiting for a confirmation',
      [user, runs, becomes('awaiting_user_confirmation')],
      'RUNNING',
      { status: 'waiting', waiting_for: 'confirmation' },
    ],
    [
      'idle before the agent has answered',
      [user, WAITS],
      'RUNNING',
      { status: 'idle', waiting_for: 'user' },
    ],
    [
      'finished after it has answered',
      [user, answers, WAITS],
      'RUNNING',
      { status: 'finished', waiting_for: 'user' },
    ],
    [
      'idle after a rejection, whatever the agent said before',
      [user, answers, runs, becomes('user_rejected'), rejected, WAITS],
      'RUNNING',
      { status: 'idle', waiting_for: 'user' },
    ],
    [
      'running at a rate limit, with the reason',
      [user, becomes('rate_limited')],
      'RUNNING',
      { status: 'running', reason: { code: 'rate-limited' } },
    ],
    ['unknown for a new state', [becomes('hatching')], 'RUNNING', { status: 'unknown(hatching)' }],
    ['unknown for a new status of the record', [], 'MOLTING', { status: 'unknown(molting)' }],
    [
      'finished after it was stopped',
      [becomes('finished'), becomes('stopped')],
      'STOPPED',
      { status: 'finished' },
    ],
    [
      'stopped when it had not ended',
      [becomes('rate_limited'), becomes('stopped')],
      'STOPPED',
      { status: 'stopped', reason: null },
    ],
    [
      'failed when it was archived after that',
      [becomes('error')],
      'ARCHIVED',
      { status: 'failed' },
    ],
    ['archived', [], 'ARCHIVED', { status: 'archived' }],
  ])('%s', async (_, steps, status, out) => {
    given(steps, status);
    await at.ends(`conv show ${ID} --json`, { out });
  });

  it.each<[string, Reply, number, string]>([
    ['exits 5 when the server answers null', { json: null }, 5, 'there is no conversation'],
    ['exits 5 when the server answers 404', NOT_FOUND, 5, 'there is no conversation'],
    [
      'exits 9 when the server answers 400',
      { status: 400, json: { detail: 'no tenant' } },
      9,
      '400: no tenant',
    ],
  ])('%s', async (_, reply, code, err) => {
    at.script({ [CONVERSATION]: reply });
    await at.ends(`conv show ${ID}`, { code, err });
  });
});

it('conv list has the statuses of acs', async () => {
  at.v0.listed = (older.body('v0.many.list') as { results: Record<string, unknown>[] }).results;
  const { items } = await at.json<{ items: { status: string }[] }>('conv list');
  expect(items.map(({ status }) => status)).toEqual([
    'running',
    'running',
    'running',
    'stopped',
    'stopped',
  ]);
  const first = {
    id: '5cd7192ff2e443128168ffd09410384c',
    dialect: 'v0',
    execution_status: null,
    sandbox_id: null,
  };
  expect(items[0]).toMatchObject(first);
});

it('conv wait, show --exit-status and follow exit 1 for a failure that only the agent reports', async () => {
  given([user, becomes('error', 'too many steps')]);
  for (const line of ['wait', 'show --exit-status', 'follow'])
    await at.ends(`conv ${line} ${ID}`, { code: 1 });
});

it('conv wait exits 0 and conv result prints the text when an agent has answered', async () => {
  given([user, becomes('running'), answers, becomes('awaiting_user_input')]);
  await at.ends(`conv wait ${ID}`, {});
  await at.ends(`conv result ${ID}`, { out: 'the answer' });
});

it('conv events reads page by page, forwards and backwards', async () => {
  given(Array.from({ length: 250 }, () => runs));
  const ids = async (flags: string): Promise<string[]> =>
    (await at.json<{ items: { id: string }[] }>(`conv events ${ID} ${flags}`)).items.map(
      ({ id }) => id,
    );
  expect(await ids('')).toEqual(at.v0.events.map(({ id }) => String(id)));
  expect(await ids('--tail 150')).toEqual(at.v0.events.slice(100).map(({ id }) => String(id)));
});

describe('a pending action', () => {
  const WAITING = becomes('awaiting_user_confirmation');
  const STATE = 'change_agent_state';
  const post = (reply: Reply, then: (() => unknown)[] = []): void => {
    let isPosted = false;
    at.script(({ method, path }) => {
      if (isPosted && method === 'GET' && path === `${CONVERSATION}/events`) then.shift()?.();
      if (method !== 'POST') return null;
      isPosted = true;
      return reply;
    });
  };
  const TAKEN: Reply = { json: { success: true } };

  it.each([
    ['before', [user, becomes('running'), WAITING, runs]],
    ['after', [user, becomes('running'), runs, WAITING]],
  ])('is found and accepted when the event of the state comes %s it', async (_order, steps) => {
    given(steps);
    const shown = { kind: 'run', text: '$ ls -la', risk: 'medium' };
    const { out } = await at.ends(`conv confirm ${ID} --json`, { code: 8, out: shown });
    const { action_id: action } = JSON.parse(out) as { action_id: string };
    post(TAKEN, [() => becomes('user_confirmed')(at.v0)]);
    await at.ends(`conv confirm ${ID} --accept --action ${action}`, {});
    const sent = {
      path: `${CONVERSATION}/events`,
      body: { action: STATE, args: { agent_state: 'user_confirmed' } },
    };
    expect(at.server.writes()).toMatchObject([sent]);
  });

  it('is found after another one was rejected, which servers send a second time', async () => {
    given([user, becomes('running'), WAITING, runs, runs, becomes('user_rejected'), rejected]);
    given([becomes('awaiting_user_input'), user, becomes('running'), WAITING, runs]);
    happens(at.v0, { source: 'agent', observation: 'null', cause: 11 });
    await at.ends(`conv confirm ${ID} --json`, { code: 8, out: { action_id: '11' } });
  });

  it('is answered when the agent has processed the answer: until then the events show it as pending', async () => {
    given([user, runs, WAITING]);
    const looks = [() => undefined, () => runs(at.v0), () => becomes('user_confirmed')(at.v0)];
    post(TAKEN, looks);
    await at.ends(`conv confirm ${ID} --accept`, {});
    expect(looks).toEqual([]);
  });

  it('that still waits after a rejection makes conv confirm exit 6', async () => {
    given([user, runs, WAITING]);
    post(TAKEN);
    await at.ends(`conv confirm ${ID} --reject`, { code: 6, err: 'still waits' });
  });

  it('that the state of the agent no longer shows makes conv wait exit 8, and is accepted', async () => {
    given([user, becomes('running'), WAITING, runs, becomes('paused'), becomes('running')]);
    const out = { status: 'waiting', waiting_for: 'confirmation', exit_code: 8 };
    await at.ends(`conv wait ${ID} --wait-timeout 10m --json`, { code: 8, out });
    await at.ends(`conv send ${ID} hello`, { code: 8, writes: [] });
    post(TAKEN, [() => becomes('user_confirmed')(at.v0)]);
    await at.ends(`conv confirm ${ID} --accept`, {});
  });

  it.each(['paused', 'user_confirmed', 'rate_limited', 'loading'])(
    'counts in each state of the agent that does not end it, also in %s',
    async (state) => {
      given([user, becomes(state), runs]);
      if (state === 'paused') given([becomes(state)]);
      await at.ends(`conv wait ${ID} --wait-timeout 10m --json`, {
        code: 8,
        out: { status: 'waiting', exit_code: 8 },
      });
      await at.ends(`conv confirm ${ID} --json`, { code: 8, out: { kind: 'run' } });
      await at.ends(`conv send ${ID} hello`, { code: 8, writes: [] });
    },
  );

  it.each(['finished', 'user_confirmed', 'awaiting_user_input', 'error'])(
    'is not answered when the agent is %s: the conversation would hang',
    async (state) => {
      given([user, runs, becomes(state)]);
      await at.ends(`conv confirm ${ID} --accept`, { code: 6, writes: [] });
    },
  );

  it.each([
    ['exits 12 for a rejection with a reason', ['confirm', '--reject', '--reason', 'no'], 12],
    ['exits 8 for a message, which would execute it', ['send', 'x'], 8],
    ['exits 8 for conv resume', ['resume'], 8],
  ])('%s, and nothing is sent', async (_, [verb = '', ...rest], code) => {
    given([user, runs, WAITING]);
    await at.ends(['conv', verb, ID, ...rest], { code, writes: [] });
  });

  it.each([
    ['waits for a confirmation', WAITING, 8],
    ['runs', becomes('running'), 0],
    ['is paused', becomes('paused'), 6],
  ])('exits by the state after a refusal of conv resume: the agent %s', async (_, state, code) => {
    given([user, becomes('paused')]);
    at.script(({ method }) => {
      if (method !== 'POST') return null;
      given([user, becomes('paused'), state]);
      return { status: 409, json: { detail: 'not now' } };
    });
    await at.ends(`conv resume ${ID}`, { code });
  });
});

describe('conv send', () => {
  it('sends a raw action, and exits 6 while the conversation is stopped', async () => {
    at.script(({ method }) => (method === 'POST' ? { json: { success: true } } : null));
    await at.ends(['conv', 'send', ID, 'go on'], {});
    const body = { action: 'message', args: { content: 'go on', image_urls: [] } };
    expect(at.server.writes()).toMatchObject([{ path: `${CONVERSATION}/events`, body }]);
    given([], 'STOPPED');
    await at.ends(['conv', 'send', ID, 'x'], { code: 6 });
  });

  it('sends to the runtime that the record names, with its key alone', async () => {
    const runtime = await startFake(({ method }) => ({
      json: method === 'GET' ? { events: [], has_more: false } : { success: true },
    }));
    const url = `${runtime.url}${CONVERSATION}`;
    at.v0.record = { ...at.v0.record, url, session_api_key: 'runtime-key-123456' };
    await at.ends(['conv', 'send', ID, 'go on'], {});
    expect(runtime.asked[0]?.headers['x-session-api-key']).toBe('runtime-key-123456');
    expect(runtime.asked[0]?.headers.authorization).toBeUndefined();
    await runtime.close();
  });
});

describe('conv resume', () => {
  it('exits 8 for an agent that waits for a message, because it would do nothing', async () => {
    given([user, runs, becomes('stopped'), becomes('loading'), becomes('awaiting_user_input')]);
    await at.ends(`conv resume ${ID}`, { code: 8, err: 'acs conv send', writes: [] });
  });

  it('starts a stopped conversation, and continues its agent', async () => {
    given([user, runs, becomes('stopped')], 'STOPPED');
    at.script(({ method, path }) => {
      if (method !== 'POST') return null;
      if (path.endsWith('/start')) given([becomes('loading'), becomes('paused')]);
      else becomes('running')(at.v0);
      return { json: { success: true } };
    });
    const writes = [`POST ${CONVERSATION}/start`, `POST ${CONVERSATION}/events`];
    await at.ends(`conv resume ${ID}`, { writes });
    expect(at.server.writes()[1]?.body).toEqual({
      action: 'change_agent_state',
      args: { agent_state: 'running' },
    });
    // A run that goes on is not started again.
    await at.ends(`conv resume ${ID}`, { writes });
  });
});

describe('conv diff', () => {
  /** Both sides of each file, or what the server answers instead. */
  const changed = (files: Record<string, [status: string, sides: Reply]>): void =>
    at.script(({ path, query }) => {
      const json = Object.entries(files).map(([name, [status]]) => ({ path: name, status }));
      if (path.endsWith('/git/changes')) return { json };
      return path.endsWith('/git/diff') ? (files[query.get('path') ?? '']?.[1] ?? NOT_FOUND) : null;
    });
  const sides = (original: string | null, modified: string | null): Reply => ({
    json: { original, modified },
  });

  it('is computed from both sides of each file, and names files whose sides cannot be read', async () => {
    changed({
      'changed.txt': ['M', sides('a\nb\nc', 'a\nB\nc')],
      'missing.txt': ['A', { status: 404, json: { error: 'no such file' } }],
      'new.txt': ['U', sides('', 'hello')],
      'gone.txt': ['D', sides('bye\n', '')],
      'image.png': ['A', sides(null, '\0PNG')],
    });
    const out = `diff --git a/changed.txt b/changed.txt
--- a/changed.txt
+++ b/changed.txt
@@ -1,3 +1,3 @@
 a
-b
+B
 c
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,1 @@
+hello
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1,1 +0,0 @@
-bye
`;
    const err = ['file modes', 'missing.txt: not compared: ', 'image.png: binary content'];
    await at.ends(`conv diff ${ID}`, { out, err });
  });

  it.each<[number, string, Reply]>([
    [0, 'no changes', { status: 404, json: { error: 'aucun dépôt git' } }],
    [5, 'the error', { status: 404, json: { detail: 'Not a git repository of yours' } }],
  ])('exits %i with %s for a 404 of the changes, whatever its words', async (code, _, reply) => {
    at.script(({ path }) => (path.endsWith('/git/changes') ? reply : null));
    await at.ends(`conv diff ${ID}`, { code, out: '' });
  });

  it('keeps the order of the files', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `new-${index}.txt`);
    changed(Object.fromEntries(names.map((name) => [name, ['A', sides('', name)]])));
    const { out } = await at.ends(`conv diff ${ID} --name-only`, {});
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t').at(-1)),
    ).toEqual(names);
  });
});
