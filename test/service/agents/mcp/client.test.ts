/**
 * MCP servers of the same SDK, in the sandbox and outside of it, that a model calls through a real
 * worker.
 */
import type { ServerResponse } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ScriptedModel, startModel } from '../../../genuine/model.ts';
import { hasBubblewrap } from '../../../support/bubblewrap.ts';
import { startFake, type Asked, type FakeServer, type Reply } from '../../../support/server.ts';
import { sandboxOfTest, useEmptiedWorker } from '../../agent-server/support/shared-sandboxes.ts';
import {
  ID,
  KEY,
  type OwnWorker,
  processesOf,
  type TestWorker,
  until,
} from '../../agent-server/support/worker.ts';
import { createServer, PICTURE } from './server.ts';

const MODEL_KEY = 'sk-key-of-the-model';
const JSON_TYPE = { 'content-type': 'application/json' };
const TOKEN = 'token-of-the-mcp-server';
const sandbox = sandboxOfTest();
let worker: OwnWorker;
useEmptiedWorker((started) => (worker = started));
let model: ScriptedModel;
let program: string;
let web: FakeServer;

beforeAll(async () => {
  model = await startModel('/nowhere');
  const entry = path.join(import.meta.dirname, 'server.ts');
  const options = {
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
  } as const;
  const { outputFiles } = await build({ entryPoints: [entry], ...options });
  program = outputFiles[0]?.text ?? '';
  web = await startFake(answerWeb);
});
afterAll(async () => {
  await model.close();
  await web.close();
});

const sessions = new Map<string, SSEServerTransport>();

function answerWeb({ method, path: route, query, headers, body }: Asked): Reply {
  if (route === '/moved') {
    const location = web.url.replace('127.0.0.1', 'localhost');
    return { status: 307, none: true, headers: { location: `${location}/elsewhere` } };
  }
  if (route === '/elsewhere') return { none: true };
  if (route === '/cut') return { cut: true };
  if (route === '/drip') {
    const drip = (response: ServerResponse): void =>
      void response.write(' '.repeat(1024 * 1024), (error) => error ?? drip(response));
    return { by: (response) => drip(response.writeHead(200, JSON_TYPE)) };
  }
  if (headers.authorization !== `Bearer ${TOKEN}`)
    return { status: 401, text: 'Who are you?', type: 'text/plain' };
  if (route === '/mcp')
    return {
      async by(response, request) {
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
        await createServer(['echo']).connect(transport);
        await transport.handleRequest(request, response, body);
      },
    };
  if (method === 'POST') {
    const session = sessions.get(query.get('sessionId') ?? '');
    return { by: (response, request) => session?.handlePostMessage(request, response, body) };
  }
  return {
    async by(response) {
      const transport = new SSEServerTransport('/messages', response);
      sessions.set(transport.sessionId, transport);
      await createServer(['echo', 'flood']).connect(transport);
    },
  };
}

/** A server in the sandbox with these tools. */
function inSandbox(...tools: string[]) {
  for (const { workspace } of [worker.place, sandbox.place])
    writeFileSync(path.join(workspace, 'server.cjs'), program);
  return { command: 'node', args: ['server.cjs', '--stdio', ...tools] };
}

/** Starts a conversation whose model makes these calls. */
async function start(
  worker: TestWorker,
  mcp_config: object,
  calls: string[],
  more: object = {},
): Promise<void> {
  const { status } = await worker.startConversation(null, {
    initial_message: {
      role: 'user',
      content: [{ type: 'text', text: ['CALL', ...calls].join('\n') }],
      run: true,
    },
    agent: {
      llm: { model: 'openai/gpt-4o', api_key: MODEL_KEY, base_url: model.url, num_retries: 0 },
      mcp_config,
    },
    ...more,
  });
  expect(status).toBe(201);
}

interface Observation {
  kind: string;
  is_error: boolean;
  content: { text?: string; image_urls?: string[] }[];
}

/** Of each observation of an MCP tool what it shows. */
async function shown(worker: TestWorker): Promise<string[][]> {
  const observations = (await worker.events()).map(
    (event) => event['observation'] as Observation | undefined,
  );
  return observations.flatMap((each) =>
    each?.kind === 'MCPToolObservation'
      ? [
          [
            ...(each.is_error ? ['error'] : []),
            ...each.content.flatMap((part) => part.image_urls ?? part.text ?? ''),
          ],
        ]
      : [],
  );
}

