/** What a sandbox has of the user: programs with what these need, and variables of the network. */
import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { redactPatterns } from '../../base/text/redact.ts';
import { isSecretName } from '../../base/text/secret-names.ts';
import { entriesOf, realPath } from '../base/files.ts';
import { isOfSystem, isWithin, type UserTools } from './bubblewrap.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variable that names the folder of a tool manager, else its folders below the home; what of it
 * is mounted; whether the variable is set inside, where the home is another one.
 */
const MANAGERS: readonly [string, folders: string[], parts: string[], isSet: boolean][] = [
  ['ASDF_DATA_DIR', ['.asdf'], ['.'], true],
  ['BUN_INSTALL', ['.bun'], ['bin', 'install/global'], false],
  ['CARGO_HOME', ['.cargo'], ['bin'], false],
  ['DENO_INSTALL', ['.deno'], ['bin'], false],
  ['FNM_DIR', ['.local/share/fnm', '.fnm'], ['.'], true],
  ['GOPATH', ['go'], ['bin'], false],
  ['GOROOT', [], ['.'], true],
  ['HOMEBREW_PREFIX', ['/home/linuxbrew/.linuxbrew', '.linuxbrew'], ['.'], true],
  ['JAVA_HOME', [], ['.'], true],
  ['MISE_DATA_DIR', ['.local/share/mise'], ['installs', 'shims'], true],
  ['NVM_DIR', ['.nvm', '.config/nvm'], ['.'], true],
  ['PIPX_HOME', ['.local/share/pipx', '.local/pipx'], ['venvs', 'shared'], false],
  ['PNPM_HOME', ['.local/share/pnpm'], ['bin', 'global'], false],
  ['PYENV_ROOT', ['.pyenv'], ['.'], true],
  ['RBENV_ROOT', ['.rbenv'], ['.'], true],
  ['RUSTUP_HOME', ['.rustup'], ['settings.toml', 'toolchains', 'update-hashes'], true],
  ['SDKMAN_DIR', ['.sdkman'], ['bin', 'candidates', 'src'], true],
  ['UV_PYTHON_INSTALL_DIR', ['.local/share/uv/python'], ['.'], true],
  ['UV_TOOL_DIR', ['.local/share/uv/tools'], ['.'], false],
  ['VOLTA_HOME', ['.volta'], ['bin', 'tools'], true],
];

/** Beside the programs of an installation of Go, Node.js, Java or Conda, or a virtual one. */
const INSTALLED = ['pkg/tool', 'lib/node_modules/npm', 'lib/modules', 'conda-meta', 'pyvenv.cfg'];

/** Below a home. Neither they nor a folder that contains one is mounted. */
const PRIVATE = [
  '.aws',
  '.azure',
  '.config',
  '.docker',
  '.gnupg',
  '.kube',
  '.local/share/keyrings',
  '.password-store',
  '.ssh',
];
const PROGRAMS_IN_PRIVATE = ['.config/nvm', '.config/composer/vendor', '.config/yarn/global'];
/** Top folders, homes, and what the sandbox has of its own. */
const NEVER = /^\/(?:(?:boot|dev|etc|proc|run|sys|workspace)\/.*|home\/[^/]*|[^/]*)$/s;

/** Such a file or folder is empty inside when it is found in a mounted folder. */
const SECRET = new RegExp(
  '/(?:\\.(?:aws|azure|condarc|config|docker|env(?:\\.[^/]*)?|git|git-credentials|gnupg|kube' +
    '|linuxbrew/var|netrc|npmrc|pgpass|pypirc|ssh|yarnrc|yarnrc\\.yml)|_netrc|auth\\.json' +
    '|\\.?credentials(?:\\.json|\\.toml)?|etc/npmrc|hosts\\.yml|pip\\.conf)$',
);
const SEARCHED_OF_SYSTEM = '/opt';
const SEARCHED_LEVELS = 5;
/** On the last level: settings of a Node.js of nvm, and of a virtual environment of pyenv. */
const SEARCHED_LAST = /\/(?:etc|envs\/[^/]+)$/;
/** Below one root. */
const MOST_NAMES = 20_000;
const MOST_FOLDERS = 200;
/** With more, links add none: a thousand take seconds, and bubblewrap takes less than 3000. */
const MOST_MOUNTS = 400;

const CERTIFICATES = new RegExp(
  '^(?:SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|(?:CURL|REQUESTS)_CA_BUNDLE|GIT_SSL_CAINFO|PIP_CERT' +
    '|DENO_CERT|CARGO_HTTP_CAINFO|NPM_CONFIG_CAFILE)$',
  'i',
);
const OF_NETWORK = new RegExp(
  '^(?:(?:https?|ftp|all|no)_proxy|SSL_CERT_DIR' +
    '|GO(?:INSECURE|NOPROXY|NOSUMDB|PRIVATE|PROXY|SUMDB)' +
    '|RUSTUP_(?:DIST_SERVER|UPDATE_ROOT)|(?:CARGO_HTTP|CARGO_NET|CARGO_REGISTR(?:Y|IES)' +
    '|NPM_CONFIG|PIP|UV|YARN)_.*)$',
  'is',
);
/** They name folders and files of this machine. */
const OF_MACHINE = /cache|config$|prefix|store|(?<!cert)_dir$/i;
const OF_ACCOUNT = /auth_?ident|credential|otp$|username$/i;
const LARGEST_CERTIFICATES = 4 * 1024 * 1024;

