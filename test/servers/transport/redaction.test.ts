/** Answers of servers hold keys in clear; what is shown of them holds none (interface 12). */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { event, finish, ID, SANDBOX_KEY, status, userMessage } from '../support/v1-world.ts';
import { fakeTrap, v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import { createV0Server, older } from '../../traps/support/v0.ts';

const SANDBOX = '3FMPmdQNoK7m6jOnQfBmeI';
const TOKEN = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz';
let trap: V1Trap;

beforeEach(async () => {
  trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished', sandbox_id: SANDBOX });
  trap.agentEvents.push(
    userMessage('do it'),
    event('ObservationEvent', {
      source: 'environment',
      tool_name: 'terminal',
      observation: {
        kind: 'TerminalObservation',
        content: [{ type: 'text', text: `origin\thttps://oauth2:${TOKEN}@git.example/demo/hello.git (fetch)` }],
        exit_code: 0,
      },
    }),
    finish(`see http://127.0.0.1:8101/?tkn=${SANDBOX_KEY}&folder=/workspace`),
    status('finished'),
  );
  trap.before = ({ path }) => {
    if (path !== '/api/v1/sandboxes/search' && path !== '/api/v1/sandboxes') return null;
    const record = {
      id: SANDBOX,
      status: 'RUNNING',
      sandbox_spec_id: 'agent-default',
      session_api_key: SANDBOX_KEY,
      exposed_urls: [
        { name: 'AGENT_SERVER', url: 'http://127.0.0.1:8100', port: 8100 },
        { name: 'VSCODE', url: `http://127.0.0.1:8101/?tkn=${SANDBOX_KEY}&folder=/workspace`, port: 8101 },
      ],
      created_at: '2026-11-21T10:12:00Z',
    };
    return { json: path.endsWith('search') ? { items: [record], next_page_id: null } : [record] };
  };
});
afterEach(() => trap.close());

it.each([
  [['conv', 'events', ID, '--json']],
  [['conv', 'events', ID, '--format', 'ndjson', '--debug']],
  [['conv', 'follow', ID]],
  [['conv', 'follow', ID, '--json', '--debug']],
  [['conv', 'show', ID, '--json', '--debug']],
  [['conv', 'list', '--json', '--debug']],
  [['conv', 'result', ID, '--debug']],
  [['sandbox', 'list', '--json', '--debug']],
  [['sandbox', 'show', SANDBOX, '--json', '--debug']],
])('acs %j shows no session key and no token of a remote', async (args) => {
  const { code, out, err } = await trap.acs(...args);
  expect(code, err).toBe(0);
  expect(out + err).not.toContain(SANDBOX_KEY);
  expect(out + err).not.toContain(TOKEN);
});

it('the key of a sandbox is printed only with --show-secrets', async () => {
  const { code, out, err } = await trap.acs('sandbox', 'show', SANDBOX, '--show-secrets', '--json', '--debug');
  expect(code).toBe(0);
  expect(out).toContain(SANDBOX_KEY);
  expect(err).not.toContain(SANDBOX_KEY);
});

it('the key of the app server is sent to no sandbox, and that of a sandbox to no app server', async () => {
  await trap.acs('conv', 'events', ID);
  for (const { path, headers } of trap.fake.asked) {
    const isSandbox = path.startsWith('/agent/');
    expect(headers['x-session-api-key'] === SANDBOX_KEY).toBe(isSandbox);
    if (isSandbox) expect(headers.authorization).toBeUndefined();
  }
});

it('keys of MCP servers, which V0 returns in clear, are not printed', async () => {
  const server = createV0Server();
  const secret = 'mcp-secret-0123456789';
  server.before = ({ path }) => {
    if (path !== '/api/settings') return null;
    const settings = older.body('v0.settings.get') as Record<string, unknown>;
    const mcp_config = {
      sse_servers: [{ url: 'https://mcp.example/sse', api_key: secret }],
      stdio_servers: [{ name: 'local', command: 'run', args: [], env: { TOKEN: secret } }],
      shttp_servers: [],
    };
    return { json: { ...settings, mcp_config } };
  };
  const v0 = await fakeTrap((asked) => server.handler(asked));
  try {
    for (const args of [['--json'], ['mcp_config'], ['--json', '--debug']]) {
      const { code, out, err } = await v0.acs('settings', 'get', ...args);
      expect(code, err).toBe(0);
      expect(out + err).not.toContain(secret);
    }
  } finally {
    await v0.close();
  }
});
