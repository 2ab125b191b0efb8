/**
 * A genuine server as a target, with a scripted model and a git host; all of it on loopback, in a
 * folder of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startBackend } from '../genuine/backend.ts';
import { startGitHost, GIT_TOKEN } from '../genuine/git-host.ts';
import { startModel } from '../genuine/model.ts';
import { AUTOMATION, setUp } from '../genuine/set-up.mjs';
import { invoke } from '../support/world.ts';
import { callServer, heldCommands, sharedSandbox } from './support.ts';
import { freeBlock } from '../support/server.ts';
import type { Dialect, Target, Trait } from './target.ts';

const KEY = 'key-of-the-contract';
/**
 * For a server that never gets ready: below the time-out of its start, so that its output is
 * reported.
 */
const READY_MS = 580_000;
const END_MS = 60_000;

interface Release {
  dialects: readonly Dialect[];
  traits: readonly Trait[];
}

const RELEASES: Record<string, Release> = {
  '1.11.0': { dialects: ['v1'], traits: [] },
  '1.6.0': {
    dialects: ['v1', 'v0'],
    traits: ['deletes over V0', 'no interrupt', 'no step limit in V1'],
  },
  '1.4.0': {
    dialects: ['v1', 'v0'],
    traits: ['deletes over V0', 'no interrupt', 'no step limit in V1', 'events wait for the step'],
  },
};

/**
 * Starts that release. Throws SetUpError when it cannot be installed, else with the last output of
 * the server.
 */
export async function createGenuineTarget(release: string): Promise<Target> {
  const known = RELEASES[release];
  if (known === undefined) throw new Error(`there is no genuine release ${release} here`);
  const python = await setUp(release, () => {});
  const dir = await mkdtemp(path.join(tmpdir(), 'oh-'));
  const held = heldCommands(dir);
  const [model, gitHost] = [
    await startModel(held.released),
    await startGitHost(await subfolder(dir, 'git')),
  ];
  const port = await freeBlock();
  const url = `http://127.0.0.1:${port}`;
  const serverOptions = { python, port, sandboxPort: port + 1, dir, modelUrl: model.url };
  const closeAll = async (server: ChildProcess | null): Promise<void> => {
    if (server !== null) await end(server);
    await Promise.all([model.close(), gitHost.close()]);
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  };
  let server = await startServer(serverOptions).catch(async (error: unknown) => {
    await closeAll(null);
    throw error;
  });
  const request = callServer(url, KEY);
  const env = {
    PATH: process.env.PATH,
    HOME: await subfolder(dir, 'user'),
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_BASE_URL: url,
    ACS_API_KEY: KEY,
  };
  const cwd = await subfolder(dir, 'cwd');
  const target: Target = {
    name: release,
    ...known,
    ...withModel({ cwd, env, held, model }),
    specs: ['agent-default', 'agent-alt'],
    repository: {
      flags: ['--repo', 'demo/hello', '--git-provider', 'forgejo'],
      unknown: ['--repo', 'demo/nowhere', '--git-provider', 'forgejo'],
      dir: gitHost.dir,
      url: gitHost.url.replace('://', `://token:${GIT_TOKEN}@`) + '/demo/hello',
    },
    sandbox: sharedSandbox(() => target),
    request,
    async restart() {
      await end(server);
      server = await startServer(serverOptions);
    },
    close: () => closeAll(server),
  };
  await arrange(target, gitHost.url);
  return target;
}

/** What targets with a scripted model have alike. */
function withModel({
  cwd,
  env,
  held,
  model,
}: {
  cwd: string;
  env: Target['env'];
  held: ReturnType<typeof heldCommands>;
  model: Awaited<ReturnType<typeof startModel>>;
}) {
  const invokeIn: Target['invoke'] = (invocation) =>
    invoke({ cwd, ...invocation, env: { ...env, ...invocation.env } });
  return {
    hasModel: true,
    env,
    dir: cwd,
    key: KEY,
    acs: (...args: string[]) => invokeIn({ args }),
    invoke: invokeIn,
    async begin(scenario: string) {
      if (scenario === 'SLOW') await held.hold();
      return [`${scenario} please`];
    },
    releaseCommands: held.release,
    releaseModel: () => model.release(),
  };
}

