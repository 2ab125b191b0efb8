/** What tools of other makers do with the OpenAPI documents of the local service. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { setUp } from '../genuine/set-up.mjs';
import { agentServerOf, events, finished, show } from './support.ts';
import type { ContractCase, Target } from './target.ts';

const GENUINE = path.join(import.meta.dirname, '..', 'genuine');
const TOOL_TIMEOUT_MS = 300_000;

interface Server {
  name: 'app-server' | 'agent-server';
  url: string;
  key: string;
}

/** The servers of a conversation, and a new folder with their documents. */
async function documentsOf(
  target: Target,
  id: string,
): Promise<{ folder: string; servers: [Server, Server] }> {
  const folder = path.join(target.dir, `documents-${id}`);
  await mkdir(folder);
  const servers: [Server, Server] = [
    { name: 'app-server', url: target.env['ACS_BASE_URL'] ?? '', key: target.key },
    { name: 'agent-server', ...(await agentServerOf(target, id)) },
  ];
  for (const { name, url } of servers) {
    const answer = await fetch(`${url}/openapi.json`);
    await writeFile(path.join(folder, `${name}.json`), await answer.text());
  }
  return { folder, servers };
}

/** Runs a program in the folder, with the servers in its environment; its output on stdout. */
async function run(
  folder: string,
  servers: Server[],
  [program = '', ...args]: string[],
  env = {},
): Promise<string> {
  const ofServers = servers.flatMap(({ name, url, key }) => {
    const word = name === 'app-server' ? 'APP' : 'AGENT';
    return [[`${word}_URL`, url] as const, [`${word}_KEY`, key] as const];
  });
  const options = { cwd: folder, timeout: TOOL_TIMEOUT_MS, maxBuffer: 64 * 1024 ** 2 };
  const environment = {
    PATH: process.env.PATH,
    HOME: folder,
    ...Object.fromEntries(ofServers),
    ...env,
  };
  const ran = promisify(execFile)(program, args, { ...options, env: environment });
  return await ran.then(
    ({ stdout }) => stdout,
    (error: { stdout: string; stderr: string }) => {
      throw new Error(
        `${path.basename(program)} failed: ${error.stdout.slice(-20_000)} ` +
          `${error.stderr.slice(-5_000)}`,
      );
    },
  );
}

/** A call of each server whose parameters and answer have the generated types. */
const TYPED_CALLS = `
import createClient from 'openapi-fetch';
import type { paths as App } from './app-server.d.mts';
import type { paths as Agent } from './agent-server.d.mts';
declare const process: { env: Record<string, string>; argv: string[] };
declare const console: { log(text: string): void };
const { APP_URL, APP_KEY, AGENT_URL, AGENT_KEY } = process.env;
const [, , id = ''] = process.argv;
const app = createClient<App>({ baseUrl: APP_URL, headers: { 'X-Session-API-Key': APP_KEY } });
const agent = createClient<Agent>({ baseUrl: AGENT_URL, headers: { 'X-Session-API-Key': AGENT_KEY } });
const found = await app.GET('/api/v1/app-conversations', { params: { query: { ids: [id] } } });
const page = await agent.GET('/api/conversations/{conversation_id}/events/search', {
  params: { path: { conversation_id: id }, query: { limit: 100, sort_order: 'TIMESTAMP' } },
});
const first: string | undefined = found.data?.[0]?.id;
const events: string[] = (page.data?.items ?? []).map((event) => event.id);
console.log(JSON.stringify({ id: first, events }));
`;

async function expectRead(target: Target, id: string, text: string): Promise<void> {
  const read = JSON.parse(text) as { id: string; events: string[] };
  expect(read).toEqual({ id, events: (await events(target, id)).map((event) => event.id) });
}

