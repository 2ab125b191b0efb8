/** A backend: an agent server that is reached directly, as recorded from Agent Canvas 1.20.0. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach } from 'vitest';
import { git } from '../../support/patch-matrix.ts';
import {
  NOT_FOUND,
  routed,
  type Asked,
  type Handler,
  type Reply,
  type Routes,
} from '../../support/server.ts';
import { useWorld, type Suite } from '../../support/use-world.ts';
import { recordings } from './v1-server.ts';

export const backend = recordings('agent-canvas-1.20.0');

/** Answers the probe, and what the routes answer. */
export function backendHandler(routes: Routes = {}): Handler {
  return routed({
    '/openapi.json': NOT_FOUND,
    '/server_info': backend.reply('server_info'),
    '/api/conversations/count': { json: 0 },
    ...routes,
  });
}

/** The id of the recorded conversation. */
export const BACKEND_ID = '2fec626dd1174212bd037d30a2b239d1';
export const BACKEND_DASHED_ID = '2fec626d-d117-4212-bd03-7d30a2b239d1';

export interface Machine {
  handler: Handler;
  record: Record<string, unknown> | null;
  home: string;
}

/**
 * The machine of a backend: its one conversation, commands by a real shell, and files. `below`: the
 * routes of commands and files are below the conversation alone.
 */
export function backendMachine(home: string, below = ''): Machine {
  const conversation = `/api/conversations/${BACKEND_DASHED_ID}`;
  let output: Record<string, unknown> = {};
  const run = ({ body }: Asked): Reply => {
    const { command } = body as { command: string };
    const { PATH, TMPDIR } = process.env;
    const env = { PATH, TMPDIR, HOME: home, GIT_CONFIG_SYSTEM: '/dev/null' };
    const options = { cwd: home, env, maxBuffer: 1e9, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], options);
    output = { id: 'o1', order: 0, exit_code: status, stdout: stdout || null, stderr };
    return { json: output };
  };
  const machine: Machine = {
    home,
    record: structuredClone(backend.body('conv.get')) as Record<string, unknown>,
    handler: backendHandler({
      [`GET ${conversation}`]: () =>
        machine.record === null ? NOT_FOUND : { json: machine.record },
      [`DELETE ${conversation}`]: () => {
        if (machine.record === null) return backend.reply('delete.twice');
        machine.record = null;
        return backend.reply('delete');
      },
      [`GET /api/conversations/${BACKEND_ID}/events/search`]: {
        json: { items: [], next_page_id: null },
      },
      [`POST /api${below}/bash/execute_bash_command`]: run,
      [`POST /api${below}/bash/start_bash_command`]: (asked) => {
        run(asked);
        return { json: { id: 'c1' } };
      },
      [`GET /api${below}/bash/bash_events/search`]: () => ({
        json: { items: [output], next_page_id: null },
      }),
      [`GET /api${below}/file/download`]: ({ query }) => download(query.get('path') ?? ''),
    }),
  };
  return machine;
}

function download(file: string): Reply {
  try {
    return { text: readFileSync(file), type: 'application/octet-stream' };
  } catch {
    return { status: 404, json: { detail: 'File not found' } };
  }
}

// One whose conversation has a worktree of a checkout, both on its machine with real git.

export const BRANCH = `openhands/${BACKEND_DASHED_ID}`;

export interface BackendSuite extends Suite {
  machine: Machine;
  checkout: string;
  worktree: string;
  /** The commit of both. */
  base: string;
  /** Writes a file of the worktree. */
  write(name: string, text: string): void;
  /** Of the record. */
  runsIn(folder: string, tags?: Record<string, string>): void;
  shell(cwd: string, command: string): void;
  commit(cwd: string, message: string): void;
}

export function useBackendWorktree(): BackendSuite {
  const world = useWorld({ script: () => NOT_FOUND });
  const own: Omit<BackendSuite, keyof Suite> = {
    machine: backendMachine(''),
    checkout: '',
    worktree: '',
    base: '',
    write: (name, text) => writeFileSync(path.join(at.worktree, name), text),
    runsIn: (folder, tags = {}) =>
      void Object.assign(at.machine.record ?? {}, { workspace: { working_dir: folder }, tags }),
    shell: (cwd, command) => void execFileSync('sh', ['-ec', command], { cwd, stdio: 'pipe' }),
    commit(cwd, message) {
      git(cwd, 'add', '.');
      git(cwd, 'commit', '-q', '-m', message);
    },
  };
  const at: BackendSuite = Object.assign(world, own);
  let tests = 0;
  beforeEach(() => {
    const home = path.join(world.dir, `home-${(tests += 1)}`);
    at.checkout = path.join(home, 'app');
    at.worktree = path.join(home, 'worktrees', BACKEND_DASHED_ID, 'app');
    mkdirSync(at.checkout, { recursive: true });
    at.machine = backendMachine(home);
    world.server.handler = (asked) => at.machine.handler(asked);
    git(at.checkout, 'init', '-q', '-b', 'main');
    writeFileSync(path.join(at.checkout, 'a.txt'), 'one\n');
    writeFileSync(path.join(at.checkout, '.gitignore'), 'dist/\n');
    at.commit(at.checkout, 'first');
    at.base = git(at.checkout, 'rev-parse', 'HEAD');
    git(at.checkout, 'worktree', 'add', '-q', '-b', BRANCH, at.worktree, at.base);
    at.runsIn(at.worktree, { acsbase: at.base, acscheckout: at.checkout });
  });
  return at;
}
