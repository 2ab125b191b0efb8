/**
 * The local service as a target: its agent plays recorded runs that do what the scripted model
 * makes an agent do.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { openStore } from '../../src/service/storage/index.ts';
import { conversationRow } from '../service/storage/support.ts';
import type { Dialect, Scenario, Target } from './target.ts';
import { createWorld, invoke, PACKAGE_ROOT } from '../support/world.ts';
import { startService } from '../../src/service/index.ts';
import { heldCommand, startModel } from '../genuine/model.ts';
import { callServer, heldCommands, sharedSandbox } from './support.ts';
import { MATRIX_BASE, MATRIX_CHANGES, shell } from '../support/patch-matrix.ts';
import { freeBlock } from '../support/server.ts';

/** Ended ones, a second apart, the newest made now; in turn of each dialect. */
export function addConversations(
  database: string,
  count: number,
  dialects: readonly Dialect[],
): void {
  const nowMs = Date.now();
  const store = openStore(database);
  try {
    store.transaction(() => {
      for (let number = 0; number < count; number++) {
        const stamp = new Date(nowMs - number * 1000).toISOString().replace('Z', '000Z');
        store.conversations.insert(
          conversationRow({
            id: randomBytes(16).toString('hex'),
            dialect: dialects[number % dialects.length] === 'v0' ? 'V0' : 'V1',
            title: `Conversation ${number} of many`,
            created_at: stamp,
          }),
        );
      }
    });
  } finally {
    store.close();
  }
}

const run = (command: string): object => ({ action: 'run', args: { command } });
const finish = (text: string): object => ({ action: 'finish', args: { final_thought: text } });
const risky = (command: string): object => ({
  kind: 'ActionEvent',
  source: 'agent',
  security_risk: 'HIGH',
  thought: [],
  action: { kind: 'TerminalAction', command },
});

const RUNS: Partial<Record<Scenario, object[]>> = {
  QUICK: [finish('Done at once.')],
  PLAIN: [
    {
      action: 'message',
      source: 'agent',
      args: { content: 'A plain answer, no tool was needed.' },
    },
  ],
  WORK: [run('ls -la'), run('echo hello from the agent > hello.txt'), finish('All done.')],
  MATRIX: [run(MATRIX_CHANGES), finish('All done.')],
  RISKY: [risky('echo carried out > risky.txt'), finish('All done.')],
  COUNT: Array.from({ length: 200 }, (_, index) => run(`sleep 0.2; echo round ${index + 1}`)),
};

/** The answers to further messages. */
const ANSWERS = Array.from({ length: 5 }, () => finish('Done at once.'));

/**
 * A service in a folder of its own that serves both dialects, or V0 alone as an old server does.
 */
export async function createLocalTarget(api: 'both' | 'v0'): Promise<Target> {
  const world = await createWorld({ api, spec: 'process', port: await freeBlock() });
  const { dir, env } = world;
  let service = world.service;
  const held = heldCommands(dir);
  const model = await startModel(held.released);
  const repository = makeRepository(path.join(dir, 'hello'));
  const call = callServer(service.url, service.key);
  const again = async (meanwhile: () => void): Promise<void> => {
    const { port } = new URL(service.url);
    await service.close('it is started again');
    meanwhile();
    service = await startService({
      dataDir: world.dataDir,
      root: PACKAGE_ROOT,
      version: '0.0.0-test',
      env: { PATH: process.env.PATH, HOME: world.home },
      api,
      spec: 'process',
      port: Number(port),
      idleTimeoutMs: 0,
    });
  };
  const target: Target = {
    name: api === 'v0' ? 'local-v0' : 'local',
    dialects: api === 'v0' ? ['v0'] : ['v1', 'v0'],
    hasModel: false,
    modelUrl: model.url,
    traits: [],
    env,
    dir,
    key: service.key,
    specs: ['process', 'bubblewrap'],
    repository: {
      flags: ['--repo', repository],
      unknown: ['--repo', path.join(dir, 'nowhere.git')],
      dir: repository,
    },
    acs: (...args) => target.invoke({ args }),
    invoke: (invocation) => invoke({ cwd: dir, ...invocation, env: { ...env, ...invocation.env } }),
    async begin(scenario) {
      if (scenario === 'SLOW') await held.hold();
      const steps =
        scenario === 'SLOW'
          ? [run(heldCommand(held.released)), finish('All done.')]
          : RUNS[scenario];
      if (steps === undefined) return [`${scenario} please`];
      const file = path.join(dir, `${scenario}.json`);
      // A message of the user before each answer, so that words of the agent end their turn.
      const more = ANSWERS.flatMap((answer) => [
        { action: 'message', source: 'user', args: { content: 'go on' } },
        answer,
      ]);
      await writeFile(file, JSON.stringify([...steps, ...more]));
      return [`${scenario} please`, '--replay', file];
    },
    sandbox: sharedSandbox(() => target),
    request: call,
    releaseCommands: held.release,
    releaseModel: () => model.release(),
    restart: () => again(() => {}),
    fill: (count) =>
      again(() => addConversations(path.join(world.dataDir, 'service.db'), count, target.dialects)),
    async close() {
      if (service !== world.service) await service.close('the test is over');
      await world.close();
      await model.close();
    },
  };
  return target;
}

function makeRepository(dir: string): string {
  const git = (...args: string[]): void => {
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], {
      env,
      stdio: 'pipe',
    });
  };
  git('init', '-q', '-b', 'main', dir);
  git('-C', dir, 'commit', '-q', '--allow-empty', '-m', 'first');
  git('-C', dir, 'branch', 'next');
  git('-C', dir, 'switch', '-q', '-c', 'matrix');
  shell(dir, MATRIX_BASE);
  git('-C', dir, 'add', '-A');
  git('-C', dir, 'commit', '-q', '-m', 'matrix');
  git('-C', dir, 'switch', '-q', 'main');
  return dir;
}
