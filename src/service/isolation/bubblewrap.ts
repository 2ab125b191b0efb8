/** A read-only root with the system's programs, and nothing of the user but the workspace. */
import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { basesOf, type Mount, WORKSPACE_INSIDE } from '../base/worker-protocol.ts';

/** Where the built `inside.js` and the node binary are seen inside. */
const OWN_FOLDER = '/run/acs';
export const HOME_INSIDE = '/home/agent';
/** For files of the worker. Commands empty /tmp and homes. */
export const SCRATCH_INSIDE = `${OWN_FOLDER}/scratch`;
/** The cache folder of XDG: pip, uv, Yarn 1, Deno and the builds of Go use it as it is. */
export const CACHE_INSIDE = `${HOME_INSIDE}/.cache`;
export const BASES_INSIDE = `${OWN_FOLDER}/bases`;

const SYSTEM_FOLDERS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt',
  '/nix/store',
  '/gnu',
];

/** What programs need of /etc: libraries, names, certificates, time. No password, no host key. */
const SYSTEM_SETTINGS = [
  'alternatives',
  'bash.bashrc',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'fonts',
  'group',
  'host.conf',
  'hosts',
  'java',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'locale.conf',
  'localtime',
  'login.defs',
  'magic',
  'mime.types',
  'nsswitch.conf',
  'os-release',
  'passwd',
  'pki/ca-trust',
  'pki/java',
  'pki/tls/cert.pem',
  'pki/tls/certs',
  'pki/tls/openssl.cnf',
  'profile',
  'profile.d',
  'protocols',
  'python3',
  'services',
  // The folder around them has private keys.
  'ssl/ca-bundle.pem',
  'ssl/cert.pem',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
];

const SYSTEM_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Caches that are elsewhere by default, in folders of `CACHE_INSIDE`. */
const CACHES = {
  BUN_INSTALL_CACHE_DIR: 'bun',
  CARGO_HOME: 'cargo',
  GOMODCACHE: 'go-mod',
  GRADLE_USER_HOME: 'gradle',
  NUGET_PACKAGES: 'nuget',
  YARN_GLOBAL_FOLDER: 'yarn-berry',
  npm_config_cache: 'npm',
  pnpm_config_store_dir: 'pnpm',
};

/** Else they try again to reach a registry, npm for more than a minute, before they fail. */
const OFFLINE = {
  CARGO_NET_OFFLINE: 'true',
  UV_OFFLINE: '1',
  npm_config_offline: 'true',
  pnpm_config_offline: 'true',
};

const TEMPORARY = [
  ['/home', 1 / 2],
  ['/tmp', 1 / 4],
  ['/var/tmp', 1 / 8],
  ['/dev/shm', 1 / 16],
  [SCRATCH_INSIDE, 1 / 16],
] as const;
const EMPTY_BYTES = 64 * 1024;

/** What a sandbox has of the programs of the user (tools.ts). */
export interface UserTools {
  mounts: { source: string; target: string }[];
  /** Paths inside that are made empty. */
  covered: { path: string; isFolder: boolean }[];
  path: string[];
  variables: Record<string, string>;
  /** What it lacks of the environment, and why; no value of a variable. */
  leftOut: string[];
}

/** The user's home and the data directory, which exists. */
export function hiddenFolders(dataDir: string, home: string): string[] {
  const realHome = existsSync(home) ? realpathSync(home) : home;
  return [...new Set([home, realHome, realpathSync(dataDir)])];
}

