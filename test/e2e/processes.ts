/** acs as its users run it: a process of its own, with pipes, signals and exit codes. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { PACKAGE_ROOT, type World } from '../support/world.ts';

export const BIN = path.join(PACKAGE_ROOT, 'bin', 'acs.cjs');

export interface Running {
  child: ChildProcess;
  /** What came so far. */
  out(): string;
  err(): string;
  ended: Promise<Ended>;
}

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

export interface Start {
  cwd?: string;
  env: Record<string, string | undefined>;
}

/** stdin is a pipe that stays open and is empty, as under many CI runners. */
export function start(args: readonly string[], { cwd, env }: Start): Running {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd,
    env: clean(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return watched(child);
}

/** A command line of the shell, with `acs` in it. */
export function shell(script: string, { cwd, env }: Start): Running {
  const acs = `acs() { "${process.execPath}" "${BIN}" "$@"; }`;
  const child = spawn('bash', ['-c', `set -o pipefail; ${acs}; ${script}`], {
    cwd,
    env: clean(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return watched(child);
}

// What makes a terminal here is util-linux's program of that name; others take other options.
export const hasScript = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
);

/**
 * A shell on a terminal of 80 columns and few rows, with `acs` in it; what is written to stdin is
 * typed there.
 */
export function terminal(script: string, { cwd, env }: Start): Running {
  const set = `stty cols 80 rows 8; acs() { "${process.execPath}" "${BIN}" "$@"; }`;
  return watched(
    spawn('script', ['-qfec', `${set}; ${script}`, '/dev/null'], {
      cwd,
      env: clean({ ...env, SHELL: '/bin/bash', TERM: 'xterm', NO_COLOR: '1' }),
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
}

export function inWorld(world: World, cwd = world.dir): Start {
  return { cwd, env: world.env };
}

function clean(env: Record<string, string | undefined>): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

function watched(child: ChildProcess): Running {
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
  return { child, out: () => out, err: () => err, ended };
}
