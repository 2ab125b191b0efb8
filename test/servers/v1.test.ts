import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Conversation } from '../../src/domain/conversation.ts';
import { eachEvent } from '../../src/domain/event.ts';
import type { NewConversation } from '../../src/domain/new-conversation.ts';
import type { Server, StartProgress } from '../../src/servers/server.ts';
import { isDryRunStop } from '../../src/servers/transport/dry-run.ts';
import { connectTo } from './support/connect.ts';
import { failure } from './support/failure.ts';
import { NOT_FOUND, type Asked, type Reply } from './support/fake-server.ts';
import { newConversation } from './support/new-conversation.ts';
import {
  agentMessage,
  createV1World,
  event,
  finish,
  ID,
  OTHER_ID,
  SANDBOX_KEY,
  status,
  userMessage,
  type V1World,
} from './support/v1-world.ts';

let world: V1World;
let server: Server;

beforeEach(async () => {
  world = await createV1World();
  server = await connectTo(world.fake.url);
  world.fake.asked.length = 0;
});

afterEach(async () => {
  await server.close();
  await world.close();
});

/** Answers these routes, leaves the others alone. */
function on(routes: Record<string, (asked: Asked) => Reply>): void {
  world.before = (asked) => routes[`${asked.method} ${asked.path}`]?.(asked) ?? null;
}

const asked = (line: string): Asked | undefined =>
  world.fake.asked.find(({ method, path }) => `${method} ${path}` === line);

async function start(request: NewConversation): Promise<{ steps: StartProgress[]; conversation: Conversation }> {
  const running = server.conversations.start(request, { signal: new AbortController().signal, until: 'started' });
  const steps: StartProgress[] = [];
  for (;;) {
    const next = await running.next();
    if (next.done) return { steps, conversation: next.value };
    steps.push(next.value);
  }
}

