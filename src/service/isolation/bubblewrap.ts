/**
 * The isolation by bubblewrap: own process ids, users, mounts and host name; a root that holds the system's programs,
 * read-only, and nothing of the user but the workspace.
 */
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { WORKSPACE_INSIDE } from '../sandboxes/worker-protocol.ts';

/** Where the built `inside.js` and the node binary are seen inside. */
const OWN_FOLDER = '/run/acs';
export const HOME_INSIDE = '/home/agent';

const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/nix/store', '/gnu'];

/** Of /etc only what programs need to find libraries, names, certificates and time; no password hash, no host key. */
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
  'pki',
  'profile',
  'profile.d',
  'protocols',
  'python3',
  'services',
  'ssl',
  'terminfo',
  'timezone',
];

export interface BubblewrapRequest {
  workspaceDir: string;
  /** Folder of the built files. */
  dist: string;
  /** The node binary that is running. */
  node: string;
  offline: boolean;
  /** Folders that must not be seen though a system folder may hold them: the user's home, the service's data. */
  hidden: string[];
}

/**
 * Folders that are hidden also below a system folder: the user's home and all of the service's data, the key and
 * the logs of other sandboxes among it. `eventsDir` is `<data directory>/events/<sandbox>`. Links are followed.
 */
export function hiddenFolders(eventsDir: string, home: string): string[] {
  const dataDir = path.dirname(path.dirname(realpathSync(eventsDir)));
  return [...new Set([home, existsSync(home) ? realpathSync(home) : home, dataDir])];
}

/** The options of `bwrap` and the program to run. */
export function bubblewrapPlan(plan: BubblewrapRequest): { options: string[]; program: string[] } {
  const node = nodeMount(plan.node, plan.hidden);
  const options = [
    ...ownNamespaces(),
    ...(plan.offline ? ['--unshare-net'] : []),
    ...['--hostname', 'sandbox', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...SYSTEM_FOLDERS.flatMap(systemFolder),
    ...plan.hidden
      .filter((folder) => isInSystemFolder(folder) && existsSync(folder))
      .flatMap((folder) => ['--tmpfs', folder]),
    ...['--proc', '/proc', ...kernelSettings(), '--dev', '/dev', '--tmpfs', '/dev/shm'],
    ...[
      '--tmpfs',
      '/tmp',
      '--tmpfs',
      '/var/tmp',
      '--tmpfs',
      '/home',
      '--dir',
      HOME_INSIDE,
      '--dir',
      '/run',
      '--dir',
      '/etc',
    ],
    ...SYSTEM_SETTINGS.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...nameResolution(),
    ...['--ro-bind', plan.dist, `${OWN_FOLDER}/dist`, ...node.mounts],
    ...['--dir', '/workspace', '--bind', plan.workspaceDir, WORKSPACE_INSIDE, '--chdir', WORKSPACE_INSIDE],
    ...['--remount-ro', '/'],
  ];
  return { options, program: [node.binary, `${OWN_FOLDER}/dist/inside.js`] };
}

/** The environment of what runs inside. */
export function bubblewrapEnvironment(node: string, hidden: string[]): Record<string, string> {
  return {
    HOME: HOME_INSIDE,
    LANG: 'C.UTF-8',
    // The node that runs the service comes before an older one of the system.
    PATH: [...nodeMount(node, hidden).path, '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'].join(':'),
    SHELL: '/bin/sh',
    TMPDIR: '/tmp',
    USER: 'agent',
  };
}

/** The arguments of a sandbox that ends at once. */
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
    ...['--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
  ];
}

/**
 * Root can write kernel settings even without capabilities, and one of them names a program that the kernel starts
 * outside of every isolation. Other users cannot write them and need no protection.
 */
function kernelSettings(): string[] {
  return process.getuid?.() === 0 ? ['--ro-bind-try', '/proc/sys', '/proc/sys'] : [];
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

function isOnPath(binary: string): boolean {
  return ['/usr/local/bin', '/usr/bin', '/bin'].includes(path.dirname(binary));
}

function isInSystemFolder(file: string): boolean {
  return SYSTEM_FOLDERS.some((folder) => isBelow(file, folder));
}

function isBelow(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}

/** resolv.conf often is a link into /run, which is not there inside. */
function nameResolution(): string[] {
  try {
    return ['--ro-bind-try', realpathSync('/etc/resolv.conf'), '/etc/resolv.conf'];
  } catch {
    return [];
  }
}

/**
 * Node may be installed anywhere, also in the user's home. Inside it has its own path when that is a system folder,
 * else at /run/acs/node: the whole installation when it looks like one (so that npm is there too), else the binary.
 */
function nodeMount(node: string, hidden: string[]): { binary: string; mounts: string[]; path: string[] } {
  const binary = realpathSync(node);
  if (isInSystemFolder(binary) && !hidden.some((folder) => isInSystemFolder(folder) && isBelow(binary, folder))) {
    return { binary, mounts: [], path: isOnPath(binary) ? [] : [path.dirname(binary)] };
  }
  const installation = path.dirname(path.dirname(binary));
  const whole = path.basename(path.dirname(binary)) === 'bin' && existsSync(`${installation}/lib/node_modules/npm`);
  const inside = `${OWN_FOLDER}/node/bin/node`;
  const mounts = whole ? ['--ro-bind', installation, `${OWN_FOLDER}/node`] : ['--ro-bind', binary, inside];
  return { binary: inside, mounts, path: [path.dirname(inside)] };
}
