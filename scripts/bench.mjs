// `npm run bench`: how long a command takes, as a multiple of what Node itself takes to start.
// Absolute times belong to a machine and an hour; the ratio of runs that took turns belongs to the
// program. What the local service starts is shown in milliseconds beside its goals, which are those
// of two idle cores. A long read is measured as a multiple of a raw loop over the same pages; `npm
// run bench -- events` measures that alone. `npm run bench -- follow` measures the delay and the
// memory of `conv follow`, and nothing else does. Exit 1 when a budget is broken.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { timeEvents } from './bench/events.mjs';
import { measureMemory, timeDelays } from './bench/follow.mjs';
import { timeLocalService } from './bench/local-service.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const acs = path.join(root, 'bin', 'acs.cjs');
const only = ['events', 'follow'].find((name) => name === process.argv[2]) ?? null;
const rounds = Number((only === null ? process.argv[2] : process.argv[3]) ?? 25);

// Budgets hold on Node 20, the floor. Newer ones start twice as fast and are better in every
// absolute figure, but worse in ratio: they are printed and not compared.
const judged = process.versions.node.startsWith('20.');
const subjects = [
  { name: 'node -e 0', args: ['-e', '0'] },
  { name: 'acs --version', args: [acs, '--version'], budget: 1.1 },
  { name: 'acs --help', args: [acs, '--help'], budget: 1.1 },
  { name: 'acs conv diff --help', args: [acs, 'conv', 'diff', '--help'], budget: 1.5 },
  {
    name: 'acs conv list (a GET and a table)',
    args: [acs, 'conv', 'list', '--format', 'table'],
    budget: 3.2,
  },
];

const goals = [
  { name: 'a sandbox that runs', key: 'sandbox', goalMs: 300 },
  { name: 'a conversation that is READY', key: 'conversation', goalMs: 600 },
];

const delayGoalMs = 50;

const eventRounds = Math.min(rounds, 3);
const eventsBudget = 2;

const folder = mkdtempSync(path.join(os.tmpdir(), 'acs-bench-'));
const server = spawn(process.execPath, [path.join(root, 'scripts', 'bench', 'server.mjs')], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [line] = await once(server.stdout, 'data');
  const env = {
    ...withoutOwnVariables(process.env),
    HOME: folder,
    ACS_CONFIG_DIR: path.join(folder, 'config'),
    ACS_BASE_URL: String(line).trim(),
    ACS_API_KEY: 'key-of-the-bench',
  };
  // Node reads further authorities at every start, which may take longer than all else: ratios are
  // then too low.
  const { NODE_EXTRA_CA_CERTS, ...plain } = env;
  let bareMs = null;
  if (only === null) {
    if (NODE_EXTRA_CA_CERTS) {
      process.stdout.write('With NODE_EXTRA_CA_CERTS, as it is set here:\n');
      print(rowsOf(timesIn(env)));
      process.stdout.write('\nWithout it:\n');
    }
    const times = timesIn(plain);
    bareMs = median(times.values().next().value);
    process.exitCode = report(times);
  }
  if (only === 'follow') {
    reportDelays(await timeDelays(acs, path.join(folder, 'service')));
    reportMemory(await measureMemory(acs, plain));
  } else if (reportEvents(await timeEvents(acs, plain, eventRounds)) > 0) process.exitCode = 1;
  if (bareMs !== null)
    reportStarts(await timeLocalService(acs, path.join(folder, 'service'), rounds), bareMs);
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}

function withoutOwnVariables(variables) {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => !/^(ACS|OPENHANDS)_/.test(name)),
  );
}

/** Milliseconds of each round by subject, the subjects taking turns. */
function timesIn(env) {
  // warms the disk cache, and the probe of the server
  for (const subject of subjects) time(subject, env);
  const times = new Map(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) times.get(subject).push(time(subject, env));
  }
  return times;
}

/**
 * Milliseconds from start to exit of the process. Throws when it fails: a fast failure is no
 * result.
 */
function time({ name, args }, env) {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const elapsedMs = performance.now() - started;
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
  return elapsedMs;
}

/** The least time is the one that the machine disturbed least. */
function ratiosOf(all, bare) {
  return { ofLeast: Math.min(...all) / Math.min(...bare), ofMedians: median(all) / median(bare) };
}

function rowsOf(times) {
  const [bare] = times.values();
  const rows = [['', 'median', 'least', 'ratio of medians', 'ratio of least', 'budget']];
  for (const [{ name, budget }, all] of times) {
    const { ofLeast, ofMedians } = ratiosOf(all, bare);
    const milliseconds = [median(all), Math.min(...all)].map((each) => `${each.toFixed(1)} ms`);
    rows.push([
      name,
      ...milliseconds,
      ofMedians.toFixed(2),
      ofLeast.toFixed(2),
      budget ? `≤ ${budget}` : '',
    ]);
  }
  return rows;
}