/** The messages that are neither of the user nor of the agent. */
async function notices(worker: TestWorker): Promise<string[]> {
  const events = await worker.events();
  return events.flatMap((event) => {
    if (event.kind !== 'MessageEvent' || event.source !== 'environment') return [];
    const { content } = event['llm_message'] as { content: { text: string }[] };
    return content.flatMap(({ text }) => text.split('\n'));
  });
}

it.each([
  ['a program in the sandbox', () => ({ mcpServers: { docs: inSandbox('echo') } })],
  [
    'streamable HTTP',
    () => ({ docs: { url: `${web.url}/mcp`, headers: { Authorization: `Bearer ${TOKEN}` } } }),
  ],
  [
    'SSE',
    () => ({
      docs: {
        url: `${web.url}/events`,
        transport: 'sse',
        auth: { strategy: 'bearer', value: TOKEN },
      },
    }),
  ],
])('a model calls a tool of an MCP server: %s', async (_name, config) => {
  const offline = await sandbox.start(hasBubblewrap ? { spec: 'bubblewrap-offline' } : {});
  await start(offline, config(), [`echo {"words":"the words","security_risk":"LOW"}`]);
  await offline.untilStatus('finished');
  const events = await offline.events();
  const [action, observation] = events.filter((event) => event['tool_name'] === 'echo');
  expect(action).toMatchObject({
    action: { data: { words: 'the words' }, kind: 'MCPToolAction' },
    security_risk: 'LOW',
  });
  expect(observation?.['observation']).toEqual({
    content: ["[Tool 'echo' executed.]", 'the words'].map((text) => ({
      cache_prompt: false,
      type: 'text',
      text,
    })),
    is_error: false,
    tool_name: 'echo',
    kind: 'MCPToolObservation',
  });
  expect(await notices(offline)).toEqual([]);
  const { properties, required } =
    model.offered.find((tool) => tool.function.name === 'echo')?.function.parameters ?? {};
  expect(Object.keys(properties ?? {})).toEqual(['words', 'security_risk']);
  expect(required).toEqual(['security_risk']);
});

it('the result of a tool reaches the model as text and images of bounded length', async () => {
  const tools = ['picture', 'page', 'sound', 'fail', 'refuse', 'long', 'rows'];
  await start(worker, { docs: inSandbox(...tools) }, [...tools, 'think null', 'page null']);
  await worker.untilStatus('finished');
  const executed = tools.map((tool) => `[Tool '${tool}' executed.]`);
  const half = 'x'.repeat(15_000);
  expect(await shown(worker)).toEqual([
    [executed[0], `data:image/gif;base64,${PICTURE}`],
    [executed[1], 'of a page'],
    [executed[2], '[A part of the result was left out: audio.]'],
    ['error', executed[3], 'it is not there'],
    ['error', 'Error calling MCP tool refuse: MCP error -32603: no such page'],
    [executed[5], `${half}\n[... 10000 characters of output left out ...]\n${half}`],
    [executed[6], '{"rows":2}'],
  ]);
  const errors = (await worker.events())
    .filter(({ kind }) => kind === 'AgentErrorEvent')
    .map((event) => event['error']);
  expect(errors).toEqual(['think', 'page'].map((name) => expect.stringContaining(name) as string));
});

/** Begins when the file `go` is there, and answers a call with `null`. */
const LATE = `
const fs = require('node:fs');
const answer = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
const answers = {
  initialize: ({ id, params: { protocolVersion } }) =>
    answer(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }),
  'tools/list': ({ id }) => {
    answer(id, { tools: [{ name: 'late', inputSchema: { type: 'object' } }] });
    fs.writeFileSync('listed', '');
  },
  'tools/call': ({ id }) => answer(id, null),
};
const begin = () => {
  if (!fs.existsSync('go')) return setTimeout(begin, 20);
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line);
    answers[message.method]?.(message);
  });
};
begin();`;

