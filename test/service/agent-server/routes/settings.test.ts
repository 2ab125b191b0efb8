import { beforeAll, describe, expect, it } from 'vitest';
import { appOfSuite, expectAnswers, type Answer, type Exchange } from '../../app/support.ts';
import { until } from '../support/worker.ts';

const app = appOfSuite();
const V1 = '/api/v1';
const MASKED = '**********';
/** The agent server of a sandbox of that service. */
let url: string;
let key: string;

beforeAll(async () => {
  const { body } = await app.post(`${V1}/sandboxes`);
  const sandbox = body as { session_api_key: string; exposed_urls: { url: string }[] };
  key = sandbox.session_api_key;
  url = sandbox.exposed_urls[0]?.url ?? '';
});

async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(url + path, {
    method,
    headers: { 'X-Session-API-Key': key, 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const isJson = answer.headers.get('content-type')?.includes('json') === true;
  const { status, headers: received } = answer;
  return { status, headers: received, body: isJson ? await answer.json() : await answer.text() };
}
const answers = (...exchanges: Exchange[]) => expectAnswers({ call }, exchanges);
const inClear = { 'X-Expose-Secrets': 'plaintext' };

describe('the settings at an agent server', () => {
  it('are those of the user, with secrets in clear only for a request with X-Expose-Secrets', async () => {
    const llm = { model: 'openai/small', api_key: 'sk-secret' };
    const headers = { Authorization: 'Bearer mcp-secret', 'X-Other': 'header-secret' };
    const mcp_config = { remote: { url: 'http://127.0.0.1:9/mcp', headers } };
    await expectAnswers(app, [
      [`POST ${V1}/settings`, { agent_settings_diff: { llm, mcp_config } }, 200],
      [
        `POST ${V1}/settings/profiles/fast`,
        { llm: { model: 'openai/fast', api_key: 'sk-fast' } },
        201,
      ],
    ]);
    await answers(
      [
        '/api/settings',
        undefined,
        200,
        { agent_settings: { llm: { ...llm, api_key: MASKED } }, active_profile: null },
      ],
      [
        '/api/profiles/fast',
        undefined,
        200,
        { name: 'fast', config: { model: 'openai/fast', api_key: null } },
      ],
      ['/api/profiles/nope', undefined, 404, { detail: "Profile 'nope' not found" }],
    );
    const shown = await call('GET', '/api/settings', undefined, inClear);
    expect(shown.body).toMatchObject({
      llm_api_key_is_set: true,
      agent_settings: {
        llm,
        mcp_config: {
          remote: { headers: { 'X-Other': 'header-secret' }, auth: { value: 'mcp-secret' } },
        },
      },
    });
    expect((await call('GET', '/api/profiles/fast', undefined, inClear)).body).toMatchObject({
      config: { api_key: 'sk-fast' },
    });
    expect(
      (await call('GET', '/api/settings', undefined, { 'X-Expose-Secrets': 'encrypted' })).status,
    ).toBe(400);
    expect(
      (await call('GET', '/api/settings', undefined, { ...inClear, 'X-Session-API-Key': 'nope' }))
        .status,
    ).toBe(401);
  });

  it('are changed for the app server too, and what is shown masked is kept when it is sent back', async () => {
    const before = (await call('GET', '/api/settings')).body as { agent_settings: object };
    await answers([
      'PATCH /api/settings',
      {
        agent_settings_diff: {
          ...before.agent_settings,
          llm: { model: 'openai/large', api_key: MASKED },
        },
      },
      200,
      { agent_settings: { llm: { model: 'openai/large', api_key: MASKED } } },
    ]);
    await expectAnswers(app, [
      [
        `${V1}/settings`,
        undefined,
        200,
        { llm_api_key_set: true, agent_settings: { llm: { model: 'openai/large' } } },
      ],
    ]);
    const { body } = await call('GET', '/api/settings', undefined, inClear);
    expect(body).toMatchObject({
      agent_settings: {
        llm: { api_key: 'sk-secret' },
        mcp_config: { remote: { auth: { value: 'mcp-secret' } } },
      },
    });
    await answers(
      ['PATCH /api/settings', {}, 400],
      ['PATCH /api/settings', { agent_settings_diff: { llm: { model: 5 } } }, 400],
      ['PATCH /api/settings', { agent_settings_diff: 'x' }, 422],
    );
  });
});

describe('the secrets at an agent server', () => {
  const path = '/api/settings/secrets';

  it('are those of the user and the tokens of git providers: listed, read, stored and deleted', async () => {
    await app.post(`${V1}/secrets/git-providers`, {
      provider_tokens: { github: { token: 'gh-value' } },
    });
    await answers(
      [
        `PUT ${path}`,
        { name: 'TOKEN_A', value: 'a-value', description: 'of a' },
        200,
        { name: 'TOKEN_A' },
      ],
      [
        path,
        undefined,
        200,
        { secrets: [{ name: 'TOKEN_A', description: 'of a' }, { name: 'github_token' }] },
      ],
      [`${path}/TOKEN_A`, undefined, 200, 'a-value'],
      [`${path}/github_token`, undefined, 200, 'gh-value'],
      [`PUT ${path}`, { name: '0A', value: 'x' }, 422],
    );
    await expectAnswers(app, [
      [`${V1}/secrets/search`, undefined, 200, { items: [{ name: 'TOKEN_A' }] }],
    ]);
    await answers(
      [`DELETE ${path}/TOKEN_A`, undefined, 200, { deleted: true }],
      [`DELETE ${path}/TOKEN_A`, undefined, 404, { detail: 'Secret not found' }],
      [`${path}/TOKEN_A`, undefined, 404, { detail: 'Secret not found' }],
    );
  });

  it('are given to a conversation by a LookupSecret of either server, and by no other address', async () => {
    await app.post(`${V1}/secrets`, { name: 'TOKEN_B', value: 'b-value' });
    const lookup = (of: string) => ({
      kind: 'LookupSecret',
      url: of,
      headers: { 'X-Session-API-Key': key },
    });
    const conversation_id = '11111111-2222-4333-8444-5555555555ab';
    const at = `/api/conversations/${conversation_id}`;
    const replay = [{ type: 'terminal', command: 'printf %s "$ONE$TWO" | wc -c', thought: '' }];
    const start = {
      conversation_id,
      workspace: { working_dir: '.' },
      replay,
      secrets: { ONE: lookup(`${url}${path}/TOKEN_B`) },
    };
    const two = lookup(`http://localhost:3000${V1}/sandboxes/x/settings/secrets/TOKEN_B`);
    const detail = expect.stringContaining('looked up') as string;
    await answers(
      ['POST /api/conversations', start, 201],
      [
        `POST ${at}/secrets`,
        { secrets: { TWO: lookup('https://evil.example/settings/secrets/TOKEN_B') } },
        400,
        { detail },
      ],
      [`POST ${at}/secrets`, { secrets: { TWO: lookup(`${url}${path}/NOPE`) } }, 400, { detail }],
      [`POST ${at}/secrets`, { secrets: { TWO: two } }, 200],
      [`POST ${at}/run`, undefined, 200],
    );
    const output = await until('the output', async () => {
      const { body } = await call('GET', `${at}/events/search`);
      return JSON.stringify(body).includes('TerminalObservation')
        ? JSON.stringify(body)
        : undefined;
    });
    expect(output).toContain('"text":"14');
  });
});

it('an agent server has no skills', () =>
  answers(['POST /api/skills', {}, 200, { skills: [], sources: {} }]));