describe('reading', () => {
  it('takes the id of a start that failed, though it names a conversation that never came to be', async () => {
    const task = { id: OTHER_ID, status: 'ERROR', detail: 'the clone failed', app_conversation_id: ID, request: {} };
    on({ 'GET /api/v1/app-conversations/start-tasks': () => ({ json: [task] }) });
    const failed = { id: '', status: 'failed', reason: { code: 'start-failed', text: 'the clone failed' } };
    expect(await server.conversations.get(OTHER_ID)).toMatchObject(failed);
    expect(await server.conversations.getSettled(OTHER_ID)).toMatchObject(failed);
  });

  it('lists conversations in the words of the contract', async () => {
    world.addConversation();
    const { items, next } = await server.conversations.list({ pageSize: 30 }, null);
    expect(next).toBeNull();
    expect(items[0]).toEqual({
      id: ID,
      start_task_id: null,
      title: 'A title',
      status: 'running',
      reason: null,
      waiting_for: null,
      dialect: 'v1',
      execution_status: 'running',
      sandbox_id: 'sb1',
      sandbox_status: 'running',
      repository: null,
      branch: null,
      git_provider: null,
      model: 'openai/gpt-4o',
      created_at: '2026-11-21T10:12:30.053480Z',
      updated_at: '2026-11-21T10:12:39.352171Z',
      cost_usd: null,
      tokens: null,
      url: `${world.fake.url}/conversations/${ID}`,
    });
  });

  it('finds a conversation by its id in either form, and by its start task', async () => {
    world.addConversation();
    world.tasks.set(OTHER_ID, { id: OTHER_ID, status: 'READY', app_conversation_id: ID });
    expect((await server.conversations.get('0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9')).id).toBe(ID);
    expect(await server.conversations.get(OTHER_ID)).toMatchObject({ id: ID, start_task_id: OTHER_ID });
    const error = await failure(server.conversations.get('f'.repeat(32)));
    expect([error.kind, error.exitCode]).toEqual(['not-found', 5]);
  });

  it('shows a start task that has no conversation yet, or never will', async () => {
    world.tasks.set(OTHER_ID, {
      id: OTHER_ID,
      status: 'PREPARING_REPOSITORY',
      request: { selected_repository: 'a/b' },
    });
    expect(await server.conversations.get(OTHER_ID)).toMatchObject({
      id: '',
      start_task_id: OTHER_ID,
      status: 'starting',
      repository: 'a/b',
    });
    world.tasks.set(OTHER_ID, { id: OTHER_ID, status: 'ERROR', detail: 'no such repository' });
    expect(await server.conversations.get(OTHER_ID)).toMatchObject({
      status: 'failed',
      reason: { code: 'start-failed', text: 'no such repository' },
    });
  });

  it('finds a start by the id it was given for its conversation, until that is there', async () => {
    const request = { conversation_id: '0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9' };
    const now = new Date().toISOString();
    const task = {
      id: OTHER_ID,
      app_conversation_id: null,
      sandbox_id: null,
      request,
      created_at: now,
      updated_at: now,
    };
    world.tasks.set(OTHER_ID, { ...task, status: 'WORKING' });
    expect(await server.conversations.get(ID)).toMatchObject({
      id: '',
      start_task_id: OTHER_ID,
      status: 'starting',
    });
    world.addConversation();
    expect(await server.conversations.get(ID)).toMatchObject({ id: ID, status: 'running' });
  });

  it('finds the conversation of a start task that never ends', async () => {
    const task = { id: OTHER_ID, status: 'WAITING_FOR_SANDBOX', app_conversation_id: null, sandbox_id: null };
    const request = { conversation_id: ID };
    const now = new Date().toISOString();
    world.tasks.set(OTHER_ID, { ...task, request, created_at: now, updated_at: now });
    world.addConversation();
    expect(await server.conversations.get(OTHER_ID)).toMatchObject({ id: '', status: 'starting' });
    const longAgo = new Date(Date.now() - 300_000).toISOString();
    world.tasks.set(OTHER_ID, { ...task, request, created_at: longAgo, updated_at: longAgo });
    const found = await server.conversations.get(OTHER_ID);
    expect(found).toMatchObject({ id: ID, start_task_id: OTHER_ID, status: 'running' });
  });

  it('calls an answer of another shape a server error', async () => {
    on({ 'GET /api/v1/app-conversations/search': () => ({ json: [{ conversation: 1 }] }) });
    const error = await failure(server.conversations.list({}, null));
    expect([error.kind, error.message]).toEqual([
      'server',
      'an answer that is not what the interface says: conversations is not an object',
    ]);
  });

  it('lets words through that it does not know', async () => {
    world.addConversation({ execution_status: 'dreaming', sandbox_status: 'SHELVED', brand_new: { member: 1 } });
    expect(await server.conversations.get(ID)).toMatchObject({
      status: 'unknown(dreaming)',
      sandbox_status: 'unknown(shelved)',
    });
  });

  it.each([
    ['flashes null', {}],
    ['is missing from a sandbox that is called in error, too busy to say that it is well', { sandbox_status: 'ERROR' }],
  ])('asks again while the status only %s', async (_, busy) => {
    world.addConversation();
    let looks = 0;
    on({
      'GET /api/v1/app-conversations': () => ({
        json: [{ ...world.conversations.get(ID), ...(++looks < 4 ? { ...busy, execution_status: null } : {}) }],
      }),
    });
    expect((await server.conversations.getSettled(ID)).status).toBe('running');
  });

  it('keeps a finished run finished when its sandbox sleeps or is gone', async () => {
    world.appEvents.push(status('running'), finish('done'), status('finished'));
    for (const sandbox_status of ['PAUSED', 'MISSING']) {
      world.addConversation({ sandbox_status, execution_status: null, conversation_url: null, session_api_key: null });
      expect((await server.conversations.getSettled(ID)).status).toBe('finished');
    }
    world.appEvents.push(status('running'));
    expect((await server.conversations.getSettled(ID)).status).toBe('archived');
  });

  it('reads the reason of a failure at the sandbox', async () => {
    world.addConversation({ execution_status: 'error' });
    world.agentEvents.push(
      userMessage('go'),
      event('ConversationErrorEvent', { code: 'LLMAuthenticationError', detail: 'the key is wrong' }),
      status('error'),
    );
    expect(await server.conversations.getSettled(ID)).toMatchObject({
      status: 'failed',
      reason: { code: 'LLMAuthenticationError', text: 'the key is wrong' },
    });
  });
});

