/** Answers of servers hold keys in clear; what is shown of them holds none (interface 12). */
import { beforeEach, describe, expect, it } from 'vitest';
import { older, useV0, useV1 } from '../../support/use-scripted.ts';
import { event, finish, ID, SANDBOX_KEY, status, userMessage } from '../support/v1-server.ts';

const SANDBOX = '3FMPmdQNoK7m6jOnQfBmeI';
const TOKEN = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz';
const at = useV1();

beforeEach(() => {
  at.v1.addConversation({ execution_status: 'finished', sandbox_id: SANDBOX });
  at.v1.agentEvents.push(
    userMessage('do it'),
    event('ObservationEvent', {
      source: 'environment',
      tool_name: 'terminal',
      observation: {
        kind: 'TerminalObservation',
        content: [
          {
            type: 'text',
            text: `origin\thttps://oauth2:${TOKEN}@git.example/demo/hello.git (fetch)`,
          },
        ],
        exit_code: 0,
      },
    }),
    finish(`see http://127.0.0.1:8101/?tkn=${SANDBOX_KEY}&folder=/workspace`),
    status('finished'),
  );
  const url = `http://127.0.0.1:8101/?tkn=${SANDBOX_KEY}&folder=/workspace`;
  at.v1.addSandbox(SANDBOX, { exposed_urls: [{ name: 'VSCODE', url, port: 8101 }] });
});

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
  const { out, err } = await at.ends(args, {});
  for (const secret of [SANDBOX_KEY, TOKEN]) expect(out + err).not.toContain(secret);
});

it('the key of a sandbox is printed only with --show-secrets', async () => {
  const { out, err } = await at.ends(`sandbox show ${SANDBOX} --show-secrets --json --debug`, {});
  expect(out).toContain(SANDBOX_KEY);
  expect(err).not.toContain(SANDBOX_KEY);
});

it('the key of the app server is sent to no sandbox, and that of a sandbox to no app server', async () => {
  await at.ends(`conv events ${ID}`, {});
  for (const { path, headers } of at.server.asked) {
    const isSandbox = path.startsWith('/agent/');
    expect(headers['x-session-api-key'] === SANDBOX_KEY).toBe(isSandbox);
    if (isSandbox) expect(headers.authorization).toBeUndefined();
  }
});

describe('keys of MCP servers, which V0 returns in clear,', () => {
  const v0 = useV0();
  const secret = 'mcp-secret-0123456789';

  it.each(['--json', 'mcp_config', '--json --debug'])(
    'are not printed by settings get %s',
    async (flags) => {
      const mcp_config = {
        sse_servers: [{ url: 'https://mcp.example/sse', api_key: secret }],
        stdio_servers: [{ name: 'local', command: 'run', args: [], env: { TOKEN: secret } }],
        shttp_servers: [],
      };
      v0.script({
        '/api/settings': { json: { ...(older.body('v0.settings.get') as object), mcp_config } },
      });
      await v0.ends(`settings get ${flags}`, { hides: secret });
    },
  );
});