it('the tools of a server that starts late join a later step, and null is an empty result', async () => {
  writeFileSync(path.join(worker.place.workspace, 'late.cjs'), LATE);
  await start(worker, { docs: { command: 'node', args: ['late.cjs'] } }, [
    'terminal {"command":"touch go"}',
    'terminal {"command":"until [ -e listed ]; do sleep 0.02; done"}',
    'late {}',
  ]);
  await worker.untilStatus('finished');
  expect(await shown(worker)).toEqual([["[Tool 'late' executed.]"]]);
  expect(await notices(worker)).toEqual([
    'The MCP server docs is still starting: its tools join a later step.',
  ]);
});

it('a tool whose definition is not valid is named, and the others of its server are offered', async () => {
  const calls = ['rated {"security_risk":"of its own"}'];
  await start(worker, { docs: inSandbox('odd', 'rated') }, calls);
  await worker.untilStatus('finished');
  expect(await shown(worker)).toEqual([["[Tool 'rated' executed.]", 'rated of its own']]);
  expect(await notices(worker)).toEqual([
    'The tool odd of the MCP server docs is not used: its definition is not valid.',
  ]);
});

it('a tool whose name is not allowed, or taken, is offered with an allowed one', async () => {
  const long = 'n'.repeat(70);
  const one = inSandbox('echo', 'terminal', 'get.page/now', long);
  await start(worker, { one, 'two.0': inSandbox('echo', `${long}2`) }, [
    'one_terminal',
    'get_page_now',
    'two_0_echo {"words":"of the second"}',
  ]);
  await worker.untilStatus('finished');
  const [first, cut] = ['n'.repeat(64), `two_0_${'n'.repeat(58)}`];
  const names = model.offered.map((tool) => tool.function.name).slice(5);
  expect(names).toEqual(['echo', 'one_terminal', 'get_page_now', first, 'two_0_echo', cut]);
  expect((await shown(worker)).map((texts) => texts[1])).toEqual([
    'called terminal',
    'called get.page/now',
    'of the second',
  ]);
});

it('servers that cannot be used are named once, and the run continues with the others', async () => {
  const servers = {
    absent: [
      { command: 'no-such-program' },
      'it ended with exit code 127 (no-such-program: command not found)',
    ],
    broken: [
      { command: 'sh', args: ['-c', 'echo cannot find it >&2; exit 2'] },
      'it ended with exit code 2 (cannot find it)',
    ],
    endless: [
      { command: 'sh', args: ['-c', 'yes | tr -d "\\n"'] },
      'it sent more than 10 MiB without a message',
    ],
    lines: [{ command: 'yes' }, 'it sent more than 10 MiB without a message'],
    drip: [{ url: `${web.url}/drip` }, 'it sent more than 10 MiB without a message'],
    slow: [{ command: 'sleep', args: ['60'], timeout: 0.2 }, 'it did not answer within 0.2 s'],
    cut: [{ url: `${web.url}/cut` }, 'fetch failed: other side closed'],
    stranger: [
      { url: `${web.url}/mcp`, headers: { Authorization: 'Bearer of-nobody' } },
      'Who are you?',
    ],
    strange: [{ url: `${web.url}/sse` }, '401'],
    moved: [
      { url: `${web.url}/moved`, headers: { 'X-Token': TOKEN } },
      'Redirect to http://localhost',
    ],
    nothing: [{ url: 'ftp://host/' }, 'it has no command, and no url with http or https'],
    wrong: [{ command: ['sh'] }, 'command is not valid'],
    off: [{ command: 'no-such-program', enabled: false }, null],
    docs: [
      inSandbox('echo', ...Array.from({ length: 100 }, (_, at) => `echo:t${at}`)),
      'not used, as a model is offered 100 tools of different names: t99 of docs',
    ],
  } as const;
  const config = Object.fromEntries(
    Object.entries(servers).map(([name, [server]]) => [name, server]),
  );
  await start(worker, config, ['echo {"words":"still here"}', 'echo {"words":"and here"}']);
  await worker.untilStatus('finished');
  expect((await shown(worker)).map((texts) => texts[1])).toEqual(['still here', 'and here']);
  const lines = (await notices(worker)).map(
    (line) => [/(?:server|of) (\S+)(?: is|$)/.exec(line)?.[1], line] as const,
  );
  const expected = Object.entries(servers).filter(([, [, why]]) => why !== null);
  expect(lines).toHaveLength(expected.length);
  expect(Object.fromEntries(lines)).toEqual(
    Object.fromEntries(
      expected.map(([name, [, why]]) => [name, expect.stringContaining(why ?? '') as string]),
    ),
  );
  expect(web.lines().filter((line) => line.endsWith('/elsewhere'))).toEqual([]);
});