describe('events', () => {
  it('come from the sandbox while it runs, else from the app server, without noise and repeats', async () => {
    world.addConversation();
    const told = [userMessage('hello'), finish('bye')];
    world.agentEvents.push(
      told[0] ?? {},
      event('StreamingDeltaEvent', { content: 'b' }),
      event('ConversationStateUpdateEvent', { key: 'full_state', value: {} }),
      told[1] ?? {},
    );
    const kinds = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const one of eachEvent(server.conversations.eventPages(ID, {})))
        found.push(`${one.kind}: ${one.text}`);
      return found;
    };
    expect(await kinds()).toEqual(['MessageEvent: hello', 'ActionEvent: bye']);
    world.addConversation({
      sandbox_status: 'PAUSED',
      execution_status: null,
      conversation_url: null,
      session_api_key: null,
    });
    expect(await kinds()).toEqual([]);
    world.appEvents.push(...told, told[1] ?? {});
    expect(await kinds()).toEqual(['MessageEvent: hello', 'ActionEvent: bye']);
  });

  it('are read from the app server when the sandbox has lost the conversation', async () => {
    world.addConversation();
    world.appEvents.push(finish('kept'));
    world.before = ({ path }) =>
      path.startsWith('/agent/') ? { status: 404, json: { detail: 'Conversation not found' } } : null;
    const texts: string[] = [];
    for await (const one of eachEvent(server.conversations.eventPages(ID, { order: 'newest-first', limit: 1 })))
      texts.push(one.text);
    expect(texts).toEqual(['kept']);
  });

  it('carry no key of the sandbox', async () => {
    world.addConversation();
    world.agentEvents.push(
      event('ObservationEvent', {
        observation: { kind: 'TerminalObservation', content: [{ type: 'text', text: `env: ${SANDBOX_KEY}` }] },
      }),
    );
    for await (const one of eachEvent(server.conversations.eventPages(ID, {}))) {
      expect(JSON.stringify(one)).not.toContain(SANDBOX_KEY);
      expect(one.text).toBe('env: <redacted>');
    }
  });

  it('come once each when the sandbox repeats one and stops answering, and the copy begins anew', async () => {
    world.addConversation();
    const [first, second, third] = [userMessage('first'), userMessage('second'), finish('third')];
    world.appEvents.push(first, second, third);
    world.before = ({ path, query }) => {
      if (!path.startsWith('/agent/') || !path.endsWith('/events/search')) return null;
      if (query.has('page_id')) return { status: 404, json: { detail: 'Conversation not found' } };
      return { json: { items: [first, second, second], next_page_id: '2' } };
    };
    const texts: string[] = [];
    for await (const one of eachEvent(server.conversations.eventPages(ID, {}))) texts.push(one.text);
    expect(texts).toEqual(['first', 'second', 'third']);
  });

  it('end with an error when the server repeats a page', async () => {
    world.addConversation();
    world.before = ({ path }) => (path.endsWith('/events/search') ? { json: { items: [], next_page_id: '7' } } : null);
    const all = async (): Promise<void> => {
      for await (const _ of eachEvent(server.conversations.eventPages(ID, {}))) continue;
    };
    expect((await failure(all())).message).toContain('repeats the page 7');
  });
});

describe('the result', () => {
  it('is the answer to the latest user message, byte for byte', async () => {
    world.addConversation();
    world.agentEvents.push(userMessage('one'), finish('first'), userMessage('two'));
    expect(await server.conversations.result(ID)).toBeNull();
    world.agentEvents.push(agentMessage('  second\n\n'));
    expect(await server.conversations.result(ID)).toBe('  second\n\n');
  });
});