/** As it is now: a file may be moved, and a secret written, between two starts of a sandbox. */
export function userTools(env: Environment, hidden: string[], home: string): UserTools {
  const tools = shownTools(env, hidden, home);
  return { ...tools, covered: coveredIn(tools.mounts) };
}

/** `hidden`: the home and the data directory. */
export function shownTools(
  env: Environment,
  hidden: string[],
  home: string,
): Omit<UserTools, 'covered'> {
  const shown = new ShownFolders(hidden, home);
  const ofManagers = managerVariables(env, shown, home);
  const programs = searchPath(env, shown);
  const ofNetwork = networkVariables(env, (file) => shown.has(file));
  for (const name of Object.keys(ofNetwork.variables).filter((each) => CERTIFICATES.test(each)))
    shown.mountFile(path.resolve(env[name] ?? ''));
  return {
    mounts: shown.mounts,
    path: programs.path,
    variables: { ...ofManagers, ...ofNetwork.variables },
    leftOut: [...programs.leftOut, ...ofNetwork.leftOut],
  };
}

/** Those of the environment, where files named by them can be read as well. */
export function plainVariables(env: Environment): Record<string, string | undefined> {
  const names = MANAGERS.map(([name]) => name).filter((name) => env[name] !== undefined);
  const ofManagers = Object.fromEntries(names.map((name) => [name, env[name]]));
  return { ...ofManagers, ...networkVariables(env, () => true).variables };
}

class ShownFolders {
  readonly mounts: UserTools['mounts'] = [];
  readonly #hidden: string[];
  readonly #closed: string[];
  readonly #open: string[];

  constructor(hidden: string[], home: string) {
    const homes = [home, ...homeOfUser()].flatMap((each) => [each, realPath(each) ?? each]);
    const below = (names: string[]): string[] =>
      homes.flatMap((each) => names.map((name) => path.join(each, name)));
    this.#hidden = hidden;
    this.#closed = [...below(PRIVATE), ...hidden.filter((folder) => !homes.includes(folder))];
    this.#open = below(PROGRAMS_IN_PRIVATE);
  }

  has(file: string): boolean {
    return (
      isOfSystem(file, this.#hidden) || this.mounts.some(({ target }) => isWithin(file, target))
    );
  }

  /** At its real path, for the links in it, and at this one, which scripts name. */
  mount(given: string): boolean {
    const source = realPath(given);
    if (source === null || (this.#isRefused(source) && !this.has(source))) return false;
    for (const target of [source, given]) if (!NEVER.test(target)) this.#add(source, target);
    return true;
  }

  mountFile(given: string): void {
    this.#add(given, given);
  }

  #add(source: string, target: string): void {
    if (!this.has(target)) this.mounts.push({ source, target });
  }

  #isRefused(folder: string): boolean {
    const isOpen = this.#open.some((open) => isWithin(folder, open));
    const isPrivate = this.#closed.some(
      (closed) => isWithin(folder, closed) || isWithin(closed, folder),
    );
    return NEVER.test(folder) || (isPrivate && !isOpen);
  }
}

function managerVariables(
  env: Environment,
  shown: ShownFolders,
  home: string,
): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [variable, folders, parts, isSet] of MANAGERS) {
    const named = (env[variable] ?? '').split(path.delimiter).filter(path.isAbsolute);
    const root = (named.length > 0 ? named : folders)
      .map((folder) => path.resolve(home, folder))
      .find((folder) => realPath(folder) !== null);
    if (root === undefined) continue;
    const mounted = parts.filter((part) => shown.mount(path.join(root, part)));
    if (isSet && mounted.length > 0) variables[variable] = root;
  }
  return variables;
}

/** In the order of the user. A missing folder, a file and a relative path are no part of it. */
function searchPath(env: Environment, shown: ShownFolders): Pick<UserTools, 'path' | 'leftOut'> {
  const leftOut: string[] = [];
  const given = (env['PATH'] ?? '').split(path.delimiter).filter(path.isAbsolute);
  const folders = [...new Set(given.map((folder) => path.resolve(folder)))].filter(isFolder);
  const inside = folders.flatMap((folder, index) => {
    if (index < MOST_FOLDERS && mountPrograms(folder, shown)) {
      if (!mountLinked(folder, shown))
        leftOut.push(`programs that links in ${JSON.stringify(folder)} lead to (too many)`);
      return [shown.has(folder) ? folder : (realPath(folder) ?? folder)];
    }
    const why = index < MOST_FOLDERS ? 'it is private' : 'PATH has too many folders';
    leftOut.push(`${JSON.stringify(folder)} of PATH (${why})`);
    return [];
  });
  return { path: inside, leftOut };
}

