import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectTo } from '../support/connect.ts';
import { createV1World, ID, type V1World } from '../support/v1-world.ts';

const CLONED_AT = '2026-11-21T10:00:00Z';
const BEGUN_AT = '2026-11-21T10:01:00Z';
const LEFT_AT = '2026-11-21T10:10:00Z';
const STOPPED_AT = '2026-11-21T10:20:00Z';

let world: V1World;
let dir: string;
let workspace: string;

const env = (at: string): NodeJS.ProcessEnv => ({
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_COMMITTER_DATE: at,
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
});

function git(at: string, cwd: string, ...args: string[]): void {
  execFileSync('git', args, { cwd, env: env(at), stdio: 'pipe' });
}

/** The sandbox's commands, carried out for real. */
function answerCommands(): void {
  let output: Record<string, unknown> = {};
  world.before = ({ path: asked, body }) => {
    if (asked === '/agent/api/bash/start_bash_command') {
      const { command, cwd } = body as { command: string; cwd: string };
      const { status, stdout, stderr } = spawnSync('bash', ['-c', command], { cwd, env: env(STOPPED_AT) });
      output = { order: 0, exit_code: status, stdout: stdout.toString(), stderr: stderr.toString() };
      return { json: { id: 'c1' } };
    }
    return asked === '/agent/api/bash/bash_events/search' ? { json: { items: [output], next_page_id: null } } : null;
  };
}

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-diff-'));
  const origin = path.join(dir, 'origin');
  workspace = path.join(dir, 'workspace');
  git(CLONED_AT, dir, 'init', '-q', '-b', 'main', 'origin');
  git(CLONED_AT, origin, 'commit', '-q', '--allow-empty', '-m', 'first');
  git(CLONED_AT, origin, 'checkout', '-q', '-b', 'other');
  await writeFile(path.join(origin, 'of-other.txt'), 'x');
  git(CLONED_AT, origin, 'add', '.');
  git(CLONED_AT, origin, 'commit', '-q', '-m', 'second');
  git(CLONED_AT, dir, 'clone', '-q', '-b', 'main', origin, 'workspace');
  // The agent goes to another branch while it works.
  git(LEFT_AT, workspace, 'checkout', '-q', 'other');
  await writeFile(path.join(workspace, 'new.txt'), 'x');
  world = await createV1World();
  answerCommands();
});

afterEach(async () => {
  await world.close();
  await rm(dir, { recursive: true, force: true });
});

it('the difference begins at the start of the run although the record was recreated later', async () => {
  world.addConversation({ created_at: STOPPED_AT });
  Object.assign(world.agentState, { created_at: BEGUN_AT, workspace: { working_dir: workspace } });
  const server = await connectTo(world.fake.url);
  const { changes } = await server.conversations.diff(ID).finally(() => server.close());
  expect(changes.map((change) => change.path).sort()).toEqual(['new.txt', 'of-other.txt']);
});

it('the difference over V1 names a path that git cannot add, and holds the others', async () => {
  world.addConversation({ created_at: STOPPED_AT });
  Object.assign(world.agentState, { created_at: BEGUN_AT, workspace: { working_dir: workspace } });
  // Git refuses to add a repository without a commit.
  git(LEFT_AT, workspace, 'init', '-q', 'nested');
  const server = await connectTo(world.fake.url);
  const { changes, omissions } = await server.conversations.diff(ID).finally(() => server.close());
  expect(changes.map((change) => change.path).sort()).toEqual(['new.txt', 'of-other.txt']);
  expect(omissions).toEqual([expect.stringContaining("'nested/'")]);
});

it('the difference over V1 omits and names a repository that the agent cloned, and keeps a submodule', async () => {
  world.addConversation({ created_at: STOPPED_AT });
  Object.assign(world.agentState, { created_at: BEGUN_AT, workspace: { working_dir: workspace } });
  git(LEFT_AT, workspace, 'clone', '-q', path.join(dir, 'origin'), 'by the agent');
  git(LEFT_AT, workspace, '-c', 'protocol.file.allow=always', 'submodule', 'add', path.join(dir, 'origin'), 'module');
  const server = await connectTo(world.fake.url);
  const { changes, omissions, patch } = await server.conversations.diff(ID).finally(() => server.close());
  expect(changes.map((change) => change.path).sort()).toEqual(['.gitmodules', 'module', 'new.txt', 'of-other.txt']);
  expect(omissions).toEqual(['by the agent: it is a repository of its own, and its files are not compared']);
  const text = new TextDecoder().decode(patch);
  expect(text.match(/Subproject commit/g)).toHaveLength(1);
  expect(text).toContain('+++ b/module');
});