function report(times) {
  print(rowsOf(times));
  process.stdout.write(`\nNode ${process.versions.node}, ${rounds} runs each, taking turns\n`);
  if (!judged) process.stdout.write('Budgets are judged on Node 20 only.\n');
  const [bare] = times.values();
  const broken = [...times].flatMap(([{ name, budget }, all]) => {
    const { ofLeast, ofMedians } = ratiosOf(all, bare);
    if (!budget || Math.min(ofLeast, ofMedians) <= budget) return [];
    return [`${name}: ${ofLeast.toFixed(2)} × bare node, allowed ${budget}`];
  });
  for (const each of broken) process.stdout.write(`${judged ? 'over budget' : 'above'}: ${each}\n`);
  return judged && broken.length > 0 ? 1 : 0;
}

/**
 * Both in the same run, so that the ratio holds on any machine; on a busy one that of CPU time
 * holds, which does not count waiting. The budget is broken when both are above it.
 */
function reportEvents({ raw, fetch: byFetch, acs: read }) {
  const ratios = [];
  const row = (name, unit, key, loop = raw) => {
    const [base, all] = [loop, read].map((rounds) => rounds.map((round) => round[key]));
    const { ofLeast, ofMedians } = ratiosOf(all, base);
    const isJudged = unit === 'ms' && loop === raw;
    if (isJudged) ratios.push(ofLeast, ofMedians);
    const shown = (figures) => `${median(figures).toFixed(0)} ${unit}`;
    return [
      name,
      shown(base),
      shown(all),
      ofMedians.toFixed(2),
      ofLeast.toFixed(2),
      isJudged ? `≤ ${eventsBudget}` : '',
    ];
  };
  process.stdout.write('\n');
  print([
    [
      'a read of 100,000 events (medians)',
      'raw loop',
      'acs conv events',
      'ratio of medians',
      'ratio of least',
      'budget',
    ],
    row('time', 'ms', 'wallMs'),
    row('CPU time', 'ms', 'cpuMs'),
    row('most memory', 'MB', 'rssMb'),
    row('time beside a loop over fetch', 'ms', 'wallMs', byFetch),
    row('CPU time beside a loop over fetch', 'ms', 'cpuMs', byFetch),
  ]);
  process.stdout.write(`\n${raw.length} runs each with --format ndjson, taking turns\n`);
  const least = Math.min(...ratios);
  const isBroken = least > eventsBudget;
  if (isBroken)
    process.stdout.write(`${judged ? 'over budget' : 'above'}: ${least.toFixed(2)} × a raw loop\n`);
  return judged && isBroken ? 1 : 0;
}

/**
 * Another machine, or a busy one, takes longer and is not wrong for that: goals are printed, not
 * compared.
 */
function reportStarts(times, bareMs) {
  const rows = [['the local service starts', 'median', 'least', 'ratio to node -e 0', 'goal']];
  for (const { name, key, goalMs } of goals) {
    const all = times[key];
    const ratio = (median(all) / bareMs).toFixed(1);
    rows.push([
      name,
      `${median(all).toFixed(0)} ms`,
      `${Math.min(...all).toFixed(0)} ms`,
      ratio,
      `≤ ${goalMs} ms`,
    ]);
  }
  process.stdout.write('\n');
  print(rows);
}

function reportDelays(delays) {
  const rows = [
    ['conv follow: from an event to its line', 'events', 'median', '95 %', 'goal of the median'],
  ];
  for (const [dialect, all] of Object.entries(delays)) {
    const sorted = all.toSorted((a, b) => a - b);
    const ms = (figure) => `${figure.toFixed(1)} ms`;
    const most = ms(sorted[Math.floor(sorted.length * 0.95)]);
    rows.push([dialect, String(all.length), ms(median(sorted)), most, `≤ ${delayGoalMs} ms`]);
  }
  print(rows);
}

function reportMemory(used) {
  const rows = [['conv follow: most memory', 'events', 'all', 'with an old space of 40 MB']];
  for (const { way, events, rssMb, boundRssMb } of used) {
    rows.push([
      `over ${way}`,
      String(events),
      ...[rssMb, boundRssMb].map((figure) => `${figure.toFixed(0)} MB`),
    ]);
  }
  process.stdout.write('\n');
  print(rows);
}

function print(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
    );
    process.stdout.write(`${cells.join('   ').trimEnd()}\n`);
  }
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