function mountPrograms(folder: string, shown: ShownFolders): boolean {
  const installation = installationAround(realPath(folder) ?? folder);
  if (!shown.has(folder) && installation !== null) shown.mount(installation);
  return shown.mount(folder);
}

function installationAround(folder: string): string | null {
  const installation = path.dirname(folder);
  return INSTALLED.some((name) => existsSync(path.join(installation, name))) ? installation : null;
}

/**
 * What the links among the programs of a folder lead to: global packages of npm, for example.
 * False: some are left out.
 */
function mountLinked(folder: string, shown: ShownFolders): boolean {
  for (const entry of entriesOf(folder).filter((each) => each.isSymbolicLink())) {
    const link = path.join(folder, entry.name);
    const file = realPath(link);
    if (file === null || shown.has(file) || !isProgram(file)) continue;
    if (shown.mounts.length >= MOST_MOUNTS) return false;
    const [packages] = /^.*?\/node_modules(?=\/)/s.exec(file) ?? [];
    shown.mount(packages ?? installationAround(path.dirname(file)) ?? file);
    shown.mount(path.resolve(folder, readlinkSync(link)));
  }
  return true;
}

export function networkVariables(
  env: Environment,
  isShown: (file: string) => boolean,
): Pick<UserTools, 'variables' | 'leftOut'> {
  const variables: Record<string, string> = {};
  const leftOut: string[] = [];
  for (const [name, value = ''] of Object.entries(env)) {
    const isFile = CERTIFICATES.test(name);
    if (value === '' || !(isFile || (OF_NETWORK.test(name) && !OF_MACHINE.test(name)))) continue;
    const isPath = isFile || path.isAbsolute(value);
    const isThere = !isPath || value.split(':').every(isShown);
    if (holdsCredentials(name, value)) leftOut.push(`${name} (it has credentials)`);
    else if (isThere || (isFile && hasCertificates(value))) variables[name] = value;
    else if (isFile) leftOut.push(`${name} (its file does not have certificates alone)`);
  }
  return { variables, leftOut };
}

function holdsCredentials(name: string, value: string): boolean {
  return (
    isSecretName(name, 'variable') ||
    OF_ACCOUNT.test(name) ||
    /(?:\/\/|:).*@/s.test(value) ||
    redactPatterns(value) !== value
  );
}

/** A file of a client has its private key too. */
function hasCertificates(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || stats.size > LARGEST_CERTIFICATES) return false;
  const text = readFileSync(file, 'latin1');
  return text.includes('-----BEGIN CERTIFICATE') && !text.includes('PRIVATE KEY-----');
}

function coveredIn(mounts: UserTools['mounts']): UserTools['covered'] {
  const roots = [...new Set([...mounts.map(({ source }) => source), SEARCHED_OF_SYSTEM])];
  const secrets = roots
    .flatMap(secretsBelow)
    .filter((secret) => roots.some((root) => isWithin(secret, root)));
  const covered = secrets.flatMap((secret) => [
    ...(isWithin(secret, SEARCHED_OF_SYSTEM) ? [secret] : []),
    ...mounts
      .filter(({ source }) => isWithin(secret, source))
      .map(({ source, target }) => target + secret.slice(source.length)),
  ]);
  return [...new Set(covered)].map((file) => ({ path: file, isFolder: isFolder(file) }));
}

/** By their real paths, the nearest to the root first. */
function secretsBelow(root: string): string[] {
  const found: string[] = [];
  let names = 0;
  for (let level = 1, folders = [root]; level <= SEARCHED_LEVELS; level++) {
    const entries = folders.flatMap((folder) => {
      const inside = names < MOST_NAMES ? entriesOf(folder) : [];
      names += inside.length;
      return inside.map((entry) => ({ entry, file: path.join(folder, entry.name) }));
    });
    const secrets = entries.filter(({ file }) => SECRET.test(file));
    // Nothing can be mounted over a link that leads nowhere.
    found.push(...secrets.flatMap(({ file }) => realPath(file) ?? []));
    folders = entries
      .filter(({ entry, file }) => entry.isDirectory() && !SECRET.test(file))
      .map(({ file }) => file)
      .filter((folder) => level < SEARCHED_LEVELS - 1 || SEARCHED_LAST.test(folder));
  }
  return found;
}

function isProgram(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() === true && (stats.mode & 0o111) !== 0;
}

function isFolder(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** That of the system, where HOME names another one. */
function homeOfUser(): string[] {
  try {
    return [userInfo().homedir];
  } catch {
    return [];
  }
}
