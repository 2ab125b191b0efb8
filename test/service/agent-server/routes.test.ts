import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  eventsOf,
  ID,
  KEY,
  message,
  startConversation,
  startOwnWorker,
  step,
  type OwnWorker,
  until,
  untilStatus,
} from './support/worker.ts';

let worker: OwnWorker;
const conversation = `/api/conversations/${ID}`;
const EVENTS = 'openhands.sdk.event';
const { version: packageVersion } = JSON.parse(
  readFileSync(path.resolve(import.meta.dirname, '../../../package.json'), 'utf8'),
) as { version: string };
const unknown = '00000000-0000-0000-0000-000000000000';

beforeAll(async () => {
  worker = await startOwnWorker();
  await startConversation(worker, [step.run('echo one'), step.say('Well?')]);
  await untilStatus(worker, 'finished');
});

afterAll(() => worker.close());

async function get(route: string): Promise<Pick<Answer, 'status' | 'body'>> {
  const { status, body } = await worker.call('GET', route);
  return { status, body };
}

async function post(route: string, body?: unknown): Promise<Pick<Answer, 'status' | 'body'>> {
  const answer = await worker.call('POST', route, body);
  return { status: answer.status, body: answer.body };
}

describe('the door', () => {
  it('refuses every key but its own, and a Bearer', async () => {
    const refused = { status: 401, body: { detail: 'Unauthorized' } };
    const wrong: Record<string, string>[] = [
      { 'X-Session-API-Key': 'wrong' },
      { 'X-Session-API-Key': KEY.replace(/.$/, '#') },
      { 'X-Session-API-Key': '', Authorization: `Bearer ${KEY}` },
    ];
    for (const headers of wrong) {
      expect(await worker.call('GET', conversation, undefined, headers)).toMatchObject(refused);
    }
  });

  it('tells of its health without a key', async () => {
    for (const route of ['/alive', '/health']) {
      const { status, body } = await worker.call('GET', route, undefined, { 'X-Session-API-Key': '' });
      expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } });
    }
    expect(await get('/ready')).toEqual({ status: 200, body: { status: 'ready' } });
    expect((await get('/server_info')).body).toMatchObject({
      uptime: expect.any(Number) as number,
      version: '1.34.0',
      sdk_version: '1.34.0',
      acs_version: packageVersion,
    });
  });

  it('shows its routes to a reader where it says that they are', async () => {
    const { docs, redoc } = (await get('/server_info')).body as Record<string, string>;
    for (const page of [docs, redoc]) {
      const response = await fetch(`http://127.0.0.1:${worker.port}${page}`);
      expect(response.headers.get('content-type')).toContain('text/html');
      expect(await response.text()).toContain('POST /api/conversations/{id}/run');
    }
  });

  it.each([
    [{ host: 'example.com' }],
    [{ host: 'localhost.example.com' }],
    [{ host: '127.0.0.1', origin: 'https://example.com' }],
    [{ host: '127.0.0.1', origin: 'null' }],
  ])('answers nobody from elsewhere: %j', async (headers) => {
    expect(await raw('/api/conversations/count', { ...headers, 'x-session-api-key': KEY })).toBe(403);
  });

  it('says 404 and 405 as genuine servers do', async () => {
    expect(await get('/api/nothing')).toEqual({ status: 404, body: { detail: 'Not Found' } });
    expect(await post('/api/conversations/search')).toEqual({ status: 405, body: { detail: 'Method Not Allowed' } });
  });
});

function raw(route: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: worker.port, path: route, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

/** The answer to a GET that has a body, which `fetch` cannot send; like most clients it listens when all was sent. */
function getWithBody(route: string, body: unknown): Promise<unknown> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = { 'X-Session-API-Key': KEY, 'Content-Type': 'application/json', 'Content-Length': text.length };
  return new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port: worker.port, path: route, headers }).on('error', reject);
    const sent = new Promise((finish) => asking.once('finish', finish));
    asking.once('response', (response) => {
      sent.then(() => json(response)).then(resolve, reject);
    });
    asking.end(text);
  });
}

