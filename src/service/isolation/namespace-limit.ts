// A sandbox could use up the namespaces and inotify instances that a user has on the machine. The
// limit is in a user namespace around it, where no process inside has a capability to raise it.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { shellQuote } from '../../base/text/shell-quote.ts';

/** Limits each kind but cgroup. The user namespaces that bubblewrap makes are counted too. */
export const MOST_NAMESPACES = 64;

const KINDS = ['ipc', 'mnt', 'net', 'pid', 'time', 'user', 'uts'];
// A process inside a cgroup namespace could end or stop everything in that of the service.
const LIMITS = [
  'cgroup_namespaces=0',
  ...KINDS.map((kind) => `${kind}_namespaces=${String(MOST_NAMESPACES)}`),
  'inotify_instances=64',
];

const SET_LIMIT = [
  `for limit in ${LIMITS.join(' ')}; do`,
  'file=/proc/sys/user/max_${limit%=*};',
  // A kernel may lack a kind. Without the limit on user namespaces nothing is limited.
  'if [ -e "$file" ] || [ ${limit%=*} = user_namespaces ]; then echo ${limit#*=} > "$file" ' +
    '|| return 1; fi;',
  'done',
].join(' ');

/** Where /proc/sys is read-only, as in containers, the limit is set through another /proc. */
function limitedShell(searchPath: string): string {
  const inOwnProc = `limit() { ${SET_LIMIT}; }; mount -t proc proc /proc && limit`;
  return [
    `limit() { ${SET_LIMIT}; };`,
    'if ! { limit; } 2> /dev/null; then',
    `why=$(PATH=${shellQuote(searchPath)}; LC_ALL=C; export PATH LC_ALL;`,
    `exec unshare --mount --pid --fork /bin/sh -c ${shellQuote(inOwnProc)} 2>&1) ||`,
    '{ echo "the limit of namespaces cannot be set: $why" >&2; exit 1; }; fi;',
    'exec "$@"',
  ].join(' ');
}

/** `limited`: a command that becomes the one of its arguments. Throws without bwrap or unshare. */
export function bubblewrapCommand(
  options: string[],
  searchPath = '',
  limited: string[] = [],
): { file: string; args: string[] } {
  const program = findProgram('bwrap', 'bubblewrap (bwrap)', searchPath);
  const file = findProgram('unshare', 'unshare (util-linux)', searchPath);
  return {
    file,
    args: [
      ...['--user', '--map-root-user', '/bin/sh', '-c', limitedShell(searchPath), 'sh'],
      ...[...limited, program, ...options],
    ],
  };
}

export function findProgram(name: string, title: string, searchPath = ''): string {
  const file = searchPath
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, name))
    .find((each) => existsSync(each));
  if (file === undefined) throw new Error(`${title} is not installed`);
  return file;
}