describe('the result while the sandbox does not answer', () => {
  const atSandbox = `/agent/api/conversations/${ID}/events/search`;

  beforeEach(() => {
    world.addConversation();
    world.appEvents.push(userMessage('one'), finish('first'));
    world.agentEvents.push(...world.appEvents, userMessage('two'), finish('second'));
  });

  it('is asked for there again, because the copy may lack the newest message', async () => {
    let failures = 3;
    on({ [`GET ${atSandbox}`]: () => (failures-- > 0 ? { cut: true } : filtered()) });
    expect(await server.conversations.result(ID)).toBe('second');
  });

  it('is that of the copy in the end, with a word about it', async () => {
    const notices: string[] = [];
    await server.close();
    server = await connectTo(world.fake.url, { notice: (text) => notices.push(text) });
    on({ [`GET ${atSandbox}`]: () => ({ cut: true }) });
    expect(await server.conversations.result(ID)).toBe('first');
    expect(notices.join()).toContain('may be up to 30 s behind');
  });

  function filtered(): Reply {
    return { json: { items: world.agentEvents.toReversed(), next_page_id: null } };
  }
});

describe('starting', () => {
  const post = 'POST /api/v1/app-conversations';
  /** The server takes the start; the task goes through these states. */
  function tasks(...states: Record<string, unknown>[]): void {
    let request: unknown = null;
    on({
      [post]: ({ body }) => {
        request = body;
        return { json: { id: OTHER_ID, status: 'WORKING', request } };
      },
      'GET /api/v1/app-conversations/start-tasks': () => ({
        json: [{ id: OTHER_ID, request, ...(states.length > 1 ? states.shift() : states[0]) }],
      }),
    });
  }
  const ready = { status: 'READY', app_conversation_id: ID, sandbox_id: 'sb1' };

  it('sends only what was asked for, with an id of its own, and yields each step', async () => {
    world.addConversation({ llm_model: 'openai/o' });
    tasks(
      { status: 'WAITING_FOR_SANDBOX' },
      { status: 'WAITING_FOR_SANDBOX' },
      { status: 'STARTING_CONVERSATION' },
      ready,
    );
    const { steps, conversation } = await start(
      newConversation({
        image_urls: ['https://x.example/y.png'],
        model: 'openai/o',
        instructions: 'be kind',
        secrets: { TOKEN: 'v' },
      }),
    );
    const body = asked(post)?.body as Record<string, unknown>;
    expect(body).toEqual({
      conversation_id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as string,
      initial_message: {
        role: 'user',
        content: [
          { type: 'text', text: 'do it' },
          { type: 'image', image_urls: ['https://x.example/y.png'] },
        ],
        run: true,
      },
      system_message_suffix: 'be kind',
      llm_model: 'openai/o',
      secrets: { TOKEN: 'v' },
    });
    expect(steps.map((step) => step.step)).toEqual([
      'working',
      'waiting-for-sandbox',
      'starting-conversation',
      'ready',
    ]);
    expect(steps[0]?.conversation_id).toBe(String(body['conversation_id']).replaceAll('-', ''));
    expect(conversation).toMatchObject({ id: ID, start_task_id: OTHER_ID, status: 'running' });
  });

  it('fails with the words of the task', async () => {
    tasks({ status: 'ERROR', detail: '500: Sandbox not found: X' });
    const error = await failure(start(newConversation()));
    expect([error.kind, error.exitCode, error.message]).toEqual([
      'failed',
      1,
      'the conversation did not start: 500: Sandbox not found: X',
    ]);
  });

  it('says so when the task fails without a word', async () => {
    tasks({ status: 'ERROR', detail: '' });
    expect((await failure(start(newConversation()))).message).toContain('the server gives no reason');
  });

  it('takes a refusal of the values for a matter of usage, and a missing model for one of configuration', async () => {
    on({
      [post]: () => ({
        status: 422,
        json: { detail: [{ loc: ['body', 'git_provider'], msg: 'Input should be a provider' }] },
      }),
    });
    expect(await failure(start(newConversation()))).toMatchObject({
      kind: 'usage',
      message: 'the server refuses this start: git_provider: Input should be a provider',
    });
    on({ [post]: () => ({ status: 400, json: { detail: 'no model is set: give llm_model or a replay' } }) });
    expect((await failure(start(newConversation()))).kind).toBe('config');
  });

  it('refuses what V1 lacks before anything is sent', async () => {
    for (const members of [{ microagent: { repo: 'a/b' } }, { mcp_config: {} }]) {
      const error = await failure(start(newConversation(members)));
      expect([error.kind, error.exitCode]).toEqual(['unsupported', 12]);
    }
    expect(world.fake.asked).toEqual([]);
  });

  it('finds a start whose answer was lost by its id, and sends it once', async () => {
    let sent: Record<string, unknown> = {};
    on({
      [post]: ({ body }) => {
        sent = body as Record<string, unknown>;
        const id = String(sent['conversation_id']).replaceAll('-', '');
        world.addConversation({ id });
        world.tasks.set(OTHER_ID, { id: OTHER_ID, status: 'READY', app_conversation_id: id, request: body });
        return { cut: true };
      },
    });
    const { conversation } = await start(newConversation());
    expect(conversation.id).toBe(String(sent['conversation_id']).replaceAll('-', ''));
    expect(world.fake.lines().filter((line) => line === post)).toHaveLength(1);
  });

  it('says that it does not know when nothing of a lost start is to be seen', async () => {
    on({ [post]: () => ({ cut: true }) });
    const error = await failure(start(newConversation()));
    expect([error.kind, error.exitCode]).toEqual(['unknown-outcome', 11]);
    expect(error.details.hint).toContain('look with acs conv list');
    expect(world.fake.lines().filter((line) => line === post)).toHaveLength(1);
  });

  it('repeats a lost start only after the server has honoured an id, into a given sandbox, with the same id', async () => {
    const ids: string[] = [];
    let isCut = true;
    on({
      [post]: ({ body }) => {
        const id = String((body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
        ids.push(id);
        if (isCut) {
          isCut = false;
          return { cut: true };
        }
        world.addConversation({ id });
        return { json: { id: OTHER_ID, request: body, status: 'READY', app_conversation_id: id } };
      },
    });
    expect((await failure(start(newConversation({ sandbox_id: 'sb1' })))).kind).toBe('unknown-outcome');
    expect(ids).toHaveLength(1);
    await start(newConversation());
    isCut = true;
    await start(newConversation({ sandbox_id: 'sb1' }));
    expect(ids).toHaveLength(4);
    expect(ids[2]).toBe(ids[3]);
  });

  it('looks a task up by its conversation when it never ends', async () => {
    let id = '';
    on({
      [post]: ({ body }) => {
        id = String((body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
        world.addConversation({ id });
        const task = { id: OTHER_ID, status: 'STARTING_CONVERSATION', request: body };
        world.tasks.set(OTHER_ID, task);
        return { json: task };
      },
    });
    expect((await start(newConversation())).conversation.id).toBe(id);
  });

  it('does not trust READY: a branch that did not arrive is not found', async () => {
    world.addConversation({ selected_repository: 'a/b' });
    const commands: unknown[] = [];
    let exit = 42;
    tasks(ready);
    const taken = world.before;
    world.before = (request) => {
      if (request.path === '/agent/api/bash/start_bash_command') {
        commands.push(request.body);
        return { json: { id: 'c1' } };
      }
      if (request.path === '/agent/api/bash/bash_events/search')
        return { json: { items: [{ order: 0, exit_code: exit, stdout: '' }], next_page_id: null } };
      return taken(request);
    };
    const request = newConversation({ repository: 'a/b', branch: "it's" });
    expect(await failure(start(request))).toMatchObject({ kind: 'not-found', exitCode: 5 });
    expect(JSON.stringify(commands[0])).toContain(String.raw`'refs/heads/it'\\''s'`);
    exit = 41;
    expect((await failure(start(request))).message).toContain('the repository a/b did not arrive');
    exit = 0;
    expect((await start(request)).conversation.id).toBe(ID);
  });

  it('sets the confirmation policy before the agent sees the message', async () => {
    world.addConversation();
    tasks(ready);
    const taken = world.before;
    world.before = (request) =>
      request.method === 'POST' && request.path.startsWith('/agent/') ? { json: { success: true } } : taken(request);
    await start(newConversation({ confirm: 'always' }));
    expect(asked(post)?.body).not.toHaveProperty('initial_message');
    const writes = world.fake.asked.filter(({ method, path }) => method === 'POST' && path.startsWith('/agent/'));
    expect(writes.map(({ path, body }) => [path.split('/').at(-1), body])).toEqual([
      ['confirmation_policy', { policy: { kind: 'AlwaysConfirm' } }],
      ['events', { role: 'user', content: [{ type: 'text', text: 'do it' }], run: true }],
    ]);
    expect(
      writes.every(
        ({ headers }) => headers['x-session-api-key'] === SANDBOX_KEY && headers.authorization === undefined,
      ),
    ).toBe(true);
  });

  it('creates a sandbox of the spec first, and waits for it', async () => {
    world.addConversation();
    tasks(ready);
    const taken = world.before;
    let looks = 0;
    world.before = (request) => {
      const line = `${request.method} ${request.path}`;
      if (line === 'GET /api/v1/sandbox-specs/search')
        return { json: { items: [{ id: 'default' }, { id: 'small' }], next_page_id: null } };
      if (line === 'POST /api/v1/sandboxes') return { json: { id: 'sb9', status: 'STARTING' } };
      if (line === 'GET /api/v1/sandboxes')
        return { json: [{ id: 'sb9', status: ++looks < 3 ? 'STARTING' : 'RUNNING' }] };
      return taken(request);
    };
    await start(newConversation({ spec_id: 'small' }));
    expect(asked('POST /api/v1/sandboxes')?.query.get('sandbox_spec_id')).toBe('small');
    expect(asked(post)?.body).toMatchObject({ sandbox_id: 'sb9' });
    expect((await failure(start(newConversation({ spec_id: 'huge' })))).kind).toBe('not-found');
  });
});

describe('a dry run of a start', () => {
  it('shows the sandbox that would be created and the start, and sends neither', async () => {
    const dry = await connectTo(world.fake.url, { mode: 'dry-run' });
    world.before = ({ path }) =>
      path === '/api/v1/sandbox-specs/search' ? { json: { items: [{ id: 'small' }], next_page_id: null } } : null;
    const running = dry.conversations.start(newConversation({ spec_id: 'small', secrets: { TOKEN: 'very-secret' } }), {
      signal: new AbortController().signal,
      until: 'started',
    });
    const stop: unknown = await running.next().catch((error: unknown) => error);
    if (!isDryRunStop(stop)) throw new Error('no dry run');
    expect(stop.requests.map(({ method, url }) => `${method} ${url.slice(world.fake.url.length)}`)).toEqual([
      'POST /api/v1/sandboxes?sandbox_spec_id=small',
      'POST /api/v1/app-conversations',
    ]);
    expect(JSON.stringify(stop.requests)).not.toContain('very-secret');
    expect(world.fake.asked.every(({ method }) => method === 'GET')).toBe(true);
    await dry.close();
  });
});

describe('changing', () => {
  const path = `/api/v1/app-conversations/${ID}`;
  const addFinished = (): void => {
    world.addConversation({ execution_status: 'finished' });
    world.agentState['execution_status'] = 'finished';
  };

  it('sends a message through the app server, once', async () => {
    addFinished();
    on({ [`POST ${path}/send-message`]: () => ({ json: { success: true } }) });
    await server.conversations.send(ID, { text: 'go on', image_urls: [] });
    expect(asked(`POST ${path}/send-message`)?.body).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'go on' }],
      run: true,
    });
  });

  it.each([
    [409, { detail: 'Sandbox is not running, call resume' }, 'conflict'],
    [410, { detail: 'gone' }, 'conflict'],
    [404, { detail: 'Sandbox not found for conversation' }, 'conflict'],
    [404, { detail: 'unknown_app_conversation' }, 'not-found'],
    [502, { detail: 'Agent server error: 500' }, 'server'],
    [502, { detail: 'Failed to reach agent server.' }, 'unknown-outcome'],
  ])('tells a send that got %i %j as %s', async (code, json, kind) => {
    addFinished();
    on({ [`POST ${path}/send-message`]: () => ({ status: code, json }) });
    expect((await failure(server.conversations.send(ID, { text: 'x', image_urls: [] }))).kind).toBe(kind);
  });

  it('does not know of a message whether it arrived when a gateway gave up on it', async () => {
    addFinished();
    on({ [`POST ${path}/send-message`]: () => ({ status: 502, type: 'text/html', text: '<h1>Bad Gateway</h1>' }) });
    const error = await failure(server.conversations.send(ID, { text: 'x', image_urls: [] }));
    expect([error.kind, error.details.hint]).toEqual(['unknown-outcome', expect.stringContaining('conv events')]);
  });

  it('renames, deletes and tells an unknown one', async () => {
    world.addConversation();
    on({
      [`PATCH ${path}`]: ({ body }) => ({ json: world.addConversation(body as Record<string, unknown>) }),
      [`DELETE ${path}`]: () => ({ json: { success: world.conversations.delete(ID) } }),
    });
    expect((await server.conversations.rename(ID, 'new name')).title).toBe('new name');
    await server.conversations.remove(ID);
    on({ [`DELETE ${path}`]: () => ({ status: 404, json: { detail: 'unknown' } }) });
    expect((await failure(server.conversations.remove(ID))).kind).toBe('not-found');
  });

  it('interrupts a run, and pauses where the server is too old for that', async () => {
    world.addConversation();
    const agent = `/agent/api/conversations/${ID}`;
    on({ [`POST ${agent}/interrupt`]: () => ({ json: { success: true } }) });
    await server.conversations.stop(ID);
    on({ [`POST ${agent}/interrupt`]: () => NOT_FOUND, [`POST ${agent}/pause`]: () => ({ json: { success: true } }) });
    await server.conversations.stop(ID);
    expect(world.fake.lines().filter((line) => line.startsWith('POST'))).toEqual([
      `POST ${agent}/interrupt`,
      `POST ${agent}/interrupt`,
      `POST ${agent}/pause`,
    ]);
  });

  it('names the way out when the sandbox sleeps', async () => {
    world.addConversation({ sandbox_status: 'PAUSED', conversation_url: null });
    const error = await failure(server.conversations.stop(ID));
    expect([error.kind, error.details.hint]).toEqual(['conflict', 'resume it with: acs sandbox resume sb1']);
  });
});

