/**
 * The contract of acs on every server it promises to work with: the local service, genuine servers
 * of three releases and a genuine backend on loopback; and clients of other projects on the local service. Prints
 * a table of cases and targets; ends with 1 when a case failed, more than two were flaky, or a
 * target could not be set up.
 *
 *   node scripts/test-genuine.mjs [target…] [--case <pattern>] [--differing] [--omit <target>] [--set-up]
 *
 * `--differing` runs only the listed cases on a release for which test/genuine/differing has a
 * list. `--omit` leaves a target out. `--set-up` makes the environments and runs nothing.
 * ACS_TEST_REPORT names a file for the counts, as JSON.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { AUTOMATION, BACKENDS, CLIENTS, RELEASES, setUp } from '../test/genuine/set-up.mjs';
import { endProcessesOf } from './genuine/processes.mjs';
import { runSuite } from './genuine/suite.mjs';
import { present } from './genuine/table.mjs';
import { joined, score, titleOf, withSecondRun } from './genuine/verdicts.mjs';

const LOCAL = ['local', 'local-v0'];
const GENUINE = [...BACKENDS, ...RELEASES];
const TARGETS = [...LOCAL, ...CLIENTS, ...GENUINE];
/** The order in which targets begin: those that take longest first. */
const LONGEST_FIRST = ['1.11.0', '1.6.0', '1.4.0', ...BACKENDS, ...LOCAL, ...CLIENTS];
/** How many targets run beside each other: genuine servers mostly wait. */
const LANES = 4;

const say = (text) => process.stderr.write(`${text}\n`);
const secondsSince = (sinceMs) => Math.round((performance.now() - sinceMs) / 1000);

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      case: { type: 'string' },
      differing: { type: 'boolean' },
      omit: { type: 'string', multiple: true, default: [] },
      'set-up': { type: 'boolean' },
    },
  });
  const unknown = [...positionals, ...values.omit].find((name) => !TARGETS.includes(name));
  if (unknown !== undefined)
    throw new Error(`there is no target ${unknown}; there are ${TARGETS.join(', ')}`);
  const wanted =
    positionals.length === 0 ? TARGETS : TARGETS.filter((name) => positionals.includes(name));
  const chosen = wanted.filter((name) => !values.omit.includes(name));
  const startedMs = performance.now();
  const problems = await setUpAll(chosen);
  if (values['set-up']) {
    say(
      problems.size === 0
        ? 'the genuine servers are set up'
        : 'not all genuine servers could be set up',
    );
    if (problems.size > 0) process.exitCode = 1;
    return;
  }
  const lists = values.differing ? await readLists(chosen) : new Map();
  const results = await runAll(chosen, problems, { pattern: values.case, lists });
  process.stdout.write(`${present(results)}\n${secondsSince(startedMs)} s in all\n`);
  const { passed, failed, complaint } = score(results);
  if (complaint !== null) process.stdout.write(`${complaint}\n`);
  if (process.env.ACS_TEST_REPORT) {
    await writeFile(
      process.env.ACS_TEST_REPORT,
      JSON.stringify({ numPassedTests: passed, numFailedTests: failed }),
    );
  }
  if (failed > 0) process.exitCode = 1;
}

/** One after the other: each keeps all cores busy. Why a target has no environment, by its name. */
async function setUpAll(names) {
  const problems = new Map();
  const isBackend = (name) => BACKENDS.includes(name);
  for (const name of names.filter((each) => !LOCAL.includes(each))) {
    try {
      for (const part of isBackend(name) ? [name, AUTOMATION] : [name])
        await setUp(part, (text) => say(`${part}: ${text}`));
    } catch (error) {
      problems.set(name, `could not be set up: ${error.message}`);
      say(`${name}: ${problems.get(name)}`);
    }
  }
  return problems;
}

/**
 * The titles of the cases in which a release differs from the one after it, by the name of the
 * release.
 */
async function readLists(names) {
  const lists = new Map();
  for (const name of names) {
    const file = path.resolve(import.meta.dirname, `../test/genuine/differing/${name}.txt`);
    if (!existsSync(file)) continue;
    const lines = (await readFile(file, 'utf8')).split('\n');
    lists.set(
      name,
      lines.filter((line) => line !== '' && !line.startsWith('#')),
    );
  }
  return lists;
}

/** All targets, as many at once as there are lanes; their results in the order of the names. */
async function runAll(names, problems, { pattern, lists }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'acs-g-'));
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => stopping.abort());
  let folders = 0;
  // Short names: the path of a socket may have 107 bytes.
  const newFolder = () => path.join(folder, String((folders += 1)));
  const waiting = LONGEST_FIRST.filter((name) => names.includes(name)).flatMap((name) => {
    const only = lists.get(name);
    const problem = problems.get(name) ?? null;
    // The cases of a release, when all of them run, are shared out to two servers.
    const parts =
      GENUINE.includes(name) && pattern === undefined && only === undefined
        ? ['1/2', '2/2']
        : [undefined];
    return parts.map((part) => ({
      name,
      problem,
      pattern,
      only,
      part,
      newFolder,
      stop: stopping.signal,
    }));
  });
  const results = [];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      results.push(await runTarget(next));
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
    return names.map((name) => joined(results.filter((result) => result.name === name)));
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
  }
}

/**
 * One target, or a part of its cases. Those that fail on a genuine server are run once more, on
 * another server. Never throws: what went wrong beside the cases is in `problem`.
 */
async function runTarget({ name, problem, pattern, only, part, newFolder, stop }) {
  const startedMs = performance.now();
  const result = { name, isClient: CLIENTS.includes(name), only, entries: [], problem, seconds: 0 };
  if (stop.aborted) result.problem = 'stopped before it began';
  if (result.problem !== null) return result;
  say(`${name}: running the cases${part === undefined ? '' : `, part ${part}`}`);
  const { entries, ended } = await runOn(name, { folder: newFolder(), pattern, only, part, stop });
  const failed = entries.filter(({ verdict }) => verdict === 'failed');
  result.entries = entries;
  if (entries.length === 0 && (ended !== 0 || pattern === undefined)) {
    result.problem = 'no case ran: the server did not start (see above)';
  } else if (stop.aborted) result.problem = 'stopped before its end';
  else if (ended !== 0 && failed.length === 0) result.problem = `the run ended with ${ended}`;
  else if (failed.length > 0 && GENUINE.includes(name)) {
    say(`${name}: running ${failed.length} failed cases once more`);
    const options = { folder: newFolder(), only: failed.map(titleOf), stop };
    result.entries = withSecondRun(entries, (await runOn(name, options)).entries);
  }
  result.seconds = secondsSince(startedMs);
  return result;
}

/**
 * As runSuite; a genuine server that was killed leaves processes, the local service may leave none.
 */
async function runOn(name, options) {
  const run = await runSuite(name, options);
  if (!GENUINE.includes(name)) return run;
  for (const command of await endProcessesOf(options.folder))
    say(`${name}: ended a process that it left: ${command}`);
  return run;
}

await main().catch((error) => {
  say(`test-genuine: ${error.message}`);
  process.exitCode = 1;
});