export function bubblewrapPlan(plan: {
  workspaceDir: string;
  mounts: Mount[];
  dist: string;
  node: string;
  tools: UserTools;
  offline: boolean;
  hidden: string[];
  /** Bytes of all temporary folders; null: the kernel's default for each, half of the memory. */
  temporary: number | null;
}): { options: string[]; program: string[] } {
  const node = nodeMount(plan.node, plan.hidden, plan.tools);
  const links = plan.mounts.filter(
    ({ mode, target }) =>
      mode === 'link' && !plan.tools.mounts.some((tool) => isBelow(target, tool.target)),
  );
  const options = [
    ...ownNamespaces(),
    ...(plan.offline ? ['--unshare-net'] : []),
    ...['--hostname', 'sandbox', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...SYSTEM_FOLDERS.flatMap(systemFolder),
    ...plan.hidden
      .filter((folder) => isInSystemFolder(folder) && existsSync(folder))
      .flatMap((folder) => tmpfs(folder, plan.temporary === null ? null : EMPTY_BYTES)),
    // Root can write kernel settings, one of which names a program that runs outside.
    ...['--proc', '/proc'],
    ...(process.getuid?.() === 0 ? ['--ro-bind-try', '/proc/sys', '/proc/sys'] : []),
    ...['--dev', '/dev'],
    ...TEMPORARY.flatMap(([folder, part]) =>
      tmpfs(folder, plan.temporary && Math.floor(plan.temporary * part)),
    ),
    ...['--remount-ro', '/dev', '--dir', HOME_INSIDE, '--dir', '/run', '--dir', '/etc'],
    ...SYSTEM_SETTINGS.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...nameResolution(),
    ...toolMounts(plan.tools, links, `${plan.dist}/empty`),
    ...['--ro-bind-try', basesOf(plan.workspaceDir), BASES_INSIDE],
    ...['--ro-bind', plan.dist, `${OWN_FOLDER}/dist`, ...node.mounts],
    ...['--dir', '/workspace', '--bind', plan.workspaceDir, WORKSPACE_INSIDE],
    ...links.flatMap(({ source, target }) => ['--symlink', source, target]),
    ...mountOptions(plan.workspaceDir, plan.mounts, links),
    ...['--chdir', WORKSPACE_INSIDE],
    ...['--remount-ro', '/'],
  ];
  return { options, program: [node.binary, `${OWN_FOLDER}/dist/inside.js`] };
}

/** Below a link they would be of the checkout, in the place of what the clone has. */
function toolMounts({ mounts, covered }: UserTools, links: Mount[], empty: string): string[] {
  const isFree = (file: string): boolean => !links.some(({ target }) => isWithin(file, target));
  const cover = (file: string, isFolder: boolean): string[] =>
    isFolder ? [...tmpfs(file, EMPTY_BYTES), '--remount-ro', file] : ['--ro-bind', empty, file];
  return [
    ...mounts
      .filter(({ target }) => isFree(target))
      .flatMap(({ source, target }) => ['--ro-bind', source, target]),
    ...covered
      .filter(({ path: file }) => isFree(file))
      .flatMap(({ path: file, isFolder }) => cover(file, isFolder)),
  ];
}

/**
 * An agent can write below a writable mount. A link that it made there would lead a later mount, as
 * its source or its target, to another folder of the machine: such a mount is left out.
 */
function mountOptions(workspaceDir: string, mounts: Mount[], links: Mount[]): string[] {
  const workspace = { source: workspaceDir, target: WORKSPACE_INSIDE, mode: 'writable' } as const;
  const writable: Mount[] = [workspace];
  const options: string[] = [];
  for (const mount of mounts.filter(({ mode }) => mode !== 'link')) {
    const { source, target, mode } = mount;
    if (links.some((link) => isWithin(target, link.target))) continue;
    const leadsAway = writable.some(
      (outer) =>
        hasLink(source, outer.source, outer.source) || hasLink(target, outer.target, outer.source),
    );
    if (leadsAway || !existsSync(source)) continue;
    if (mode === 'writable') writable.push(mount);
    options.push(mode === 'writable' ? '--bind' : '--ro-bind', source, target);
  }
  return options;
}

/** `file` is below `root`, whose files are in `folder`, and a part of its path is a link there. */
function hasLink(file: string, root: string, folder: string): boolean {
  if (!isBelow(file, root)) return false;
  const stats = lstatSync(folder + file.slice(root.length), { throwIfNoEntry: false });
  return stats?.isSymbolicLink() === true || hasLink(path.dirname(file), root, folder);
}

function tmpfs(folder: string, bytes: number | null): string[] {
  return [...(bytes === null ? [] : ['--size', String(bytes)]), '--tmpfs', folder];
}

export function bubblewrapEnvironment(
  node: string,
  hidden: string[],
  tools: UserTools,
  isOffline: boolean,
): Record<string, string> {
  const programs = [...tools.path, ...nodeMount(node, hidden, tools).path, ...SYSTEM_PATH];
  return {
    ...tools.variables,
    ...(isOffline && OFFLINE),
    ...Object.fromEntries(
      Object.entries(CACHES).map(([name, folder]) => [name, `${CACHE_INSIDE}/${folder}`]),
    ),
    MAVEN_OPTS: `-Dmaven.repo.local=${CACHE_INSIDE}/maven`,
    // A cache and the workspace are different mounts, between which nothing can be linked.
    UV_LINK_MODE: 'copy',
    HOME: HOME_INSIDE,
    LANG: 'C.UTF-8',
    PATH: [...new Set(programs)].join(':'),
    SHELL: '/bin/sh',
    TMPDIR: '/tmp',
    USER: 'agent',
  };
}

export function bubblewrapTrial(): string[] {
  return [
    ...ownNamespaces(),
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--ro-bind', '/', '/'],
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', 'true'],
  ];
}

/** The user inside is the one outside; around bubblewrap it is root (namespace-limit.ts). */
function ownNamespaces(): string[] {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return [
    ...['--unshare-user', '--uid', String(uid), '--gid', String(gid)],
    ...['--unshare-ipc', '--unshare-pid', '--unshare-uts'],
  ];
}

/** A link such as /bin -> usr/bin is made again as a link: programs compare paths. */
function systemFolder(folder: string): string[] {
  try {
    if (lstatSync(folder).isSymbolicLink()) return ['--symlink', readlinkSync(folder), folder];
    return ['--ro-bind', folder, folder];
  } catch {
    return [];
  }
}

function isInSystemFolder(file: string): boolean {
  return SYSTEM_FOLDERS.some((folder) => isBelow(file, folder));
}

/** Inside without a mount of its own. */
export function isOfSystem(file: string, hidden: string[]): boolean {
  const shown = [...SYSTEM_FOLDERS, ...SYSTEM_SETTINGS.map((name) => `/etc/${name}`)];
  return (
    shown.some((folder) => isWithin(file, folder)) &&
    !hidden.some((folder) => isInSystemFolder(folder) && isWithin(file, folder))
  );
}

export function isWithin(file: string, folder: string): boolean {
  return file === folder || isBelow(file, folder);
}

/** Whether nothing of the system or of a sandbox is at or around this path, or below it. */
export function isFree(target: string): boolean {
  const around = [...SYSTEM_FOLDERS, '/dev', '/etc', '/proc', '/run', '/sys', WORKSPACE_INSIDE];
  const below = [...around, HOME_INSIDE, ...TEMPORARY.map(([folder]) => folder)];
  const isAround = around.some((folder) => isBelow(target, folder));
  return !isAround && !below.some((folder) => `${folder}/`.startsWith(path.join(target, '/')));
}

function isBelow(file: string, folder: string): boolean {
  return file.startsWith(folder === '/' ? folder : `${folder}/`);
}

/** resolv.conf often is a link into /run, which is not there inside. */
function nameResolution(): string[] {
  try {
    return ['--ro-bind-try', realpathSync('/etc/resolv.conf'), '/etc/resolv.conf'];
  } catch {
    return [];
  }
}

// Outside of system folders only node and the programs of its packages are shown: an installation
// may be below ~/.local, which has data of the user.
function nodeMount(
  node: string,
  hidden: string[],
  tools: UserTools,
): { binary: string; mounts: string[]; path: string[] } {
  const binary = realpathSync(node);
  const folder = path.dirname(binary);
  const ofTools = tools.mounts.some(({ target }) => isWithin(binary, target));
  if (ofTools || isOfSystem(binary, hidden)) return { binary, mounts: [], path: [folder] };
  const inside = `${OWN_FOLDER}/node/bin`;
  const mounts = ['--ro-bind', binary, `${inside}/node`];
  const packages = path.join(folder, '..', 'lib', 'node_modules');
  if (path.basename(folder) === 'bin' && existsSync(path.join(packages, 'npm'))) {
    const links = readdirSync(folder, { withFileTypes: true }).filter((entry) =>
      entry.isSymbolicLink(),
    );
    const programs = links
      .map(({ name }) => [readlinkSync(path.join(folder, name)), `${inside}/${name}`] as const)
      .filter(([target]) => target.startsWith('../lib/node_modules/'));
    mounts.push('--ro-bind', packages, `${OWN_FOLDER}/node/lib/node_modules`);
    mounts.push(...programs.flatMap((program) => ['--symlink', ...program]));
  }
  return { binary: `${inside}/node`, mounts, path: [inside] };
}
