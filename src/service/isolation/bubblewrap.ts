/** A read-only root with the system's programs, and nothing of the user but the workspace. */
import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { basesOf, WORKSPACE_INSIDE } from '../base/worker-protocol.ts';

/** Where the built `inside.js` and the node binary are seen inside. */
const OWN_FOLDER = '/run/acs';
export const HOME_INSIDE = '/home/agent';
/** For files of the worker. Commands empty /tmp and homes. */
export const SCRATCH_INSIDE = `${OWN_FOLDER}/scratch`;
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

const TEMPORARY = [
  ['/home', 1 / 2],
  ['/tmp', 1 / 4],
  ['/var/tmp', 1 / 8],
  ['/dev/shm', 1 / 16],
  [SCRATCH_INSIDE, 1 / 16],
] as const;
const EMPTY_BYTES = 64 * 1024;

/** The user's home and the data directory. `eventsDir`: `<data directory>/events/<sandbox>`. */
export function hiddenFolders(eventsDir: string, home: string): string[] {
  const dataDir = path.dirname(path.dirname(realpathSync(eventsDir)));
  return [...new Set([home, existsSync(home) ? realpathSync(home) : home, dataDir])];
}

export function bubblewrapPlan(plan: {
  workspaceDir: string;
  dist: string;
  node: string;
  offline: boolean;
  hidden: string[];
  /** Bytes of all temporary folders; null: the kernel's default for each, half of the memory. */
  temporary: number | null;
}): { options: string[]; program: string[] } {
  const node = nodeMount(plan.node, plan.hidden);
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
    ...['--ro-bind-try', basesOf(plan.workspaceDir), BASES_INSIDE],
    ...['--ro-bind', plan.dist, `${OWN_FOLDER}/dist`, ...node.mounts],
    ...['--dir', '/workspace', '--bind', plan.workspaceDir, WORKSPACE_INSIDE],
    ...['--chdir', WORKSPACE_INSIDE],
    ...['--remount-ro', '/'],
  ];
  return { options, program: [node.binary, `${OWN_FOLDER}/dist/inside.js`] };
}

function tmpfs(folder: string, bytes: number | null): string[] {
  return [...(bytes === null ? [] : ['--size', String(bytes)]), '--tmpfs', folder];
}

export function bubblewrapEnvironment(node: string, hidden: string[]): Record<string, string> {
  return {
    HOME: HOME_INSIDE,
    LANG: 'C.UTF-8',
    // The node that runs the service comes before an older one of the system.
    PATH: [
      ...nodeMount(node, hidden).path,
      '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ].join(':'),
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
 * Outside of system folders node is at /run/acs/node, with the programs of its packages and nothing
 * else of its folder: an installation may be below ~/.local, which has data of the user.
 */
function nodeMount(
  node: string,
  hidden: string[],
): { binary: string; mounts: string[]; path: string[] } {
  const binary = realpathSync(node);
  if (
    isInSystemFolder(binary) &&
    !hidden.some((folder) => isInSystemFolder(folder) && isBelow(binary, folder))
  ) {
    const folder = path.dirname(binary);
    const isOnPath = ['/usr/local/bin', '/usr/bin', '/bin'].includes(folder);
    return { binary, mounts: [], path: isOnPath ? [] : [folder] };
  }
  const folder = path.dirname(binary);
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