describe('conversations', () => {
  it('are made once for an id', async () => {
    const again = await startConversation(worker, [step.finish()]);
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ id: ID, execution_status: 'finished' });
  });

  it('are found with and without dashes, by search, count and batch', async () => {
    expect((await get(`/api/conversations/${ID.replaceAll('-', '')}`)).body).toMatchObject({ id: ID });
    expect((await get('/api/conversations/search')).body).toMatchObject({ items: [{ id: ID }], next_page_id: null });
    expect((await get('/api/conversations/count')).body).toBe(1);
    expect((await get(`/api/conversations?ids=${ID}&ids=${unknown}`)).body).toMatchObject([{ id: ID }, null]);
  });

  it('that are unknown or malformed are refused as on genuine servers', async () => {
    expect(await get(`/api/conversations/${unknown}`)).toEqual({ status: 404, body: { detail: 'Not Found' } });
    expect(await post(`/api/conversations/${unknown}/events`, message('x'))).toEqual({
      status: 404,
      body: { detail: `Conversation not found: ${unknown}` },
    });
    const error = 'invalid character: found `n` at 0';
    expect(await get('/api/conversations/nope')).toEqual({
      status: 422,
      body: {
        detail: [
          {
            type: 'uuid_parsing',
            loc: ['path', 'conversation_id'],
            msg: `Input should be a valid UUID, ${error}`,
            input: 'nope',
            ctx: { error },
          },
        ],
      },
    });
  });

  it('take their title from the first words, and another one by PATCH', async () => {
    expect((await get(conversation)).body).toMatchObject({ title: 'Please do it.' });
    const { body } = await worker.call('PATCH', conversation, { title: 'From the agent server' });
    expect(body).toEqual({ success: true });
    expect((await get(conversation)).body).toMatchObject({ title: 'From the agent server' });
    expect((await worker.call('PATCH', conversation, { title: 'x'.repeat(201) })).status).toBe(422);
    expect((await post(`${conversation}/generate_title`)).body).toEqual({ title: 'From the agent server' });
  });

  it('without a replay end with an error that names both ways on', async () => {
    const id = '11111111-2222-4333-8444-55555555555a';
    await startConversation(worker, null, { conversation_id: id });
    const found = await until('the error', async () => {
      const { body } = await get(
        `/api/conversations/${id}/events/search?kind=${EVENTS}.conversation_error.ConversationErrorEvent`,
      );
      return (body as { items: unknown[] }).items[0];
    });
    expect(found).toMatchObject({ code: 'NoModel' });
    expect((await post(`/api/conversations/${id}/ask_agent`, { question: 'Why?' })).status).toBe(400);
    expect((await worker.call('DELETE', `/api/conversations/${id}`)).body).toEqual({ success: true });
    expect((await get(`/api/conversations/${id}`)).status).toBe(404);
    expect((await worker.call('DELETE', `/api/conversations/${id}`)).status).toBe(404);
    await until('the notice', () => worker.notices.find((notice) => notice.type === 'conversation' && notice.deleted));
  });

  it('with a malformed replay are refused, and nothing is made', async () => {
    for (const replay of [[], [{ type: 'terminal' }], [{ type: 'fly', command: 'x' }]]) {
      const id = '11111111-2222-4333-8444-55555555555b';
      const { status, body } = await startConversation(worker, replay, { conversation_id: id });
      expect(status).toBe(422);
      expect(JSON.stringify(body)).toContain('replay');
      expect((await get(`/api/conversations/${id}`)).status).toBe(404);
    }
  });

  it('a start without workspace or agent is refused with 422 as on genuine servers', async () => {
    const refusal = async (body: unknown): Promise<unknown> => {
      const answer = await post('/api/conversations', body);
      expect(answer.status).toBe(422);
      return (answer.body as { detail: { type: string; loc: unknown[]; msg: string }[] }).detail.map(
        ({ type, loc, msg }) => ({ type, loc, msg }),
      );
    };
    const workspace = { working_dir: worker.workingDir };
    expect(await refusal({})).toEqual([{ type: 'missing', loc: ['body', 'workspace'], msg: 'Field required' }]);
    expect(await refusal({ workspace })).toEqual([
      {
        type: 'value_error',
        loc: ['body'],
        msg: 'Value error, One of `agent`, `agent_settings`, or `agent_profile_id` must be provided',
      },
    ]);
    const unknownKind = (kind: string) => [
      {
        type: 'value_error',
        loc: ['body', 'agent'],
        msg: `Value error, Unknown kind '${kind}' for openhands.sdk.agent.base.AgentBase; Expected one of: ['ACPAgent', 'Agent']`,
      },
    ];
    expect(await refusal({ workspace, agent: {} })).toEqual(unknownKind(''));
    expect(await refusal({ workspace, agent: { kind: 'Nope' } })).toEqual(unknownKind('Nope'));
    expect((await get('/api/conversations/count')).body).toBe(1);
  });

  it('a status and ids that are none are refused with 422 as on genuine servers', async () => {
    const expected =
      "'idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck' or 'deleting'";
    const bogus = {
      type: 'enum',
      loc: ['query', 'status'],
      msg: `Input should be ${expected}`,
      input: 'bogus',
      ctx: { expected },
    };
    for (const route of ['count', 'search']) {
      expect(await get(`/api/conversations/${route}?status=bogus`)).toEqual({ status: 422, body: { detail: [bogus] } });
    }
    expect((await get('/api/conversations/count?status=finished')).body).toBe(1);
    const error = 'invalid character: found `z` at 0';
    expect(await get('/api/conversations?ids=zz')).toEqual({
      status: 422,
      body: {
        detail: [
          {
            type: 'uuid_parsing',
            loc: ['query', 'ids', 0],
            msg: `Input should be a valid UUID, ${error}`,
            input: 'zz',
            ctx: { error },
          },
        ],
      },
    });
    expect((await get('/api/conversations')).body).toEqual({
      detail: [{ type: 'missing', loc: ['query', 'ids'], msg: 'Field required', input: null }],
    });
  });

  it('a change of policy or analyzer is one event with the value, and nothing when it is equal', async () => {
    const changes = async (): Promise<unknown[]> => {
      const kind = `${EVENTS}.conversation_state.ConversationStateUpdateEvent`;
      const { body } = await get(`${conversation}/events/search?kind=${kind}`);
      const { items } = body as { items: { key: string; value?: unknown }[] };
      return items
        .filter(({ key }) => key === 'confirmation_policy' || key === 'security_analyzer')
        .map(({ key, value }) => ({ key, value }));
    };
    const set = async (member: string, value: unknown): Promise<void> => {
      const body = { [member === 'confirmation_policy' ? 'policy' : member]: value };
      expect(await post(`${conversation}/${member}`, body)).toEqual({ status: 200, body: { success: true } });
    };
    const before = (await changes()).length;
    for (const repeated of ['first', 'again']) {
      await set('confirmation_policy', { kind: 'AlwaysConfirm' });
      await set('security_analyzer', { kind: 'LLMSecurityAnalyzer' });
      expect([repeated, (await changes()).slice(before)]).toEqual([
        repeated,
        [
          { key: 'confirmation_policy', value: { kind: 'AlwaysConfirm' } },
          { key: 'security_analyzer', value: { kind: 'LLMSecurityAnalyzer' } },
        ],
      ]);
    }
    await set('security_analyzer', null);
    await set('confirmation_policy', { kind: 'NeverConfirm' });
    expect((await changes()).slice(before + 2)).toEqual([
      { key: 'security_analyzer' },
      { key: 'confirmation_policy', value: { kind: 'NeverConfirm' } },
    ]);
  });

  it('an analyzer that is missing or of an unknown kind is refused with 422 as on genuine servers', async () => {
    const set = (body: unknown) => post(`${conversation}/security_analyzer`, body);
    expect(await set({})).toEqual({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['body', 'security_analyzer'], msg: 'Field required', input: {} }] },
    });
    for (const [kind, analyzer] of [
      ['', {}],
      ['', { kind: '' }],
      ['Nope', { kind: 'Nope' }],
    ] as const) {
      const error = `Unknown kind '${kind}' for openhands.sdk.security.analyzer.SecurityAnalyzerBase; Expected one of: ['PatternSecurityAnalyzer', 'PolicyRailSecurityAnalyzer', 'EnsembleSecurityAnalyzer', 'GraySwanAnalyzer', 'LLMSecurityAnalyzer']`;
      expect(await set({ security_analyzer: analyzer })).toEqual({
        status: 422,
        body: {
          detail: [
            {
              type: 'value_error',
              loc: ['body', 'security_analyzer'],
              msg: `Value error, ${error}`,
              input: {},
              ctx: { error },
            },
          ],
        },
      });
    }
    expect((await set({ security_analyzer: 'x' })).status).toBe(422);
  });

  it('the final response is that before a later message of the user', async () => {
    const response = async (): Promise<unknown> => (await get(`${conversation}/agent_final_response`)).body;
    expect(await response()).toEqual({ response: 'Well?' });
    expect((await post(`${conversation}/events`, message('And then?', false))).status).toBe(200);
    expect(await response()).toEqual({ response: 'Well?' });
  });

  it('take a policy only when it is one', async () => {
    const set = (policy: unknown) => post(`${conversation}/confirmation_policy`, { policy });
    expect((await set({ kind: 'Nope' })).status).toBe(422);
    expect((await set({ kind: 'ConfirmRisky' })).status).toBe(200);
    expect((await get(conversation)).body).toMatchObject({
      confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
    });
    expect((await set({ kind: 'NeverConfirm' })).status).toBe(200);
  });
});