const CASES: Record<string, (tool: string) => ContractCase[]> = {
  'openapi-typescript': (tool) => [
    {
      name: 'generates types with which a call of each server compiles and is answered',
      async run(target) {
        const id = await finished(target, 'v1', 'WORK');
        const { folder, servers } = await documentsOf(target, id);
        const modules = await setUp(tool, () => {});
        await symlink(modules, path.join(folder, 'node_modules'));
        const node = (program: string, ...args: string[]) =>
          run(folder, servers, [process.execPath, path.join(modules, program), ...args]);
        for (const { name } of servers) {
          await node('openapi-typescript/bin/cli.js', `${name}.json`, '-o', `${name}.d.mts`);
        }
        await writeFile(path.join(folder, 'calls.mts'), TYPED_CALLS);
        const flags = [
          '--strict',
          '--noEmitOnError',
          '--module',
          'nodenext',
          '--target',
          'es2022',
          '--lib',
          'es2022,dom',
        ];
        await node('typescript/bin/tsc', ...flags, 'calls.mts');
        await expectRead(
          target,
          id,
          await run(folder, servers, [process.execPath, 'calls.mjs', id]),
        );
      },
    },
  ],
  'openapi-python-client': (tool) => [
    {
      name: 'generates a client of every route, and a call of each server is answered',
      async run(target) {
        const id = await finished(target, 'v1', 'WORK');
        const { folder, servers } = await documentsOf(target, id);
        const python = await setUp(tool, () => {});
        // It knows one type of a body that is bytes.
        const config = {
          post_hooks: [],
          content_type_overrides: { 'application/zip': 'application/octet-stream' },
        };
        await writeFile(path.join(folder, 'config.json'), JSON.stringify(config));
        for (const { name } of servers) {
          const output = name.replace('-', '_');
          const flags = ['--meta', 'none', '--config', 'config.json', '--output-path', output];
          const command = [
            python,
            '-m',
            'openapi_python_client',
            'generate',
            '--path',
            `${name}.json`,
            ...flags,
          ];
          expect(await run(folder, servers, [...command, '--fail-on-warning'])).not.toContain(
            'WARNING',
          );
          const document = await readFile(path.join(folder, `${name}.json`), 'utf8');
          const ids = [...document.matchAll(/"operationId":"(\w+)"/g)].map(
            ([, operation]) => `${operation}.py`,
          );
          expect(await readdir(path.join(folder, output, 'api', 'default'))).toEqual(
            expect.arrayContaining(ids),
          );
        }
        const call = [python, path.join(GENUINE, 'call_generated.py'), id];
        await expectRead(target, id, await run(folder, servers, call));
      },
    },
  ],
  // The requests to the app server may delete the sandbox that cases share.
  schemathesis: (tool) => [tested(tool, 'agent-server'), tested(tool, 'app-server')],
};

function tested(tool: string, tests: Server['name']): ContractCase {
  return {
    name:
      'finds no failure, undocumented status or other shape of an answer at the ' +
      `${tests.replace('-', ' ')}`,
    async run(target) {
      // A conversation of each dialect to work with, a third one to delete, and a sandbox to pause.
      const [id, old, spare] = [
        await finished(target, 'v1', 'WORK'),
        await finished(target, 'v0', 'WORK'),
        await finished(target, 'v1', 'QUICK'),
      ];
      const { folder, servers } = await documentsOf(target, id);
      const { url = '', key = '' } = servers.find(({ name }) => name === tests) ?? {};
      const python = await setUp(tool, () => {});
      const { sandbox_id: sandbox } = await show(target, id);
      const created = await target.request('POST', '/api/v1/sandboxes');
      await writeFile(
        path.join(folder, 'schemathesis.toml'),
        schemathesisConfig({
          conversations: [id, old],
          sandbox: sandbox ?? '',
          spare: { conversation: spare, sandbox: (created.body as { id: string }).id },
        }),
      );
      const env = {
        SCHEMATHESIS_HOOKS: 'schemathesis_hooks',
        PYTHONPATH: GENUINE,
        PYTHONDONTWRITEBYTECODE: '1',
        WORKSPACE: folder,
      };
      const header = ['-H', `X-Session-API-Key: ${key}`];
      const command = [
        python,
        '-m',
        'schemathesis.cli',
        'run',
        `${tests}.json`,
        '--url',
        url,
        ...header,
      ];
      const out = await run(folder, servers, command, env);
      process.stderr.write(`${tests}: ${out.slice(out.indexOf('= SUMMARY ='))}`);
    },
  };
}

/** Every check but four, which the rules of the service and of HTTP frameworks break on purpose. */
const EXCLUDED_CHECKS = {
  negative_data_rejection:
    'as genuine servers do, `"5"` is taken for 5, and unknown members are ignored',
  positive_data_acceptance:
    'rules in code are not part of a JSON Schema, and most ids do not exist',
  unsupported_method: '`PATCH …/search` is that of a conversation with the id `search`: 422',
  allow_header_conformance: 'for the same reason `Allow` of `…/search` has PATCH and DELETE',
};

function schemathesisConfig(given: {
  conversations: string[];
  sandbox: string;
  spare: { conversation: string; sandbox: string };
}): string {
  const checks = Object.entries(EXCLUDED_CHECKS).map(
    ([check, reason]) => `# ${reason}\n[checks.${check}]\nenabled = false`,
  );
  return `
color = false
continue-on-failure = true
workers = 2
request-timeout = 60
[generation]
deterministic = true
database = "none"
max-examples = 5
no-shrink = true
[phases.stateful]
enabled = false
${checks.join('\n')}
[dictionaries.conversations]
values = ${JSON.stringify(given.conversations)}
[dictionaries.sandboxes]
values = ["${given.sandbox}"]
[parameters]
"path.conversation_id" = { dictionary = "conversations", probability = 0.8 }
"path.sandbox_id" = { dictionary = "sandboxes", probability = 0.8 }
[[operations]]
include-method = "DELETE"
parameters = { "path.conversation_id" = "${given.spare.conversation}" }
[[operations]]
include-path = "/api/v1/sandboxes/{sandbox_id}/pause"
parameters = { "path.sandbox_id" = "${given.spare.sandbox}" }
`;
}

/** The cases of one tool; `tool` as in TOOLS. */
export function documentCases(tool: string): ContractCase[] {
  const make = CASES[tool.replace(/-[^-]*$/, '')];
  if (make === undefined) throw new Error(`no case for ${tool}`);
  return make(tool);
}
