import { describe, expect, it } from 'vitest';
import { isDryRunStop } from '../../../src/servers/transport/dry-run.ts';
import { connectTo } from '../support/connect.ts';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { newConversation } from '../support/new-conversation.ts';
import { ID, OTHER_ID, SANDBOX_KEY } from '../support/v1-world.ts';

const v1 = connectedV1();

describe('a start of a V1 conversation', () => {
  const post = 'POST /api/v1/app-conversations';
  /** The server takes the start; the task goes through these states. */
  function tasks(...states: Record<string, unknown>[]): void {
    let request: unknown = null;
    v1.on({
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

  it('sends only the given members, with a chosen id, and yields each step', async () => {
    v1.world.addConversation({ llm_model: 'openai/o' });
    tasks(
      { status: 'WAITING_FOR_SANDBOX' },
      { status: 'WAITING_FOR_SANDBOX' },
      { status: 'STARTING_CONVERSATION' },
      ready,
    );
    const { steps, conversation } = await v1.start(
      newConversation({
        image_urls: ['https://x.example/y.png'],
        model: 'openai/o',
        instructions: 'be kind',
        secrets: { TOKEN: 'v' },
      }),
    );
    const body = v1.asked(post)?.body as Record<string, unknown>;
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

  it('fails with the detail of the task', async () => {
    tasks({ status: 'ERROR', detail: '500: Sandbox not found: X' });
    const error = await failure(v1.start(newConversation()));
    expect([error.kind, error.exitCode, error.message]).toEqual([
      'failed',
      1,
      'the conversation did not start: 500: Sandbox not found: X',
    ]);
  });

  it('reports that the failed task has no detail', async () => {
    tasks({ status: 'ERROR', detail: '' });
    expect((await failure(v1.start(newConversation()))).message).toContain('the server gives no reason');
  });

  it('reports refused values as a usage error, and a missing model as a configuration error', async () => {
    v1.on({
      [post]: () => ({
        status: 422,
        json: { detail: [{ loc: ['body', 'git_provider'], msg: 'Input should be a provider' }] },
      }),
    });
    expect(await failure(v1.start(newConversation()))).toMatchObject({
      kind: 'usage',
      message: 'the server refuses this start: git_provider: Input should be a provider',
    });
    v1.on({ [post]: () => ({ status: 400, json: { detail: 'no model is set: give llm_model or a replay' } }) });
    expect((await failure(v1.start(newConversation()))).kind).toBe('config');
  });

  it('refuses flags that V1 does not support before anything is sent', async () => {
    for (const members of [{ microagent: { repo: 'a/b' } }, { mcp_config: {} }]) {
      const error = await failure(v1.start(newConversation(members)));
      expect([error.kind, error.exitCode]).toEqual(['unsupported', 12]);
    }
    expect(v1.world.fake.asked).toEqual([]);
  });

  it('finds a start whose answer was lost by its id, and sends it once', async () => {
    let sent: Record<string, unknown> = {};
    v1.on({
      [post]: ({ body }) => {
        sent = body as Record<string, unknown>;
        const id = String(sent['conversation_id']).replaceAll('-', '');
        v1.world.addConversation({ id });
        v1.world.tasks.set(OTHER_ID, { id: OTHER_ID, status: 'READY', app_conversation_id: id, request: body });
        return { cut: true };
      },
    });
    const { conversation } = await v1.start(newConversation());
    expect(conversation.id).toBe(String(sent['conversation_id']).replaceAll('-', ''));
    expect(v1.world.fake.lines().filter((line) => line === post)).toHaveLength(1);
  });

  it('reports an unknown outcome when nothing shows a start whose answer was lost', async () => {
    v1.on({ [post]: () => ({ cut: true }) });
    const error = await failure(v1.start(newConversation()));
    expect([error.kind, error.exitCode]).toEqual(['unknown-outcome', 11]);
    expect(error.details.hint).toContain('look with acs conv list');
    expect(v1.world.fake.lines().filter((line) => line === post)).toHaveLength(1);
  });

  it('repeats a lost start only after the server has honoured an id, into a given sandbox, with the same id', async () => {
    const ids: string[] = [];
    let isCut = true;
    v1.on({
      [post]: ({ body }) => {
        const id = String((body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
        ids.push(id);
        if (isCut) {
          isCut = false;
          return { cut: true };
        }
        v1.world.addConversation({ id });
        return { json: { id: OTHER_ID, request: body, status: 'READY', app_conversation_id: id } };
      },
    });
    expect((await failure(v1.start(newConversation({ sandbox_id: 'sb1' })))).kind).toBe('unknown-outcome');
    expect(ids).toHaveLength(1);
    await v1.start(newConversation());
    isCut = true;
    await v1.start(newConversation({ sandbox_id: 'sb1' }));
    expect(ids).toHaveLength(4);
    expect(ids[2]).toBe(ids[3]);
  });

  it('finds the conversation of a task that never ends', async () => {
    let id = '';
    v1.on({
      [post]: ({ body }) => {
        id = String((body as Record<string, unknown>)['conversation_id']).replaceAll('-', '');
        v1.world.addConversation({ id });
        const task = { id: OTHER_ID, status: 'STARTING_CONVERSATION', request: body };
        v1.world.tasks.set(OTHER_ID, task);
        return { json: task };
      },
    });
    expect((await v1.start(newConversation())).conversation.id).toBe(id);
  });

  it('reports a missing branch as not found although the task is READY', async () => {
    v1.world.addConversation({ selected_repository: 'a/b' });
    const commands: unknown[] = [];
    let exit = 42;
    tasks(ready);
    const taken = v1.world.before;
    v1.world.before = (request) => {
      if (request.path === '/agent/api/bash/start_bash_command') {
        commands.push(request.body);
        return { json: { id: 'c1' } };
      }
      if (request.path === '/agent/api/bash/bash_events/search')
        return { json: { items: [{ order: 0, exit_code: exit, stdout: '' }], next_page_id: null } };
      return taken(request);
    };
    const request = newConversation({ repository: 'a/b', branch: "it's" });
    expect(await failure(v1.start(request))).toMatchObject({ kind: 'not-found', exitCode: 5 });
    expect(JSON.stringify(commands[0])).toContain(String.raw`'refs/heads/it'\\''s'`);
    exit = 41;
    expect((await failure(v1.start(request))).message).toContain('the repository a/b did not arrive');
    exit = 0;
    expect((await v1.start(request)).conversation.id).toBe(ID);
  });

  it('sets the confirmation policy before the agent sees the message', async () => {
    v1.world.addConversation();
    tasks(ready);
    const taken = v1.world.before;
    v1.world.before = (request) =>
      request.method === 'POST' && request.path.startsWith('/agent/') ? { json: { success: true } } : taken(request);
    await v1.start(newConversation({ confirm: 'always' }));
    expect(v1.asked(post)?.body).not.toHaveProperty('initial_message');
    const writes = v1.world.fake.asked.filter(({ method, path }) => method === 'POST' && path.startsWith('/agent/'));
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
    v1.world.addConversation();
    tasks(ready);
    const taken = v1.world.before;
    let looks = 0;
    v1.world.before = (request) => {
      const line = `${request.method} ${request.path}`;
      if (line === 'GET /api/v1/sandbox-specs/search')
        return { json: { items: [{ id: 'default' }, { id: 'small' }], next_page_id: null } };
      if (line === 'POST /api/v1/sandboxes') return { json: { id: 'sb9', status: 'STARTING' } };
      if (line === 'GET /api/v1/sandboxes')
        return { json: [{ id: 'sb9', status: ++looks < 3 ? 'STARTING' : 'RUNNING' }] };
      return taken(request);
    };
    await v1.start(newConversation({ spec_id: 'small' }));
    expect(v1.asked('POST /api/v1/sandboxes')?.query.get('sandbox_spec_id')).toBe('small');
    expect(v1.asked(post)?.body).toMatchObject({ sandbox_id: 'sb9' });
    expect((await failure(v1.start(newConversation({ spec_id: 'huge' })))).kind).toBe('not-found');
  });
});

describe('a dry run of a start', () => {
  it('shows the sandbox that would be created and the start, and sends neither', async () => {
    const dry = await connectTo(v1.world.fake.url, { mode: 'dry-run' });
    v1.world.before = ({ path }) =>
      path === '/api/v1/sandbox-specs/search' ? { json: { items: [{ id: 'small' }], next_page_id: null } } : null;
    const running = dry.conversations.start(newConversation({ spec_id: 'small', secrets: { TOKEN: 'very-secret' } }), {
      signal: new AbortController().signal,
      until: 'started',
    });
    const stop: unknown = await running.next().catch((error: unknown) => error);
    if (!isDryRunStop(stop)) throw new Error('no dry run');
    expect(stop.requests.map(({ method, url }) => `${method} ${url.slice(v1.world.fake.url.length)}`)).toEqual([
      'POST /api/v1/sandboxes?sandbox_spec_id=small',
      'POST /api/v1/app-conversations',
    ]);
    expect(JSON.stringify(stop.requests)).not.toContain('very-secret');
    expect(v1.world.fake.asked.every(({ method }) => method === 'GET')).toBe(true);
    await dry.close();
  });
});