it('a server that has ended, by itself or with the sandbox, is started again by the next call', async () => {
  const echo = (words: string): string => `echo ${JSON.stringify({ words })}`;
  const calls = [
    echo('one'),
    'crash',
    echo('two'),
    'terminal {"command":"kill -9 -1"}',
    echo('three'),
  ];
  await start(worker, { docs: inSandbox('echo', 'crash') }, calls);
  await worker.untilStatus('finished');
  expect(await shown(worker)).toEqual([
    ["[Tool 'echo' executed.]", 'one'],
    ['error', 'Error calling MCP tool crash: it ended with exit code 3'],
    ["[Tool 'echo' executed.]", 'two'],
    ["[Tool 'echo' executed.]", 'three'],
  ]);
  expect(await notices(worker)).toEqual([]);
});

it('a call that awaits approval is made after a crash of the worker', async () => {
  const config = { docs: inSandbox('echo') };
  const first = await sandbox.start();
  await start(first, config, ['echo {"words":"approved"}'], {
    confirmation_policy: { kind: 'AlwaysConfirm' },
  });
  await first.untilStatus('waiting_for_confirmation');
  await first.kill('SIGKILL');
  const second = await sandbox.start();
  await second.call('POST', `/api/conversations/${ID}/events/respond_to_confirmation`, {
    accept: true,
  });
  await second.untilStatus('finished');
  expect(await shown(second)).toEqual([["[Tool 'echo' executed.]", 'approved']]);
});

/** The programs of the sandbox that are servers. */
function running(): number[] {
  return processesOf(worker.place).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--stdio');
    } catch {
      return false;
    }
  });
}

it.each([
  [
    'an interruption of a call',
    (worker: TestWorker) => worker.call('POST', `/api/conversations/${ID}/interrupt`),
  ],
  [
    'the deletion of the conversation',
    (worker: TestWorker) => worker.call('DELETE', `/api/conversations/${ID}`),
  ],
])('%s ends the program of the server', async (_name, end) => {
  await start(worker, { docs: inSandbox('hang') }, ['hang {"words":"it was called"}']);
  await until('the call', async () =>
    (await worker.events()).some((event) => event['tool_name'] === 'hang'),
  );
  expect(running()).not.toEqual([]);
  expect((await end(worker)).status).toBe(200);
  await until('the end of the program', () => running().length === 0);
});

it('half of a surrogate pair and U+0000 in a result become U+FFFD, and an ordinary word in a header stays', async () => {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'X-Team': 'test' };
  const calls = ['echo {"words":"the latest a\\ud83d\\u0000b"}'];
  await start(worker, { web: { url: `${web.url}/mcp`, headers } }, calls);
  await worker.untilStatus('finished');
  expect((await shown(worker))[0]?.[1]).toBe('the latest a\ufffd\ufffdb');
});

const answer = (worker: TestWorker, accept: boolean) =>
  worker.call('POST', `/api/conversations/${ID}/events/respond_to_confirmation`, { accept });

it('the program of a server runs on while an action awaits approval, and ends with the run', async () => {
  const confirmation_policy = { kind: 'AlwaysConfirm' };
  await start(worker, { docs: inSandbox('count') }, ['count', 'count'], { confirmation_policy });
  await worker.untilStatus('waiting_for_confirmation');
  await answer(worker, true);
  await until('the second action', async () => (await shown(worker)).length === 1);
  await worker.untilStatus('waiting_for_confirmation');
  const before = running();
  expect(before).toHaveLength(1);
  await answer(worker, true);
  await worker.untilStatus('finished');
  await until('the end of the program', () => running().length === 0);
  expect((await shown(worker)).map((texts) => texts[1])).toEqual(['1', '2']);
  expect(await notices(worker)).toEqual([]);
});

