import { readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { check } from '../../../src/protocol/detail.ts';
import { conversationCreate } from '../../../src/protocol/v0/requests.ts';
import { appConversationStart } from '../../../src/protocol/v1/requests.ts';
import { agentConversation } from '../../../src/service/app/starts/starter.ts';
import { dataPaths } from '../../../src/service/lifecycle/data-dir.ts';
import {
  startFromV0,
  startFromV1,
  type StartRequest,
} from '../../../src/service/app/starts/start-request.ts';
import {
  appOfEachTest,
  conversation,
  countEvents,
  ended,
  endedTask,
  expectAnswers,
  startedTask,
  trajectory,
  until,
  type Shown,
  type Task,
} from './support.ts';

const app = appOfEachTest();
const { get, post } = app;

const [V0, V1] = ['/api/conversations', '/api/v1/app-conversations'];
const says = (text: string, more: object = {}) => ({
  role: 'user',
  content: [{ type: 'text', text, ...more }],
});

function v1(body: object): StartRequest {
  const checked = check(appConversationStart, body, 'body');
  return checked.ok
    ? startFromV1(checked.value, app.context)
    : expect.fail(JSON.stringify(checked.detail));
}
function v0(body: object): StartRequest {
  const checked = check(conversationCreate, body, 'body');
  return checked.ok
    ? startFromV0(checked.value, app.context, 'gui')
    : expect.fail(JSON.stringify(checked.detail));
}

describe('a start that is refused', () => {
  it.each<[dialect: string, body: object, status: number, words: RegExp]>([
    [V1, {}, 400, /replay.*llm_model/s],
    [V1, { initial_message: says('hi') }, 400, /replay/],
    [V1, { replay_json: 'nonsense' }, 422, /replay cannot be used/],
    [V1, { replay_json: '[]' }, 422, /replay cannot be used/],
    [
      V1,
      { replay_json: 'demo', selected_branch: 'a..b' },
      422,
      /"loc":\["body","selected_branch"\]/,
    ],
    [V1, { replay_json: 'demo', sandbox_spec_id: 'nope' }, 422, /unknown sandbox spec 'nope'/],
    [
      V1,
      { replay_json: 'demo', parent_conversation_id: '00000000-0000-0000-0000-00000000000a' },
      400,
      /Parent/,
    ],
    [V1, { replay_json: 'demo', mcp_config: { docs: 'x' } }, 422, /"loc":\["body","mcp_config"/],
    [V1, { replay_json: 'demo', trigger: 'nope' }, 422, /"loc":\["body","trigger"\]/],
    [V1, { replay_json: 'demo', initial_message: says('x', { nope: 1 }) }, 422, /Extra inputs/],
    [V0, {}, 400, /CONFIGURATION\$SETTINGS_NOT_FOUND/],
    [V0, { initial_user_msg: 'hi' }, 400, /llm_model/],
    [V0, { replay_json: 'nonsense' }, 400, /replay cannot be used.*REPLAY\$INVALID/],
    [
      V0,
      { replay_json: 'demo', selected_branch: '--upload-pack=x' },
      400,
      /CONFIGURATION\$BRANCH_INVALID/,
    ],
    [
      V0,
      { replay_json: 'demo', conversation_id: '../../etc' },
      400,
      /must be a UUID.*CONVERSATION\$INVALID_ID/,
    ],
    [V0, { replay_json: 'demo', repository: 'nonsense' }, 401, /Unable to access repo nonsense/],
    [
      V0,
      { replay_json: 'demo', repository: 'owner/name' },
      401,
      /Unable to access repo owner\/name/,
    ],
    [V0, { nope: 1 }, 422, /extra_forbidden/],
    [V0, { initial_user_msg: 5 }, 422, /string_type/],
    [V0, { image_urls: 'x' }, 422, /list_type/],
    [V0, { git_provider: 'nope' }, 422, /enum/],
    [V0, { suggested_task: { repo: 'a/b' } }, 422, /missing/],
    [V0, { create_microagent: {} }, 422, /missing/],
  ])('at %s, %j: %i', async (path, body, status, words) => {
    const answer = await post(path, body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([
      status,
      expect.stringMatching(words),
    ]);
    expect([app.store.startTasks.count({}), app.store.conversations.count({})]).toEqual([0, 0]);
  });
});

describe('what a start asks for', () => {
  it('has the replay of the service where it names none, else a model, and needs neither for a conversation that exists', async () => {
    app.context.defaultReplay = v1({ replay_json: 'demo' }).replay;
    await post('/api/v1/settings', {
      agent_settings_diff: { llm: { model: 'openai/of-the-settings' } },
    });
    for (const start of [v1, v0]) expect(start({}).replay).toBe(app.context.defaultReplay);
    app.context.defaultReplay = null;
    for (const start of [v1, v0]) expect(start({}).replay).toBeNull();
    await post('/api/v1/settings', { agent_settings_diff: { llm: null } });
    const { app_conversation_id: conversation_id } = await startedTask(app, {
      replay_json: 'demo',
    });
    for (const start of [v1, v0]) expect(start({ conversation_id }).replay).toEqual([]);
  });

  it('has the password of a repository for the clone alone', () => {
    const url = 'https://me:password@host.example/a.git';
    const starts = [
      v1({ replay_json: 'demo', selected_repository: url }),
      v0({ replay_json: 'demo', repository: url }),
      v0({ replay_json: 'demo', create_microagent: { repo: url } }),
    ];
    for (const { body, ...kept } of starts) {
      expect(body.selected_repository).toBe(url);
      expect(kept.row.repository).toBe('https://host.example/a.git');
      expect(JSON.stringify(kept)).not.toContain('password');
    }
  });

  it('is shown with the digest of its replay and without its secrets and MCP servers', () => {
    const mcp_config = { docs: { command: 'docs', env: { KEY: 'very-secret' } } };
    const { echo, body } = v1({
      replay_json: trajectory('ls'),
      secrets: { TOKEN: 'very-secret' },
      mcp_config,
    });
    expect(body).toMatchObject({ secrets: { TOKEN: 'very-secret' }, mcp_config });
    expect(echo).toMatchObject({ secrets: { TOKEN: '**********' } });
    expect(echo).not.toHaveProperty('mcp_config');
    expect(echo.replay_json).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(v1({ replay_json: 'demo' }).echo.replay_json).not.toBe(echo.replay_json);
  });

  it('has the spec of the request, else of the settings', async () => {
    expect(v1({ replay_json: 'demo' }).spec).toBeNull();
    await post('/api/v1/settings', { default_sandbox_spec_id: 'process' });
    expect(v1({ replay_json: 'demo' }).spec).toBe('process');
    expect(v1({ replay_json: 'demo', sandbox_spec_id: 'bubblewrap' }).spec).toBe('bubblewrap');
  });

  it('has the message of the replay where it has none of its own', () => {
    const recorded = trajectory('ls');
    const silent = JSON.stringify([{ action: 'finish', args: {} }]);
    const text = ({ message }: StartRequest) =>
      (message?.content[0] as { text?: string } | undefined)?.text;
    expect(text(v1({ replay_json: recorded }))).toBe('Please work');
    expect(text(v1({ replay_json: silent }))).toBeUndefined();
    expect(text(v1({ replay_json: silent, initial_message: { content: [] } }))).toBe(
      'Replay the recorded trajectory.',
    );
    expect(text(v1({ replay_json: recorded, initial_message: says('Mine') }))).toBe('Mine');
    expect(text(v0({ replay_json: recorded }))).toBe('Please work');
    expect(text(v0({ replay_json: silent }))).toBe('Replay the recorded trajectory.');
    const { message } = v0({
      replay_json: 'demo',
      initial_user_msg: 'see',
      image_urls: ['data:,x'],
    });
    expect(message?.content).toMatchObject([
      ...says('see').content,
      { type: 'image', image_urls: ['data:,x'] },
    ]);
  });
});

describe('a start over V1', () => {
  it('answers at once with a task, which ends with a conversation and hides the secrets', async () => {
    const secrets = { API_TOKEN: 'very-secret-value' };
    const replay_json = trajectory(
      'printf "%s" "$API_TOKEN" | wc -c > made.txt; echo "$API_TOKEN"',
    );
    const created = (await post(V1, { replay_json, secrets, title: 'Mine' })).body as Task;
    expect(created).toMatchObject({
      status: 'WORKING',
      app_conversation_id: null,
      request: { title: 'Mine' },
    });
    const task = await endedTask(app, created.id);
    const id = task.app_conversation_id ?? '';
    expect(task).toMatchObject({ status: 'READY', detail: null });
    expect(await ended(app, id)).toMatchObject({
      id,
      sandbox_id: task.sandbox_id,
      sandbox_status: 'RUNNING',
      execution_status: 'finished',
      conversation_url: `${task.agent_server_url}/api/conversations/${id}`,
    });
    expect(await get(`${V1}/${id}/file?file_path=made.txt`)).toBe(`${secrets.API_TOKEN.length}\n`);
    const shown = JSON.stringify([task, await get(`/api/v1/conversation/${id}/events/search`)]);
    expect(shown).not.toContain(secrets.API_TOKEN);
  });

  it('without a message waits for one, or for a run request when the replay has no message', async () => {
    const replay_json = JSON.stringify([{ action: 'finish', args: { final_thought: 'Done.' } }]);
    const begun: ((shown: Shown) => Promise<unknown>)[] = [
      ({ id }) => post(`${V1}/${id}/send-message`, says('Begin')),
      ({ conversation_url: url, session_api_key: key }) =>
        fetch(`${String(url)}/run`, {
          method: 'POST',
          headers: { 'X-Session-API-Key': String(key) },
        }),
    ];
    for (const begin of begun) {
      const { app_conversation_id: id } = await startedTask(app, { replay_json });
      const shown = (await conversation(app, id ?? '')) ?? expect.fail();
      expect([shown.execution_status, await countEvents(app, id)]).toEqual(['idle', 0]);
      await begin(shown);
      expect(await ended(app, shown.id)).toMatchObject({ execution_status: 'finished' });
    }
  });

  it('with the id of an existing conversation returns that one, and sends nothing again', async () => {
    const conversation_id = '9e453669-fcc1-4778-99fa-163865b6f70b';
    const body = { conversation_id, replay_json: trajectory('true') };
    const [first, second] = await Promise.all([startedTask(app, body), startedTask(app, body)]);
    const id = conversation_id.replaceAll('-', '');
    expect([first.app_conversation_id, second.app_conversation_id]).toEqual([id, id]);
    expect(second.sandbox_id).toBe(first.sandbox_id);
    await ended(app, id);
    expect(await countEvents(app, id, '&kind__eq=MessageEvent')).toBe(1);
    const found = await get<{ items: Task[] }>(
      `${V1}/start-tasks/search?conversation_id__eq=${conversation_id}`,
    );
    expect(found.items).toHaveLength(2);
  });

  it('in an unknown sandbox, or from an unknown repository, ends in an error that names it', async () => {
    const unknown = { status: 'ERROR', detail: '500: Sandbox not found: nope' };
    expect(await startedTask(app, { replay_json: 'demo', sandbox_id: 'nope' })).toMatchObject(
      unknown,
    );
    const { status, detail } = await startedTask(app, {
      replay_json: 'demo',
      selected_repository: '/no/such/folder',
    });
    expect([status, detail]).toEqual(['ERROR', expect.stringContaining('/no/such/folder')]);
  });
});

it('a start over V0 whose conversation is deleted meanwhile does not create it again', async () => {
  const { supervisor, store } = app.context;
  const send = supervisor.send.bind(supervisor);
  const id = 'ab'.repeat(16);
  supervisor.send = (...request) => {
    store.conversations.remove(id);
    return send(...request);
  };
  await expectAnswers(app, [[`POST ${V0}`, { replay_json: 'demo', conversation_id: id }, 200]]);
  const ofTask = () => store.startTasks.page({ conversationId: id }, 'CREATED_AT', 1, 0)[0];
  await until(ofTask, (task) => task?.status === 'ERROR');
  expect([ofTask()?.detail, store.conversations.get(id)]).toEqual([
    'the conversation was deleted',
    null,
  ]);
});

describe('the conversation in the request to an agent server', () => {
  const always = { kind: 'AlwaysConfirm' };
  it.each<[settings: object, request: object, expected: object]>([
    [{}, {}, { secrets: { A: 'of the request', B: 'b' }, max_iterations: 500 }],
    [
      { max_iterations: 7 },
      {},
      { max_iterations: 7, confirmation_policy: { kind: 'NeverConfirm' } },
    ],
    [
      { confirmation_mode: true },
      {},
      { confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH' } },
    ],
    [{ confirmation_mode: true }, { confirmation_policy: always }, { confirmation_policy: always }],
    [{}, {}, { security_analyzer: { kind: 'LLMSecurityAnalyzer' } }],
    [{ security_analyzer: 'llm' }, {}, { security_analyzer: { kind: 'LLMSecurityAnalyzer' } }],
    [{ security_analyzer: 'none' }, {}, { security_analyzer: null }],
  ])('has with the settings %j and the request %j: %j', async (settings, request, expected) => {
    await expectAnswers(app, [
      ['POST /api/v1/settings', { conversation_settings_diff: settings }, 200],
      ['POST /api/v1/secrets', { name: 'A', value: 'of the user' }, 201],
      ['POST /api/v1/secrets', { name: 'B', value: 'b' }, 201],
    ]);
    const start = v1({ replay_json: 'demo', secrets: { A: 'of the request' }, ...request });
    expect(agentConversation('a'.repeat(32), start, '/workspace', app.store)).toMatchObject(
      expected,
    );
  });
});

describe('the agent with a model in the request to an agent server', () => {
  const id = 'a'.repeat(32);
  const llm = {
    model: 'small',
    api_key: 'sk-model',
    base_url: 'http://127.0.0.1:9/v1',
    num_retries: 2,
  };
  const sent = (start: StartRequest) => agentConversation(id, start, '/workspace', app.store);

  it('has the model, the key and the limits of the settings, and no replay', async () => {
    await expectAnswers(app, [
      ['POST /api/v1/settings', { agent_settings_diff: { llm }, max_budget_per_task: 2.5 }, 200],
    ]);
    for (const start of [v1({}), v0({ initial_user_msg: 'hi' })]) {
      const { agent, ...rest } = sent(start);
      expect(agent).toMatchObject({
        kind: 'Agent',
        llm,
        tools: [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'task_tracker' }],
        mcp_config: {},
      });
      expect(rest).toMatchObject({ max_budget_per_task: 2.5, max_iterations: 500 });
      expect(rest).not.toHaveProperty('replay');
    }
    expect(sent(v1({ llm_model: 'large' })).agent).toMatchObject({
      llm: { ...llm, model: 'large' },
    });
  });

  it('has the instructions and the MCP servers of the request, else the servers of the settings', async () => {
    const ofSettings = {
      docs: { url: 'https://a.example/mcp', headers: { Authorization: 'Bearer t' } },
    };
    await post('/api/v1/settings', { agent_settings_diff: { llm, mcp_config: ofSettings } });
    const agent_context = { system_message_suffix: 'Be brief.' };
    const asked = v1({ system_message_suffix: 'Be brief.' });
    expect(sent(asked).agent).toMatchObject({ agent_context, mcp_config: ofSettings });
    const stdio_servers = ['files', 'constructor'].map((name) => ({ name, command: 'npx' }));
    const mcp_config = { stdio_servers };
    const { agent } = sent(
      v0({ initial_user_msg: 'hi', conversation_instructions: 'Be brief.', mcp_config }),
    );
    expect(agent).toMatchObject({ agent_context });
    expect(agent).toHaveProperty('mcp_config', {
      files: { command: 'npx', args: [], env: {} },
      constructor: { command: 'npx', args: [], env: {} },
    });
  });

  it('has a key that no answer of the app server shows, and that only the owner can read on the disk', async () => {
    await post('/api/v1/settings', { agent_settings_diff: { llm } });
    await post('/api/v1/settings/profiles/one', { include_secrets: true });
    const task = await startedTask(app, { initial_message: says('hi') });
    const answers = await Promise.all(
      [
        '/api/settings',
        '/api/v1/settings',
        '/api/v1/users/me',
        '/api/v1/settings/profiles',
        '/api/v1/settings/profiles/one',
        `${V1}?ids=${task.app_conversation_id}`,
        `${V1}/start-tasks?ids=${task.id}`,
        `/api/v1/conversation/${task.app_conversation_id}/events/search`,
        `${V0}/${task.app_conversation_id}`,
        '/api/v1/sandboxes/search',
      ].map((path) => get(path)),
    );
    expect(JSON.stringify(answers)).not.toContain('sk-model');
    const files = (await readdir(app.dir, { recursive: true })).map((name) =>
      path.join(app.dir, name),
    );
    const withKey = files.filter(
      (file) => statSync(file).isFile() && readFileSync(file).includes('sk-model'),
    );
    expect(withKey).toContain(dataPaths(app.dir).database);
    for (const file of withKey) expect(statSync(file).mode & 0o077, file).toBe(0);
  });
});
