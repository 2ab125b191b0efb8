/**
 * Environments with one release of the genuine server each, made once and kept outside the
 * repository. What belongs in this folder: everything that makes genuine servers run on loopback
 * for the contract suite, and nothing that depends on acs.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, open, readFile, rm, stat, statfs, unlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/**
 * The server releases of the suite: the newest, the newest that serves V0 as well, and an older one
 * of both.
 */
export const RELEASES = ['1.11.0', '1.6.0', '1.4.0'];
/** Agent servers that stand alone, as Agent Canvas starts them, and its automation service. */
export const BACKENDS = ['agent-1.49.1'];
export const AUTOMATION = 'automation-1.13.1';
/**
 * The releases of tools that take the OpenAPI documents of the local service: generators of
 * clients, and a tester.
 */
export const TOOLS = [
  'openapi-typescript-7.13.0',
  'openapi-python-client-0.29.1',
  'schemathesis-4.32.5',
];
/**
 * The releases of other makers' clients that use the local service: of openhands-sdk with its cloud
 * workspace, of the `openhands` CLI, and from npm; and the tools.
 */
export const CLIENTS = [
  'sdk-1.11.5',
  'sdk-1.58.0',
  'cli-1.16.0',
  'typescript-client-1.39.0',
  ...TOOLS,
];

const PINS = path.join(import.meta.dirname, 'pins');
const BYTES_FOR_ONE = 2.5 * 1024 ** 3;
/** For a slow machine or a slow network; a step takes one or two minutes elsewhere. */
const STEP_TIMEOUT_MS = 20 * 60_000;
const LOCK_TIMEOUT_MS = 40 * 60_000;
/** A lock without a process id after so long was left by a process that was killed in between. */
const NAMELESS_LOCK_MS = 10_000;
/** Waits while another process installs something. */
const APT = ['apt-get', '-q', '-o', 'DPkg::Lock::Timeout=300'];
const SYSTEM_PACKAGES = {
  chromium: ['chromium', 'chromium-browser', 'google-chrome'],
  tmux: ['tmux'],
};

/** Why no environment could be made, in one line for the person who has to change it. */
export class SetUpError extends Error {}

/** Where environments are kept: `ACS_GENUINE_CACHE`, else below the user's own cache. */
export function cacheFolder(env = process.env) {
  return path.resolve(env.ACS_GENUINE_CACHE || path.join(homedir(), '.cache', 'acs-genuine'));
}

/**
 * An environment that holds this release of RELEASES, BACKENDS, CLIENTS or AUTOMATION, made now when it is not there or
 * was made from other pins: the path of its Python, or of its node_modules for a client from npm.
 * Throws SetUpError. `say` gets a line for each step that takes long.
 */
export async function setUp(release, say) {
  if ([...RELEASES, ...BACKENDS].includes(release)) await needSystemPackages(say);
  const cache = cacheFolder();
  await mkdir(cache, { recursive: true });
  const kind = existsSync(path.join(PINS, release)) ? fromNpm(release) : fromPython(release, cache);
  const digest = createHash('sha256')
    .update(await readFile(kind.pins))
    .digest('hex')
    .slice(0, 12);
  const folder = path.join(cache, `${release}-${digest}`);
  const entry = path.join(folder, kind.entry);
  const done = path.join(folder, 'complete');
  const unlock = await lock(path.join(cache, 'lock'));
  try {
    if (existsSync(done) && (await kind.works(entry))) return entry;
    // A connection that broke off is worth a second try; anything else fails the same way again.
    await kind.make(folder, say).catch(async (error) => {
      say(`${release}: ${error.message}; once more`);
      await kind.make(folder, say);
    });
    await writeFile(done, '');
    return entry;
  } finally {
    await unlock();
  }
}