it('the program of a server starts when the one of the run before has ended', async () => {
  await start(worker, { docs: inSandbox('lock') }, ['lock']);
  await worker.untilStatus('finished');
  const content = [{ type: 'text', text: 'CALL\nlock' }];
  await worker.call('POST', `/api/conversations/${ID}/events`, {
    role: 'user',
    content,
    run: true,
  });
  await until('the second call', async () => (await shown(worker)).length === 2);
  expect((await shown(worker)).map((texts) => texts[1])).toEqual(['locked', 'locked']);
});

it('a rejection, which ends the run, ends the program of a server', async () => {
  await start(worker, { docs: inSandbox('echo') }, ['echo'], {
    confirmation_policy: { kind: 'AlwaysConfirm' },
  });
  await worker.untilStatus('waiting_for_confirmation');
  expect(running()).not.toEqual([]);
  await answer(worker, false);
  await until('the end of the program', () => running().length === 0);
});

it.each([
  ['messages', 'flood', () => inSandbox('echo', 'flood')],
  ['lines of a log', 'log', () => inSandbox('echo', 'log')],
  [
    'messages over HTTP',
    'flood',
    () => ({ url: `${web.url}/events`, transport: 'sse', auth: TOKEN }),
  ],
])(
  'a server that sends %s without end outside of calls is ended and named',
  async (_name, tool, server) => {
    const wait = { command: 'until [ -e named ]; do sleep 0.1; done' };
    const calls = [tool, `terminal ${JSON.stringify(wait)}`, 'echo {"words":"started again"}'];
    await start(worker, { docs: server() }, calls);
    await until('the notice', async () => (await notices(worker)).length > 0);
    expect(await notices(worker)).toEqual([
      'The MCP server docs was ended: it sent more than 10 MiB without a call.',
    ]);
    await until('the end of the program', () => running().length === 0);
    writeFileSync(path.join(worker.place.workspace, 'named'), '');
    await worker.untilStatus('finished');
    expect((await shown(worker)).at(-1)).toEqual(["[Tool 'echo' executed.]", 'started again']);
  },
);

it('no key and no secret of a server is in its program, an event or an answer', async () => {
  const secrets = {
    header: TOKEN,
    other: 'other-secret-header',
    query: 'secret-of-the-query',
    env: 'secret-of-the-env',
  };
  const config = {
    docs: { ...inSandbox('variables', 'echo'), env: { DOCS_TOKEN: secrets.env, LEVEL: 'info' } },
    web: {
      url: `${web.url}/mcp?api_key=${secrets.query}`,
      headers: { Authorization: `Bearer ${TOKEN}`, 'X-Other': secrets.other },
    },
  };
  const given = 'secret-of-the-conversation';
  const words = [MODEL_KEY, given, ...Object.values(secrets)].join(' ');
  const calls = ['variables', `web_echo ${JSON.stringify({ words })}`];
  await start(worker, config, calls, { secrets: { CONVERSATION: given } });
  await worker.untilStatus('finished');
  const [variables, echoed] = await shown(worker);
  const hidden = '<secret-hidden>';
  expect(echoed?.[1]).toBe(words.replaceAll(/\S+/g, hidden));
  const env = JSON.parse(variables?.[1] ?? '{}') as Record<string, string>;
  expect(env).toMatchObject({ DOCS_TOKEN: hidden, LEVEL: 'info', CONVERSATION: hidden });
  // The key of the model would be hidden as well.
  expect(Object.values(env).filter((value) => value.includes(hidden))).toHaveLength(2);
  const { body } = await worker.call('GET', `/api/conversations/${ID}`);
  const mask = '<redacted>';
  expect((body as { agent: unknown }).agent).toMatchObject({
    mcp_config: {
      docs: { command: 'node', env: { DOCS_TOKEN: mask, LEVEL: mask } },
      web: {
        url: `${web.url}/mcp?api_key=<redacted>`,
        headers: { Authorization: mask, 'X-Other': mask },
      },
    },
  });
  const all = JSON.stringify([body, await worker.events()]);
  expect(
    [KEY, MODEL_KEY, given, ...Object.values(secrets)].filter((secret) => all.includes(secret)),
  ).toEqual([]);
});
