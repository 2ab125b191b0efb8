/**
 * One run of the contract suite on one target, as a process group of its own; what it reported is
 * read back.
 */
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** Several times what a run takes: a machine may be slow and busy. */
const TARGET_TIMEOUT_MS = 60 * 60_000;
const GROUP_END_MS = 15_000;

/**
 * Runs the cases on a new server in `folder`, which is made: those whose names match `pattern`, and
 * of these only the ones with a title in `only` or in `part` (`1/2`: every second one) where these
 * are given. `stop` ends it. Gives the entries of the report, and the exit code or the signal that
 * ended the run.
 */
export async function runSuite(target, { folder, pattern, only, part, stop }) {
  await mkdir(folder);
  const report = path.join(folder, 'report.jsonl');
  // A folder of its own for everything it leaves when it is killed.
  const TMPDIR = path.join(folder, 'tmp');
  await mkdir(TMPDIR);
  const env = { ...process.env, TMPDIR, ACS_CONTRACT_TARGET: target, ACS_CONTRACT_REPORT: report };
  delete env.ACS_TEST_REPORT;
  delete env.ACS_CONTRACT_CASES;
  delete env.ACS_CONTRACT_PART;
  if (part !== undefined) env.ACS_CONTRACT_PART = part;
  if (only !== undefined) {
    env.ACS_CONTRACT_CASES = path.join(folder, 'cases.json');
    await writeFile(env.ACS_CONTRACT_CASES, JSON.stringify(only));
  }
  const ended = await runVitest(pattern === undefined ? [] : ['-t', pattern], env, stop);
  return { entries: await readReport(report), ended };
}

async function runVitest(flags, env, stop) {
  const vitest = path.join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', 'test/contract', '--reporter=default', ...flags];
  // The output of the suite goes to stderr, for whoever looks into a failure; the table alone is
  // the result.
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env,
    stdio: ['ignore', 2, 2],
    detached: true,
  });
  // A suite that is stopped leaves its worker behind, and the worker its server: the group holds
  // them all.
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
  while (signalGroup(leader, 0) && performance.now() < endMs)
    await new Promise((resolve) => setTimeout(resolve, 100));
  signalGroup(leader, 'SIGKILL');
}

/** False when the group is empty. */
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
