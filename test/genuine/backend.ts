/**
 * What Agent Canvas runs on a machine: an agent server, its automation service, and an ingress in
 * front of both; all of it on loopback, in a folder of its own.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import path from 'node:path';

export interface BackendOptions {
  /** Of the environments of set-up.mjs. */
  agentPython: string;
  automationPython: string;
  /** The ingress; the agent server and the automation service have the two after it. */
  port: number;
  /** Kept over a restart. */
  data: string;
  key: string;
}

export interface Backend {
  url: string;
  home: string;
  close(): Promise<void>;
}

/** For a slow, busy machine. */
const READY_MS = 300_000;
const END_MS = 10_000;
const PARTS = ['state/conversations', 'state/bash', 'state/storage', 'state/workspaces', 'home'];

/** Resolves when both services answer through the ingress. */
export async function startBackend(options: BackendOptions): Promise<Backend> {
  const { port, data, key } = options;
  for (const part of [...PARTS, 'automation'])
    await mkdir(path.join(data, part), { recursive: true });
  const home = path.join(data, 'home');
  const at = (part: string) => path.join(data, part);
  const services = {
    agent: { python: options.agentPython, port: port + 1 },
    automation: { python: options.automationPython, port: port + 2 },
  };
  const agentUrl = `http://127.0.0.1:${services.agent.port}`;
  const children = [
    start(data, services.agent.python, {
      name: 'agent-server',
      args: ['--host', '127.0.0.1', '--port', String(services.agent.port)],
      env: {
        OH_PERSISTENCE_DIR: data,
        OH_CONVERSATIONS_PATH: at('state/conversations'),
        OH_BASH_EVENTS_DIR: at('state/bash'),
        OH_CONVERSATION_WORKTREE_ROOT: at('worktrees'),
        OH_SECRET_KEY: 'of-a-test-0123456789-0123456789',
        OH_SESSION_API_KEYS_0: key,
        OH_ENABLE_VSCODE: 'false',
      },
    }),
    start(data, services.automation.python, {
      name: 'uvicorn',
      args: [
        'openhands.automation.app:app',
        ...['--host', '127.0.0.1', '--port', String(services.automation.port)],
      ],
      env: {
        AUTOMATION_AGENT_SERVER_URL: agentUrl,
        AUTOMATION_AGENT_SERVER_API_KEY: key,
        AUTOMATION_LOCAL_API_KEY: key,
        AUTOMATION_KV_SECRET: key,
        AUTOMATION_DB_URL: `sqlite+aiosqlite:///${at('automation/automations.db')}`,
        AUTOMATION_BASE_URL: `http://127.0.0.1:${port}`,
        AUTOMATION_WORKSPACE_BASE: at('state/workspaces'),
        FILE_STORE: 'local',
        LOCAL_STORAGE_PATH: at('state/storage'),
      },
    }),
  ];
  const ingress = await startIngress(port, {
    agent: services.agent.port,
    automation: services.automation.port,
  });
  const backend = {
    url: `http://127.0.0.1:${port}`,
    home,
    async close() {
      await ingress.close();
      await Promise.all(children.map(end));
    },
  };
  try {
    await untilReady(backend.url, children);
    return backend;
  } catch (error) {
    await backend.close();
    throw error;
  }
}

function start(
  data: string,
  python: string,
  { name, args, env }: { name: string; args: string[]; env: Record<string, string> },
): ChildProcess {
  const child = spawn(path.join(path.dirname(python), name), args, {
    cwd: path.join(data, 'state'),
    env: {
      PATH: process.env.PATH,
      TMPDIR: process.env.TMPDIR,
      HOME: path.join(data, 'home'),
      PYTHONUTF8: '1',
      OPENHANDS_SUPPRESS_BANNER: '1',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(path.join(data, `${name}.log`), { flags: 'a' });
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await ended;
  clearTimeout(timer);
}

async function untilReady(url: string, children: readonly ChildProcess[]): Promise<void> {
  const endMs = Date.now() + READY_MS;
  const answers = (route: string) =>
    fetch(`${url}${route}`, { signal: AbortSignal.timeout(5_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!((await answers('/server_info')) && (await answers('/api/automation/health')))) {
    if (children.some(({ exitCode }) => exitCode !== null))
      throw new Error('a service of the backend has ended: see its log');
    if (Date.now() > endMs) throw new Error('the backend did not get ready');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

interface Ports {
  agent: number;
  automation: number;
}

const OF_AGENT = /^\/(api|sockets|server_info|alive|health|ready|openapi\.json)/;

function portOf(url: string, { agent, automation }: Ports): number | null {
  if (url.startsWith('/api/automation')) return automation;
  return OF_AGENT.test(url) ? agent : null;
}

/** As that of Agent Canvas without a front end: 502 for what does not answer, 503 for the rest. */
async function startIngress(port: number, ports: Ports): Promise<{ close(): Promise<void> }> {
  const server = createServer((incoming, response) => {
    const target = portOf(incoming.url ?? '/', ports);
    if (target === null) response.writeHead(503).end('No backend configured for this route');
    else pass(incoming, response, target);
  });
  const sockets = new Set<Socket>();
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    const out = connect(portOf(incoming.url ?? '/', ports) ?? ports.agent, '127.0.0.1', () => {
      const headers = Object.entries(incoming.headers).map(
        ([name, value]) => `${name}: ${String(value)}\r\n`,
      );
      out.write(`GET ${incoming.url} HTTP/1.1\r\n${headers.join('')}\r\n`);
      out.write(head);
      out.pipe(socket).pipe(out);
    });
    for (const [one, other] of [
      [socket, out],
      [out, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => sockets.delete(one));
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function pass(incoming: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = incoming;
  const out = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  out.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end(`Bad Gateway: ${error.message}`);
  });
  response.on('close', () => out.destroy());
  incoming.pipe(out);
}
