/** A genuine backend of Agent Canvas as a target, with a scripted model and a git host. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startBackend } from '../genuine/backend.ts';
import { GIT_TOKEN, startGitHost } from '../genuine/git-host.ts';
import { startModel } from '../genuine/model.ts';
import { AUTOMATION, setUp } from '../genuine/set-up.mjs';
import { freeBlock } from '../support/server.ts';
import { invoke } from '../support/world.ts';
import { callServer, heldCommands } from './support.ts';
import type { Target } from './target.ts';

const KEY = 'key-of-the-contract';

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
    hasModel: true,
    env,
    dir: cwd,
    key: KEY,
    specs: ['', ''],
    repository: {
      flags: ['--repo', `${gitHost.url}/demo/hello`],
      unknown: ['--repo', `${gitHost.url}/demo/nowhere`],
      dir: gitHost.dir,
      url: gitHost.url.replace('://', `://token:${GIT_TOKEN}@`) + '/demo/hello',
    },
    acs: (...args) => target.invoke({ args }),
    invoke: (invocation) => invoke({ cwd, ...invocation, env: { ...env, ...invocation.env } }),
    async begin(scenario) {
      if (scenario === 'SLOW') await held.hold();
      return [`${scenario} please`];
    },
    sandbox: () => Promise.reject(new Error('a backend has no sandboxes')),
    request,
    releaseCommands: held.release,
    releaseModel: () => model.release(),
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