describe('messages', () => {
  it('that are malformed are refused with the place of what is wrong', async () => {
    expect(await post(`${conversation}/events`, { role: 'user', content: 'x' })).toEqual({
      status: 422,
      body: {
        detail: [{ type: 'list_type', loc: ['body', 'content'], msg: 'Input should be a valid list', input: 'x' }],
      },
    });
    expect((await post(`${conversation}/events`, '{"role":')).status).toBe(422);
    expect((await post(`${conversation}/events`)).status).toBe(422);
  });

  it('of 5 MiB arrive whole', async () => {
    const text = 'é'.repeat(2.5 * 1024 * 1024);
    expect((await post(`${conversation}/events`, message(text, false))).body).toEqual({ success: true });
    const kind = `${EVENTS}.llm_convertible.message.MessageEvent`;
    const { body } = await get(`${conversation}/events/search?kind=${kind}&sort_order=TIMESTAMP_DESC&limit=1`);
    const [event] = (body as { items: { llm_message: { content: { text: string }[] } }[] }).items;
    expect(event?.llm_message.content[0]?.text === text).toBe(true);
  });
});

describe('events', () => {
  it('have extended_content on messages, and not on observations, where it would be empty', async () => {
    const events = await eventsOf(worker);
    const having = new Set(events.filter((event) => 'extended_content' in event).map(({ kind }) => kind));
    expect([...having]).toEqual(['MessageEvent']);
    expect(events.map(({ kind }) => kind)).toContain('ObservationEvent');
  });

  it('come page by page, complete, in both orders', async () => {
    const all = await eventsOf(worker);
    expect(await eventsOf(worker, 2)).toEqual(all);
    const { body } = await get(`${conversation}/events/search?sort_order=TIMESTAMP_DESC&limit=3`);
    expect(body).toEqual({ items: all.slice(-3).reverse(), next_page_id: all.at(-4)?.id });
    expect((await get(`${conversation}/events/count`)).body).toBe(all.length);
  });

  it('are filtered by kind as a class path, source, text and time', async () => {
    const all = await eventsOf(worker);
    const actions = all.filter((event) => event.kind === 'ActionEvent');
    const path = `${EVENTS}.llm_convertible.action.ActionEvent`;
    expect((await get(`${conversation}/events/search?kind=${path}`)).body).toMatchObject({ items: actions });
    // As on genuine servers, nothing else finds any.
    for (const kind of ['ActionEvent', `${EVENTS}.ActionEvent`, `${EVENTS}.user_action.ActionEvent`]) {
      expect((await get(`${conversation}/events/count?kind=${kind}`)).body).toBe(0);
    }
    const count = async (query: string): Promise<unknown> => (await get(`${conversation}/events/count?${query}`)).body;
    expect(await count('source=agent')).toBe(all.filter((event) => event.source === 'agent').length);
    expect(await count('body=ECHO%20ONE')).toBe(2);
    const time = all[3]?.timestamp ?? '';
    for (const form of [time, `${time}Z`]) {
      expect(await count(`timestamp__gte=${form}`)).toBe(all.length - 3);
      expect(await count(`timestamp__lt=${form}`)).toBe(3);
    }
  });

  it('refuse a limit outside 1 to 100, and an event that is not there', async () => {
    for (const limit of [0, 101, 'x']) {
      expect((await get(`${conversation}/events/search?limit=${limit}`)).status).toBe(422);
    }
    expect((await get(`${conversation}/events/${unknown}`)).status).toBe(404);
    const [first] = await eventsOf(worker);
    expect((await get(`${conversation}/events/${first?.id ?? ''}`)).body).toEqual(first);
  });

  it('come by their ids, which are the body of a GET', async () => {
    const [first] = await eventsOf(worker);
    const ask = (ids?: unknown): Promise<unknown> => getWithBody(`${conversation}/events`, ids);
    expect(await ask([unknown, first?.id])).toEqual([null, first]);
    expect(await ask()).toEqual({ detail: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }] });
    expect(await ask(Array.from({ length: 101 }, () => unknown))).toEqual({ detail: 'Too many ids' });
    // More than fits into what the system keeps of a connection that nobody reads.
    expect(await ask(Array.from({ length: 400_000 }, () => unknown))).toEqual({
      detail: 'Request body is larger than 65536 bytes',
    });
  });

  it('from an unknown page are the first page', async () => {
    const { body } = await get(`${conversation}/events/search?limit=1&page_id=${unknown}`);
    expect((body as { items: unknown[] }).items[0]).toMatchObject({ kind: 'SystemPromptEvent' });
  });

  it('are in an archive, one file each', async () => {
    const response = await fetch(`http://127.0.0.1:${worker.port}/api/file/download-trajectory/${ID}`, {
      headers: { 'X-Session-API-Key': KEY },
    });
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
    const names = Object.keys(files).filter((name) => name.includes('/events/event-'));
    expect(names).toHaveLength((await eventsOf(worker)).length);
    expect(Object.keys(files)).toContain(`${ID.replaceAll('-', '')}/base_state.json`);
  });
});

