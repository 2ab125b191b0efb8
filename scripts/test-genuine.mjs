/**
 * The contract of acs on every server it promises to work with: the local service, and genuine servers of two releases
 * on loopback. Prints a table of cases and targets; ends with 1 when a case failed or a target could not be set up.
 *
 *   node scripts/test-genuine.mjs [target…] [--case <pattern>]
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { RELEASES, setUp } from '../test/genuine/set-up.mjs';

const ROOT = path.resolve(import.meta.dirname, '..');
const TARGETS = ['local', 'local-v0', ...RELEASES];
const TARGET_TIMEOUT_MS = 10 * 60_000;

const say = (text) => process.stderr.write(`${text}\n`);
const seconds = (sinceMs) => Math.round((performance.now() - sinceMs) / 1000);

async function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { case: { type: 'string' } } });
  const unknown = positionals.find((name) => !TARGETS.includes(name));
  if (unknown !== undefined) throw new Error(`there is no target ${unknown}; there are ${TARGETS.join(', ')}`);
  const chosen = TARGETS.filter((name) => positionals.length === 0 || positionals.includes(name));
  const startedMs = performance.now();
  const folder = await mkdtemp(path.join(tmpdir(), 'acs-genuine-'));
  try {
    // The local service is light and goes along; genuine servers take turns, each with the sandboxes it needs.
    const inTurn = async (names) => {
      const results = [];
      for (const name of names) results.push(await runTarget(name, folder, values.case));
      return results;
    };
    const genuine = chosen.filter((name) => RELEASES.includes(name));
    const local = chosen.filter((name) => !RELEASES.includes(name));
    const results = (await Promise.all([inTurn(local), inTurn(genuine)])).flat();
    process.stdout.write(`${table(results)}\n`);
    for (const result of results) process.stdout.write(`${reasons(result)}${summary(result)}\n`);
    process.stdout.write(`${seconds(startedMs)} s in all\n`);
    if (results.some(({ ok }) => !ok)) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One target: set up, run, read back. Never throws: what went wrong is in `problem`. */
async function runTarget(name, folder, pattern) {
  const startedMs = performance.now();
  const result = { name, cases: new Map(), problem: null, ok: false, seconds: 0 };
  try {
    if (RELEASES.includes(name)) {
      say(`${name}: setting up`);
      await setUp(name, (text) => say(`${name}: ${text}`));
    }
    say(`${name}: running the cases`);
    const report = path.join(folder, `${name}.jsonl`);
    const code = await runSuite(name, report, pattern);
    result.cases = await readReport(report);
    const failed = [...result.cases.values()].filter(({ verdict }) => verdict === 'failed').length;
    if (result.cases.size === 0) result.problem = 'no case ran: the server did not start (see above)';
    else if (code !== 0 && failed === 0) result.problem = `the run ended with status ${code}`;
    result.ok = code === 0 && result.problem === null;
  } catch (error) {
    result.problem = `could not be set up: ${error.message}`;
    say(`${name}: ${result.problem}`);
  }
  result.seconds = seconds(startedMs);
  return result;
}

function runSuite(name, report, pattern) {
  const vitest = path.join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [
    vitest,
    'run',
    'test/contract',
    '--reporter=default',
    ...(pattern === undefined ? [] : ['-t', pattern]),
  ];
  const env = { ...process.env, ACS_CONTRACT_TARGET: name, ACS_CONTRACT_REPORT: report };
  // What the suite says is for people who look into a failure; the table alone is the result.
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2] });
  const timer = setTimeout(() => child.kill('SIGTERM'), TARGET_TIMEOUT_MS);
  const stop = (signal) => child.kill(signal);
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
      resolve(code ?? signal);
    });
  });
}

async function readReport(file) {
  const text = await readFile(file, 'utf8').catch(() => '');
  const entries = text.split('\n').filter((line) => line !== '');
  return new Map(entries.map((line) => JSON.parse(line)).map((entry) => [entry.name, entry]));
}

function table(results) {
  const names = [...new Set(results.flatMap(({ cases }) => [...cases.keys()]))];
  const width = Math.max(4, ...names.map((name) => name.length));
  const cell = (text) => text.padEnd(12);
  const row = (name, cells) => `${name.padEnd(width)}  ${cells.map(cell).join('')}`.trimEnd();
  const verdict = (result, name) => result.cases.get(name)?.verdict ?? 'not run';
  return [
    row(
      'case',
      results.map(({ name }) => name),
    ),
    ...names.map((name) =>
      row(
        name,
        results.map((result) => verdict(result, name)),
      ),
    ),
  ].join('\n');
}

/** Why cases failed; nothing when none did. */
function reasons({ name, cases }) {
  const failed = [...cases.values()].filter(({ verdict }) => verdict === 'failed');
  return failed.map((one) => `${name}: ${one.name}: ${one.why ?? 'see above'}\n`).join('');
}

function summary({ name, cases, problem, seconds: took }) {
  const count = (wanted) => [...cases.values()].filter(({ verdict }) => verdict === wanted).length;
  const counts = `${count('passed')} passed, ${count('failed')} failed, ${count('unsupported')} unsupported`;
  return `${name}: ${counts}, ${took} s${problem === null ? '' : `; ${problem}`}`;
}

await main().catch((error) => {
  say(`test-genuine: ${error.message}`);
  process.exitCode = 1;
});
