// What `acs conv follow` adds to a run: the time from an event being stored to its line, in each
// dialect, at a local service of its own whose run prints an event about every 40 ms; and the most
// memory of a follow of 10,000 and of 100,000 events, over a socket and by reads.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { ID } from './event-server.mjs';

const STEPS = 300;
const END = { kind: 'FinishAction', message: 'done' };
const usage = fileURLToPath(new URL('usage.cjs', import.meta.url));

/** Milliseconds from the time of each event to its line, by dialect. */
export async function timeDelays(acs, folder) {
  mkdirSync(folder, { recursive: true });
  const dataDir = path.join(folder, 'data');
  const plain = {
    PATH: process.env.PATH,
    HOME: folder,
    ACS_CONFIG_DIR: path.join(folder, 'config'),
    ACS_DATA_DIR: dataDir,
  };
  const run = (args, env = plain) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [acs, ...args], {
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`acs ${args.join(' ')} ended with ${status}: ${stderr}`);
    return stdout;
  };
  const replay = path.join(folder, 'steps.json');
  writeFileSync(replay, JSON.stringify([...Array(STEPS).keys()].map(stepOf).concat(END)));
  const { url } = JSON.parse(run(['serve', '--detach', '--json']));
  try {
    const env = {
      ...plain,
      ACS_BASE_URL: url,
      ACS_API_KEY: readFileSync(path.join(dataDir, 'key'), 'utf8').trim(),
    };
    const delays = {};
    for (const dialect of ['v1', 'v0']) {
      const started = run(
        ['conv', 'new', 'begin', '--no-repo', '--api', dialect, '--replay', replay, '--json'],
        env,
      );
      delays[dialect] = await delaysOf(acs, env, JSON.parse(started).id);
    }
    return delays;
  } finally {
    run(['serve', '--stop']);
  }
}

function stepOf(step) {
  return { kind: 'TerminalAction', command: `sleep 0.05; echo ${step}` };
}

/** Of the events that were stored after the first line: those before it were history. */
async function delaysOf(acs, env, id) {
  const child = spawn(process.execPath, [acs, 'conv', 'follow', id, '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const delays = [];
  let firstMs = null;
  let rest = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    const now = performance.timeOrigin + performance.now();
    firstMs ??= now;
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const { type, timestamp } = JSON.parse(line);
      if (type === 'event' && Date.parse(timestamp) > firstMs)
        delays.push(now - Date.parse(timestamp));
    }
  }
  const [status] = await closed;
  if (status !== 0) throw new Error(`follow ended with ${status}`);
  return delays;
}

/**
 * Megabytes that a follow used at most, by the number of events and how they came. V8 collects late
 * where it has room: `boundRssMb` is what a follow used that had little, which shows what it keeps.
 */
export async function measureMemory(acs, env) {
  const used = [];
  for (const way of ['socket', 'reads']) {
    for (const events of [10_000, 100_000]) {
      const { rssMb } = await follow(acs, env, { way, events, flags: [] });
      const { rssMb: boundRssMb } = await follow(acs, env, {
        way,
        events,
        flags: ['--max-old-space-size=40'],
      });
      used.push({ way, events, rssMb, boundRssMb });
    }
  }
  return used;
}

async function follow(acs, env, { way, events, flags }) {
  const server = spawn(
    process.execPath,
    [path.join(import.meta.dirname, 'event-server.mjs'), way, String(events)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    const [line] = await once(server.stdout, 'data');
    const child = spawn(
      process.execPath,
      [...flags, '--require', usage, acs, 'conv', 'follow', ID, '--json'],
      {
        env: { ...env, ACS_BASE_URL: String(line).trim() },
        stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
      },
    );
    let figures = '';
    child.stdio[3].on('data', (chunk) => (figures += chunk));
    const closed = once(child, 'close');
    let lines = 0;
    for await (const chunk of child.stdout)
      for (let at = -1; (at = chunk.indexOf(10, at + 1)) !== -1;) lines += 1;
    const [status] = await closed;
    if (status !== 0 || lines !== events + 1)
      throw new Error(`follow ended with ${status} after ${lines} lines`);
    return JSON.parse(figures);
  } finally {
    server.kill();
  }
}