/** The git host as a provider, and a model without retries: they take minutes. */
async function arrange(target: Target, gitHostUrl: string): Promise<void> {
  const onlyV1 = !target.dialects.includes('v0');
  const providers = { provider_tokens: { forgejo: { token: GIT_TOKEN, host: gitHostUrl } } };
  const path = onlyV1 ? '/api/v1/secrets/git-providers' : '/api/add-git-providers';
  const answers = [await target.request('POST', path, providers)];
  if (onlyV1) {
    const settings = { agent_settings_diff: { llm: { num_retries: 0 } } };
    answers.push(await target.request('POST', '/api/v1/settings', settings));
  }
  const refused = answers.find(({ status }) => status !== 200);
  if (refused) throw new Error(`the server could not be arranged: ${JSON.stringify(refused)}`);
}

interface ServerOptions {
  python: string;
  port: number;
  sandboxPort: number;
  dir: string;
  modelUrl: string;
}

/**
 * Resolves when it is ready: it answers, and has made its OpenAPI document. Events reach it up to
 * 10 s late (upstream: 30), which is late enough to be noticed. It ends by itself when this process
 * does: its stdin is ours.
 */
async function startServer({
  python,
  port,
  sandboxPort,
  dir,
  modelUrl,
}: ServerOptions): Promise<ChildProcess> {
  const script = path.join(import.meta.dirname, '..', 'genuine', 'serve.py');
  const options = {
    port,
    'sandbox-port': sandboxPort,
    data: path.join(dir, 'data'),
    key: KEY,
    'model-url': modelUrl,
    'event-delay': 10,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  // With OLDPWD of this shell, `cd -` of the scripted model would leave the sandbox.
  const env = { ...process.env, OLDPWD: undefined };
  const child = spawn(python, [script, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  let isReady = false;
  const hear = (chunk: Buffer): void => {
    said += chunk.toString();
    isReady ||= said.includes('ready http');
    said = said.slice(-4000);
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const deadline = Date.now() + READY_MS;
  while (!isReady) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await end(child);
      throw new Error(`the genuine server did not start: ${said.slice(-1500)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.stdin?.end();
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await ended;
  clearTimeout(timer);
}

async function subfolder(dir: string, name: string): Promise<string> {
  const folder = path.join(dir, name);
  await mkdir(folder);
  return folder;
}

/** A genuine backend of Agent Canvas as a target, with a scripted model and a git host. */
export async function createBackendTarget(release: string): Promise<Target> {
  const [agentPython, automationPython] = [
    await setUp(release, () => {}),
    await setUp(AUTOMATION, () => {}),
  ];
  const dir = await mkdtemp(path.join(tmpdir(), 'oh-'));
  const [data, cwd, user, git] = ['data', 'cwd', 'user', 'git'].map((name) =>
    path.join(dir, name),
  ) as [string, string, string, string];
  for (const folder of [cwd, user, git]) await mkdir(folder);
  const held = heldCommands(dir);
  const [model, gitHost] = [await startModel(held.released), await startGitHost(git)];
  const options = { agentPython, automationPython, port: await freeBlock(), data, key: KEY };
  await mkdir(path.join(data, 'home'), { recursive: true });
  // The git of the backend's machine has credentials of its own.
  const { host } = new URL(gitHost.url);
  const repository = `http://token:${GIT_TOKEN}@${host}/demo/`;
  await writeFile(
    path.join(data, 'home', '.gitconfig'),
    `[url "${repository}"]\n\tinsteadOf = ${gitHost.url}/demo/\n`,
  );
  let backend = await startBackend(options).catch(async (error: unknown) => {
    await Promise.all([model.close(), gitHost.close()]);
    throw error;
  });
  const request = callServer(backend.url, KEY);
  const env = {
    PATH: process.env.PATH,
    HOME: user,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_BASE_URL: backend.url,
    ACS_API_KEY: KEY,
  };
  const target: Target = {
    name: release,
    dialects: ['agent'],
    traits: [],
    ...withModel({ cwd, env, held, model }),
    specs: ['', ''],
    repository: {
      flags: ['--repo', `${gitHost.url}/demo/hello`],
      unknown: ['--repo', `${gitHost.url}/demo/nowhere`],
      dir: gitHost.dir,
      url: gitHost.url.replace('://', `://token:${GIT_TOKEN}@`) + '/demo/hello',
    },
    sandbox: () => Promise.reject(new Error('a backend has no sandboxes')),
    request,
    async restart() {
      await backend.close();
      backend = await startBackend(options);
    },
    async close() {
      await backend.close();
      await Promise.all([model.close(), gitHost.close()]);
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  // A model whose price is known.
  const llm = { model: 'openai/gpt-4o', base_url: model.url, api_key: 'sk-test', num_retries: 0 };
  const { status } = await request('PATCH', '/api/settings', { agent_settings_diff: { llm } });
  if (status !== 200) throw new Error(`the backend could not be arranged: ${status}`);
  return target;
}