describe('sandboxes', () => {
  const record = {
    id: 'sb1',
    status: 'RUNNING',
    sandbox_spec_id: 'default',
    session_api_key: SANDBOX_KEY,
    created_at: '2026-11-21T09:00:00Z',
    exposed_urls: [{ name: 'VSCODE', url: `http://h/?tkn=${SANDBOX_KEY}&folder=x`, port: 1 }],
  };

  it('tell their conversations and repositories, and no key', async () => {
    world.addConversation({ selected_repository: 'a/b' });
    on({
      'GET /api/v1/sandboxes/search': () => ({
        json: { items: [record, { id: 'sb2', status: 'PAUSED' }], next_page_id: null },
      }),
    });
    const { items } = await server.sandboxes.list(null);
    expect(items[0]).toEqual({
      id: 'sb1',
      status: 'running',
      status_detail: null,
      spec_id: 'default',
      created_at: '2026-11-21T09:00:00Z',
      last_active_at: '2026-11-21T10:12:39.352171Z',
      conversation_ids: [ID],
      repositories: ['a/b'],
      urls: [{ name: 'VSCODE', url: expect.not.stringContaining(SANDBOX_KEY) as string }],
    });
    expect(items[1]).toMatchObject({ id: 'sb2', status: 'paused', conversation_ids: [] });
    expect(world.fake.asked).toHaveLength(2);
  });

  it('are deleted by the same id in path and query', async () => {
    on({ 'DELETE /api/v1/sandboxes/sb1': () => ({ json: { success: true } }) });
    await server.sandboxes.remove('sb1');
    expect(asked('DELETE /api/v1/sandboxes/sb1')?.query.get('sandbox_id')).toBe('sb1');
    expect((await failure(server.sandboxes.remove('sb2'))).kind).toBe('not-found');
  });

  it('name the first spec as the default', async () => {
    on({
      'GET /api/v1/sandbox-specs/search': () => ({
        json: { items: [{ id: 'one', working_dir: '/w' }, { id: 'two' }], next_page_id: null },
      }),
    });
    expect((await server.specs.list(null)).items.map((spec) => [spec.id, spec.default])).toEqual([
      ['one', true],
      ['two', false],
    ]);
    expect((await server.specs.get('two')).default).toBe(false);
  });
});