function fromPython(release, cache) {
  const pins = path.join(
    PINS,
    TOOLS.includes(release) ? `${release}.txt` : `openhands-${release}.txt`,
  );
  return {
    pins,
    entry: path.join('bin', 'python'),
    // One whose base was removed or replaced since is there, and does not work.
    works: async (python) => (await pythonAt(python)) !== null,
    async make(folder, say) {
      await needSpace(cache);
      const base = (await findPython()) ?? (await installPython(say));
      await makeEnvironment({ uv: await findUv(cache, base, say), base, folder, pins, say });
    },
  };
}

function fromNpm(release) {
  const pins = path.join(PINS, release, 'package-lock.json');
  return {
    pins,
    entry: 'node_modules',
    works: async (modules) => existsSync(modules),
    async make(folder, say) {
      say(`making ${folder}`);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      await cp(path.dirname(pins), folder, { recursive: true });
      const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'];
      await run('npm', args, 'the packages could not be installed');
    },
  };
}

async function makeEnvironment({ uv, base, folder, pins, say }) {
  say(`making ${folder}`);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  await run(uv, ['venv', '-q', '--python', base, folder], 'the environment could not be made');
  const python = path.join(folder, 'bin', 'python');
  // Compiled now: an agent server must be up within 30 s of its first start.
  const install = [
    'pip',
    'install',
    '-q',
    '--no-deps',
    '--compile-bytecode',
    '--python',
    python,
    '-r',
    pins,
  ];
  const index = await packageIndex(base);
  const env = index === null ? process.env : { ...process.env, UV_DEFAULT_INDEX: index };
  await run(uv, install, 'the packages could not be installed', env);
}

/**
 * The package index that pip is configured for; uv reads only its own settings. Null: none, or uv
 * has one.
 */
async function packageIndex(python) {
  const { UV_DEFAULT_INDEX, UV_INDEX_URL, PIP_INDEX_URL } = process.env;
  if (UV_DEFAULT_INDEX || UV_INDEX_URL) return null;
  if (PIP_INDEX_URL) return PIP_INDEX_URL;
  const asked = promisify(execFile)(python, ['-m', 'pip', 'config', 'get', 'global.index-url'], {
    timeout: 20_000,
  });
  return await asked.then(
    ({ stdout }) => stdout.trim() || null,
    () => null,
  );
}

/** The agent server looks for a browser and for tmux before it runs an agent. */
async function needSystemPackages(say) {
  const missing = Object.entries(SYSTEM_PACKAGES)
    .filter(([, programs]) => !programs.some(onPath))
    .map(([name]) => name);
  if (missing.length === 0) return;
  const list = missing.join(' and ');
  if (!onPath('apt-get'))
    throw new SetUpError(`${list} must be installed, and there is no apt-get to do it`);
  const complaint =
    `${list} could not be installed (as root: apt-get install ` + `${missing.join(' ')})`;
  await installWithApt(missing, complaint, say);
}

async function installWithApt(packages, complaint, say) {
  const root = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  say(`installing ${packages.join(' and ')}`);
  const apt = async (...words) => {
    const [program, ...args] = [...root, 'env', 'DEBIAN_FRONTEND=noninteractive', ...APT, ...words];
    await run(program, args, complaint);
  };
  const install = () => apt('install', '-y', '--no-install-recommends', ...packages);
  await install().catch(async () => {
    await apt('update');
    await install();
  });
}

function onPath(program) {
  return (process.env.PATH ?? '')
    .split(path.delimiter)
    .some((dir) => dir !== '' && existsSync(path.join(dir, program)));
}

async function needSpace(cache) {
  const { bavail, bsize } = await statfs(cache);
  if (bavail * bsize >= BYTES_FOR_ONE) return;
  const free = (bavail * bsize) / 1024 ** 3;
  throw new SetUpError(
    `${cache} has ${free.toFixed(1)} GB free, an environment needs 2.5 ` +
      `(ACS_GENUINE_CACHE moves it)`,
  );
}

