// `npm start`: builds acs and runs one conversation on this checkout, with a temporary service,
// data directory and settings that are deleted at the end. Each line that begins with `$` is a
// command that is run.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'acs-start-'));
const env = {
  ...withoutOwnVariables(process.env),
  ACS_CONFIG_DIR: path.join(folder, 'config'),
  ACS_DATA_DIR: path.join(folder, 'data'),
  ACS_PROFILE: 'local',
};

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 };
let interruptedBy = null;
let running = null;
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    interruptedBy ??= signal;
    // Ctrl-C reaches the whole group by itself; a signal that was sent to this process alone does
    // not.
    if (signal !== 'SIGINT') running?.kill(signal);
  });
}

// stdout is closed: the service that was started still has to be stopped.
process.stderr.on('error', () => {
  interruptedBy ??= 'SIGPIPE';
});

process.exitCode = await main();

async function main() {
  say('Building acs …');
  const built = await run(process.execPath, [path.join(root, 'scripts', 'build.mjs')]);
  if (built !== 0) return end(built);
  const code = await demo().catch((error) => {
    say(`error: ${error.message}`);
    return 1;
  });
  const stopped = await acs(
    'stop the local service and every process that it started',
    'serve',
    '--stop',
  );
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  if (interruptedBy) return EXIT_CODES[interruptedBy];
  if (code === 0 && stopped === 0)
    say('\nEnd of the demo. To install acs: npm install --global "./$(npm pack --silent)"');
  return code || stopped;
}

/** One conversation from its start to its diff. The first step that fails ends it. */
async function demo() {
  const repository = repositoryOnABranch();
  const steps = [
    [
      'start a conversation on this checkout: a recorded run, whose commands are executed',
      ...[
        'conv',
        'new',
        '--repo',
        repository,
        '--replay',
        'examples/count-lines.v0.json',
        '--follow',
      ],
    ],
    ['print the answer of the agent', 'conv', 'result', '@last'],
    ['print the changes in its copy of the repository', 'conv', 'diff', '@last'],
    ['list all conversations of this server', 'conv', 'list'],
  ];
  for (const [about, ...args] of steps) {
    const code = await acs(about, ...args);
    if (code !== 0 || interruptedBy) return code;
  }
  return 0;
}

/** This checkout; with a detached HEAD, as on many CI runners, a copy that has a branch. */
function repositoryOnABranch() {
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
  if (git('rev-parse', '--abbrev-ref', 'HEAD').trim() !== 'HEAD') return '.';
  const copy = path.join(folder, 'checkout');
  git('clone', '--quiet', '.', copy);
  git('-C', copy, 'switch', '--quiet', '--create', 'demo');
  return copy;
}

function end(code) {
  rmSync(folder, { recursive: true, force: true });
  return interruptedBy ? EXIT_CODES[interruptedBy] : code;
}

async function acs(about, ...args) {
  say(`\n# ${about}\n$ acs ${args.join(' ')}`);
  const code = await run(process.execPath, [path.join(root, 'bin', 'acs.cjs'), ...args]);
  // Off a terminal an answer is printed byte for byte, without a line end.
  if (args[1] === 'result' && !process.stdout.isTTY) process.stdout.write('\n');
  return code;
}

/** Runs a program on this terminal. Resolves to its exit code, as a shell would give it. */
function run(file, args) {
  return new Promise((resolve, reject) => {
    running = spawn(file, args, { cwd: root, env, stdio: 'inherit' });
    running.once('error', reject);
    running.once('close', (code, signal) =>
      resolve(code ?? 128 + (os.constants.signals[signal] ?? 0)),
    );
  });
}

/** The environment without servers and keys: the demo must not reach a real server. */
function withoutOwnVariables(variables) {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => !/^(ACS|OPENHANDS)_/.test(name)),
  );
}

function say(text) {
  process.stderr.write(`${text}\n`);
}