describe('commands', () => {
  it('give exit code and both outputs', async () => {
    const { body } = await post('/api/bash/execute_bash_command', { command: 'echo out; echo err >&2; exit 3' });
    expect(body).toMatchObject({ order: 0, exit_code: 3, stdout: 'out\n', stderr: 'err\n', kind: 'BashOutput' });
    expect(body).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/) as string });
  });

  it('a timeout that is no whole number of seconds is refused with 422 as on genuine servers', async () => {
    const msg = 'Input should be a valid integer, got a number with a fractional part';
    for (const route of ['execute_bash_command', 'start_bash_command']) {
      expect(await post(`/api/bash/${route}`, { command: 'true', timeout: 1.5 })).toEqual({
        status: 422,
        body: { detail: [{ type: 'int_from_float', loc: ['body', 'timeout'], msg, input: 1.5 }] },
      });
    }
  });

  it('end at their timeout', async () => {
    const { body } = await post('/api/bash/execute_bash_command', { command: 'echo x; sleep 1000', timeout: 3 });
    expect(body).toMatchObject({ exit_code: -1, stdout: 'x\n', stderr: null });
  });

  it('run with a timeout longer than a timer of Node takes', async () => {
    for (const timeout of [2_147_484, 4_294_968, Number.MAX_SAFE_INTEGER]) {
      const { body } = await post('/api/bash/execute_bash_command', { command: 'sleep 0.4; echo x', timeout });
      expect([timeout, body]).toMatchObject([timeout, { exit_code: 0, stdout: 'x\n' }]);
    }
  });

  it('in a folder that is not there do not run', async () => {
    const { body } = await post('/api/bash/execute_bash_command', { command: 'pwd', cwd: '/no/such' });
    expect(body).toMatchObject({ exit_code: -1, stdout: null, stderr: 'No such directory: /no/such' });
  });

  it('that are started give their output at their end, and in pieces where there is much of it', async () => {
    const command = 'for i in 1 2 3; do head -c 700000 /dev/zero | tr "\\0" x; sleep 0.1; done; exit 4';
    const { body } = await post('/api/bash/start_bash_command', { command });
    expect(body).toMatchObject({ command, cwd: null, timeout: 300, kind: 'BashCommand' });
    const { id } = body as { id: string };
    const pieces = await until('the last piece', async () => {
      const found = await get(`/api/bash/bash_events/search?command_id__eq=${id}&kind__eq=BashOutput`);
      const { items } = found.body as { items: { exit_code: number | null; stdout: string | null; order: number }[] };
      return items.at(-1)?.exit_code == null ? null : items;
    });
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.map((piece) => piece.stdout ?? '').join('') === 'x'.repeat(2_100_000)).toBe(true);
    expect(pieces.map((piece) => piece.order)).toEqual(pieces.map((_, index) => index));
    expect(pieces.map((piece) => piece.exit_code)).toEqual([...pieces.slice(1).map(() => null), 4]);
    const rest = await get(`/api/bash/bash_events/search?command_id__eq=${id}&kind__eq=BashOutput&order__gt=0`);
    expect((rest.body as { items: unknown[] }).items).toHaveLength(pieces.length - 1);
  });

  it('that print many control characters, the longest in JSON, do not end what else runs', async () => {
    const other = await post('/api/bash/start_bash_command', { command: 'while ! test -e on; do sleep 0.02; done' });
    const print = "head -c 9400000 /dev/zero | tr '\\0' '\\1'";
    const command = `${print}; ${print} >&2`;
    const { body } = await post('/api/bash/start_bash_command', { command });
    const last = (id: string) => async () => {
      const found = await get(`/api/bash/bash_events/search?command_id__eq=${id}&sort_order=TIMESTAMP_DESC&limit=1`);
      const [item] = (found.body as { items: { exit_code?: number | null }[] }).items;
      return typeof item?.exit_code === 'number' ? item : null;
    };
    expect(await until('its end', last((body as { id: string }).id))).toMatchObject({ exit_code: 0 });
    await post('/api/bash/execute_bash_command', { command: 'touch on' });
    expect(await until('the end of the other', last((other.body as { id: string }).id))).toMatchObject({
      exit_code: 0,
    });
  });

  it('that are nested deeply are refused', async () => {
    const deep = `${'{"command":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    expect((await post('/api/bash/execute_bash_command', deep)).status).toBe(422);
  });

  it('are refused without a command', async () => {
    expect(await post('/api/bash/execute_bash_command', {})).toEqual({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['body', 'command'], msg: 'Field required', input: {} }] },
    });
  });

  it('longer than the system takes in one argument run all the same', async () => {
    const { body } = await post('/api/bash/execute_bash_command', { command: `: ${'x'.repeat(300_000)}\necho end` });
    expect(body).toMatchObject({ exit_code: 0, stdout: 'end\n' });
  });
});

describe('files', () => {
  const upload = async (target: string, data: Uint8Array<ArrayBuffer>, name = 'file'): Promise<Response> => {
    const form = new FormData();
    form.set(name, new Blob([data]), 'x.bin');
    return fetch(`http://127.0.0.1:${worker.port}/api/file/upload?path=${encodeURIComponent(target)}`, {
      method: 'POST',
      headers: { 'X-Session-API-Key': KEY },
      body: form,
    });
  };

  it('go up and come down byte for byte, also large and binary ones', async () => {
    const data = new Uint8Array(3 * 1024 * 1024 + 7).map((_, index) => (index * 31) % 256);
    const target = `${worker.workingDir}/deep/er/ü x.bin`;
    expect(await (await upload(target, data)).json()).toEqual({ success: true });
    expect(readFileSync(path.join(worker.place.workspace, 'deep/er/ü x.bin')).equals(Buffer.from(data))).toBe(true);
    const response = await fetch(
      `http://127.0.0.1:${worker.port}/api/file/download?path=${encodeURIComponent(target)}`,
      {
        headers: { 'X-Session-API-Key': KEY },
      },
    );
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(data))).toBe(true);
  });

  it('a file that is replaced during its download arrives as it was, with its length announced', async () => {
    const size = 40 * 1024 * 1024;
    const file = path.join(worker.place.workspace, 'replaced.bin');
    writeFileSync(file, Buffer.alloc(size, 'a'));
    const response = await fetch(
      `http://127.0.0.1:${worker.port}/api/file/download?path=${worker.workingDir}/replaced.bin`,
      { headers: { 'X-Session-API-Key': KEY } },
    );
    expect(response.headers.get('content-length')).toBe(String(size));
    writeFileSync(`${file}.new`, Buffer.alloc(size, 'b'));
    renameSync(`${file}.new`, file);
    const body = Buffer.from(await response.arrayBuffer());
    expect([body.length, body.includes('b')]).toEqual([size, false]);
  });

  it('the connection ends when a file is truncated during its download', async () => {
    const file = path.join(worker.place.workspace, 'truncated.bin');
    writeFileSync(file, Buffer.alloc(40 * 1024 * 1024, 'a'));
    const response = await fetch(
      `http://127.0.0.1:${worker.port}/api/file/download?path=${worker.workingDir}/truncated.bin`,
      { headers: { 'X-Session-API-Key': KEY } },
    );
    truncateSync(file, 1024);
    await expect(response.arrayBuffer()).rejects.toThrow('terminated');
    expect((await get('/api/conversations/count')).status).toBe(200);
  });

  it('may be empty, and keep their mode when they are replaced', async () => {
    writeFileSync(path.join(worker.place.workspace, 'tool'), 'x', { mode: 0o755 });
    expect((await upload(`${worker.workingDir}/tool`, new Uint8Array())).status).toBe(200);
    const found = statSync(path.join(worker.place.workspace, 'tool'));
    expect([found.size, found.mode & 0o777]).toEqual([0, 0o755]);
  });

  it('are refused in the words of genuine servers', async () => {
    const download = '/api/file/download?path=';
    expect(await get(`${download}a.txt`)).toEqual({ status: 400, body: { detail: 'Path must be absolute' } });
    expect(await get(`${download}${worker.workingDir}/zzz`)).toEqual({
      status: 404,
      body: { detail: 'File not found' },
    });
    expect(await get(`${download}${worker.workingDir}`)).toEqual({
      status: 400,
      body: { detail: 'Path is not a file' },
    });
    expect((await get('/api/file/download')).status).toBe(422);
    expect((await upload(worker.workingDir, new Uint8Array(1))).status).toBe(400);
    expect((await upload('up.txt', new Uint8Array(1))).status).toBe(400);
    expect((await upload(`${worker.workingDir}/x`, new Uint8Array(1), 'other')).status).toBe(422);
  });

  it('are neither read nor written with a wrong key of the right length', async () => {
    writeFileSync(path.join(worker.place.workspace, 'secret.txt'), 'secret');
    const file = `${worker.workingDir}/secret.txt`;
    const headers = { 'X-Session-API-Key': KEY.replace(/.$/, '#') };
    const refused = { status: 401, body: { detail: 'Unauthorized' } };
    for (const [method, route] of [
      ['GET', `/api/file/download?path=${file}`],
      ['GET', `/api/file/download/${file}`],
      ['POST', `/api/file/upload?path=${file}`],
      ['POST', `/api/file/upload/${file}`],
      ['GET', '/api/file/home'],
      ['GET', `/api/file/archive?path=${worker.workingDir}`],
      ['GET', `/api/file/download-trajectory/${ID}`],
    ] as const) {
      expect([route, await worker.call(method, route, undefined, headers)]).toMatchObject([route, refused]);
    }
  });

  it('cannot be a pipe, which would never end', async () => {
    await post('/api/bash/execute_bash_command', { command: 'mkfifo pipe' });
    expect((await get(`/api/file/download?path=${worker.workingDir}/pipe`)).status).toBe(400);
  });

  it('tell where home is', async () => {
    expect((await get('/api/file/home')).body).toMatchObject({
      home: worker.spec === 'process' ? process.env['HOME'] : '/home/agent',
    });
  });
});

