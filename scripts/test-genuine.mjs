/**
 * The contract of acs on every server it promises to work with: the local service, and genuine servers of two releases
 * on loopback. Prints a table of cases and targets; ends with 1 when a case failed or a target could not be set up.
 *
 *   node scripts/test-genuine.mjs [target…] [--case <pattern>] [--set-up]
 *
 * `--set-up` makes the environments and runs nothing. ACS_TEST_REPORT names a file for the counts, as JSON.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { RELEASES, setUp } from '../test/genuine/set-up.mjs';
import { count, present } from './genuine/table.mjs';

const ROOT = path.resolve(import.meta.dirname, '..');
const TARGETS = ['local', 'local-v0', ...RELEASES];
/** Several times what a run takes: a machine may be slow and busy. */
const TARGET_TIMEOUT_MS = 60 * 60_000;
const GROUP_END_MS = 15_000;

const say = (text) => process.stderr.write(`${text}\n`);
const secondsSince = (sinceMs) => Math.round((performance.now() - sinceMs) / 1000);

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { case: { type: 'string' }, 'set-up': { type: 'boolean' } },
  });
  const unknown = positionals.find((name) => !TARGETS.includes(name));
  if (unknown !== undefined) throw new Error(`there is no target ${unknown}; there are ${TARGETS.join(', ')}`);
  const chosen = TARGETS.filter((name) => positionals.length === 0 || positionals.includes(name));
  const startedMs = performance.now();
  const problems = await setUpAll(chosen);
  if (values['set-up']) {
    say(problems.size === 0 ? 'the genuine servers are set up' : 'not all genuine servers could be set up');
    if (problems.size > 0) process.exitCode = 1;
    return;
  }
  const results = await runAll(chosen, problems, values.case);
  process.stdout.write(`${present(results)}\n${secondsSince(startedMs)} s in all\n`);
  const passed = results.reduce((sum, { entries }) => sum + count(entries, 'passed', 'unsupported'), 0);
  const failed = results.reduce(
    (sum, { entries, problem }) => sum + count(entries, 'failed') + (problem === null ? 0 : 1),
    0,
  );
  if (process.env.ACS_TEST_REPORT) {
    await writeFile(process.env.ACS_TEST_REPORT, JSON.stringify({ numPassedTests: passed, numFailedTests: failed }));
  }
  if (failed > 0) process.exitCode = 1;
}

/** One after the other: each keeps all cores busy. Why a release has no environment, by its name. */
async function setUpAll(names) {
  const problems = new Map();
  for (const name of names.filter((each) => RELEASES.includes(each))) {
    try {
      await setUp(name, (text) => say(`${name}: ${text}`));
    } catch (error) {
      problems.set(name, `could not be set up: ${error.message}`);
      say(`${name}: ${problems.get(name)}`);
    }
  }
  return problems;
}

/** Genuine servers mostly wait, so they run beside each other; the local service is quick and takes turns with itself. */
async function runAll(names, problems, pattern) {
  const folder = await mkdtemp(path.join(tmpdir(), 'acs-g-'));
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => stopping.abort());
  const run = (name) =>
    runTarget(name, { folder, problem: problems.get(name) ?? null, pattern, stop: stopping.signal });
  const inTurn = async (each) => {
    const results = [];
    for (const name of each) results.push(await run(name));
    return results;
  };
  const isLocal = (name) => !RELEASES.includes(name);
  try {
    const genuine = names.filter((name) => !isLocal(name)).map(run);
    return (await Promise.all([inTurn(names.filter(isLocal)), Promise.all(genuine)])).flat();
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
  }
}

/** One target: run, read back. Never throws: what went wrong is in `problem`. */
async function runTarget(name, { folder, problem, pattern, stop }) {
  const startedMs = performance.now();
  const result = { name, entries: [], problem, seconds: 0 };
  if (stop.aborted) result.problem = 'stopped before it began';
  if (result.problem !== null) return result;
  say(`${name}: running the cases`);
  const report = path.join(folder, `${name}.jsonl`);
  const ended = await runSuite(name, { folder, report, pattern, stop });
  result.entries = await readReport(report);
  if (result.entries.length === 0) result.problem = 'no case ran: the server did not start (see above)';
  else if (stop.aborted) result.problem = 'stopped before its end';
  else if (ended !== 0 && count(result.entries, 'failed') === 0) result.problem = `the run ended with ${ended}`;
  result.seconds = secondsSince(startedMs);
  return result;
}

async function runSuite(name, { folder, report, pattern, stop }) {
  const vitest = path.join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [
    vitest,
    'run',
    'test/contract',
    '--reporter=default',
    ...(pattern === undefined ? [] : ['-t', pattern]),
  ];
  // A folder of its own for everything it leaves when it is killed.
  const TMPDIR = path.join(folder, name);
  await mkdir(TMPDIR);
  const env = { ...process.env, TMPDIR, ACS_CONTRACT_TARGET: name, ACS_CONTRACT_REPORT: report };
  delete env.ACS_TEST_REPORT;
  // What the suite says is for people who look into a failure; the table alone is the result.
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2], detached: true });
  // A suite that is stopped leaves its worker behind, and the worker its server: the group holds them all.
  const end = () => {
    signalGroup(child.pid, 'SIGTERM');
    timers.push(setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GROUP_END_MS));
  };
  const timers = [setTimeout(end, TARGET_TIMEOUT_MS)];
  stop.addEventListener('abort', end);
  if (stop.aborted) end();
  const ended = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  for (const timer of timers) clearTimeout(timer);
  stop.removeEventListener('abort', end);
  await endGroup(child.pid);
  return ended;
}

async function endGroup(leader) {
  const endMs = performance.now() + GROUP_END_MS;
  while (signalGroup(leader, 0) && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 100));
  signalGroup(leader, 'SIGKILL');
}

/** False when nobody is left in it. */
function signalGroup(leader, signal) {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}

async function readReport(file) {
  const text = await readFile(file, 'utf8').catch(() => '');
  const entries = text.split('\n').filter((line) => line !== '');
  return entries.map((line) => JSON.parse(line));
}

await main().catch((error) => {
  say(`test-genuine: ${error.message}`);
  process.exitCode = 1;
});