async function findPython() {
  const pyenv = process.env.PYENV_ROOT ?? path.join(homedir(), '.pyenv');
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    `ls -d "${pyenv}"/versions/3.1[23].*/bin/python || true`,
  ]);
  const names = [process.env.PYTHON, 'python3.12', 'python3.13', 'python3', ...stdout.split('\n')];
  for (const name of names.filter(Boolean)) {
    const found = await pythonAt(name);
    if (found !== null) return found;
  }
  return null;
}

/** Where the system has one of them as a package. */
async function installPython(say) {
  const complaint = 'no Python 3.12 or 3.13 was found; PYTHON=<path> names one';
  if (!onPath('apt-get')) throw new SetUpError(complaint);
  for (const name of ['python3.13', 'python3.12']) {
    try {
      await installWithApt([name, `${name}-venv`], complaint, say);
    } catch {
      continue;
    }
    const found = await pythonAt(name);
    if (found !== null) return found;
  }
  throw new SetUpError(complaint);
}

async function pythonAt(name) {
  const code =
    'import sys; print(sys.executable); sys.exit(not (3, 12) <= sys.version_info < (3, 14))';
  try {
    return (await promisify(execFile)(name, ['-c', code], { timeout: 20_000 })).stdout.trim();
  } catch {
    return null;
  }
}

/**
 * uv installs in a minute what takes pip many; one that is not there comes into a folder of the
 * cache.
 */
async function findUv(cache, python, say) {
  const installed = await promisify(execFile)('uv', ['--version'], { timeout: 20_000 }).then(
    () => true,
    () => false,
  );
  if (installed) return 'uv';
  const folder = path.join(cache, 'uv');
  const uv = path.join(folder, 'bin', 'uv');
  if (existsSync(uv)) return uv;
  say('installing uv');
  const complaint = 'Python cannot make environments (on Debian: apt-get install python3-venv)';
  await run(python, ['-m', 'venv', folder], complaint).catch(async (error) => {
    if (!onPath('apt-get')) throw error;
    await installWithApt(['python3-venv'], complaint, say);
    await run(python, ['-m', 'venv', '--clear', folder], complaint);
  });
  await run(
    path.join(folder, 'bin', 'python'),
    ['-m', 'pip', 'install', '-q', 'uv'],
    'uv could not be installed',
  );
  return uv;
}

/** Two runs at once share the cache: one makes what the other waits for. */
async function lock(file) {
  const end = Date.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    try {
      const handle = await open(file, 'wx');
      await handle.writeFile(`${process.pid} ${await startOf(process.pid)}`);
      await handle.close();
      return () => unlink(file);
    } catch (error) {
      if (error.code !== 'EEXIST')
        throw new SetUpError(`${file} cannot be written: ${error.message}`);
    }
    const [owner = '', start = ''] = (await readFile(file, 'utf8').catch(() => '')).split(' ');
    const isLeft = owner === '' ? await isOld(file) : !(await holds(Number(owner), start));
    if (isLeft) await unlink(file).catch(() => {});
    else if (Date.now() > end) throw new SetUpError(`process ${owner} holds ${file}`);
    else await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/**
 * A number alone may be that of another process by now: the cache outlives machines and containers.
 */
async function holds(pid, start) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  return start === '' || start === (await startOf(pid));
}

/**
 * When the process began, in ticks since the machine did; empty where the system does not report
 * it.
 */
async function startOf(pid) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

async function isOld(file) {
  const written = await stat(file).catch(() => null);
  return written !== null && Date.now() - written.mtimeMs > NAMELESS_LOCK_MS;
}

/**
 * Runs one program to its end; throws SetUpError with `complaint` and the last line of its output.
 */
function run(program, args, complaint, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: STEP_TIMEOUT_MS,
    });
    let said = '';
    const keep = (chunk) => (said = (said + chunk).slice(-4000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => reject(new SetUpError(`${complaint}: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0) return resolve();
      const lines = said.split('\n').filter((line) => line.trim() !== '');
      reject(
        new SetUpError(
          `${complaint}: ${lines.slice(-3).join(' / ') || `status ${code ?? signal}`}`,
        ),
      );
    });
  });
}