describe('git', () => {
  const repository = (): string => path.join(worker.place.workspace, 'repository');
  // Nothing of what git knows of whoever runs the tests.
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', repository(), ...args], { env, encoding: 'utf8' });
  const inside = (file: string): string => `${worker.workingDir}/repository${file}`;

  beforeAll(() => {
    const origin = path.join(worker.place.workspace, 'origin');
    mkdirSync(origin);
    const at = (...args: string[]): void => void execFileSync('git', ['-C', origin, ...args], { env });
    at('init', '-q', '-b', 'main');
    at('config', 'user.email', 'ann@example.com');
    at('config', 'user.name', 'Ann');
    writeFileSync(path.join(origin, 'kept.txt'), 'one\n');
    writeFileSync(path.join(origin, 'gone.txt'), 'two\n');
    writeFileSync(path.join(origin, '.gitignore'), 'ignored\n');
    at('add', '-A');
    at('commit', '-q', '-m', 'first');
    execFileSync('git', ['clone', '-q', origin, repository()], { env });
    writeFileSync(path.join(repository(), 'kept.txt'), 'one\nmore\n');
    writeFileSync(path.join(repository(), 'new ü.txt'), 'new\n');
    writeFileSync(path.join(repository(), 'ignored'), 'x');
    writeFileSync(path.join(repository(), 'binary'), Buffer.from([0, 1, 2, 255]));
    git('rm', '-q', 'gone.txt');
  });

  const changes = [
    { status: 'ADDED', path: 'binary' },
    { status: 'DELETED', path: 'gone.txt' },
    { status: 'UPDATED', path: 'kept.txt' },
    { status: 'ADDED', path: 'new ü.txt' },
  ];

  it('tells what differs from the remote, commits of the agent included', async () => {
    expect((await get(`/api/git/changes?path=${inside('')}`)).body).toEqual(changes);
    git('-c', 'user.email=ann@example.com', '-c', 'user.name=Ann', 'commit', '-q', '-a', '-m', 'second');
    expect((await get(`/api/git/changes?path=${inside('')}`)).body).toEqual(changes);
    expect((await get(`/api/git/changes?path=${inside('')}&ref=HEAD`)).body).toEqual(
      changes.filter((change) => change.status === 'ADDED'),
    );
  });

  it('looks into the repositories right below a folder that is none', async () => {
    const { body } = await get(`/api/git/changes?path=${worker.workingDir}&ref=HEAD`);
    expect(body).toEqual([
      { status: 'ADDED', path: 'repository/binary' },
      { status: 'ADDED', path: 'repository/new ü.txt' },
    ]);
  });

  it('gives both sides of a file, without the last line end', async () => {
    const diff = (file: string) => get(`/api/git/diff?path=${encodeURIComponent(inside(file))}`);
    expect((await diff('/kept.txt')).body).toEqual({ original: 'one', modified: 'one\nmore' });
    expect((await diff('/new ü.txt')).body).toEqual({ original: '', modified: 'new' });
    expect((await diff('/gone.txt')).body).toEqual({ original: 'two', modified: '' });
    expect(await diff('/zzz.txt')).toEqual({
      status: 400,
      body: { detail: `File does not exist: ${inside('/zzz.txt')}` },
    });
  });

  it('gives one patch of everything that git can apply', async () => {
    const { body } = await get(`/api/file/archive?path=${inside('')}&format=git-delta`);
    const copy = path.join(worker.place.workspace, 'copy');
    execFileSync('git', ['clone', '-q', path.join(worker.place.workspace, 'origin'), copy], { env });
    execFileSync('git', ['-C', copy, 'apply', '--index'], { env, input: body as string });
    expect(readFileSync(path.join(copy, 'binary')).equals(Buffer.from([0, 1, 2, 255]))).toBe(true);
    expect(readFileSync(path.join(copy, 'kept.txt'), 'utf8')).toBe('one\nmore\n');
  });

  it('finds nothing where there is no repository', async () => {
    expect((await get('/api/git/changes?path=/proc')).body).toEqual([]);
    expect((await get('/api/git/changes?path=/no/such')).body).toEqual([]);
  });

  it('runs nothing that the repository asks for', async () => {
    git('config', 'core.fsmonitor', `touch ${inside('/../ran')}`);
    git('config', 'diff.external', `touch ${inside('/../ran')}`);
    await get(`/api/git/changes?path=${inside('')}`);
    await get(`/api/git/diff?path=${inside('/kept.txt')}`);
    expect(statSync(path.join(worker.place.workspace, 'ran'), { throwIfNoEntry: false })).toBe(undefined);
    expect((await get(`/api/git/changes?path=${inside('')}&ref=--output=x`)).status).toBe(400);
  });
});
