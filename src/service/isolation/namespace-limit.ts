/**
 * The limit on namespaces of a sandbox. A user has one count of namespaces for the whole machine, so a sandbox without
 * a limit could use it up, and no other sandbox could be isolated.
 *
 * The kernel checks the count in every user namespace from the one of the caller up to the first. The limit is written
 * in a user namespace around the sandbox: no process inside has a capability there, so none can
 * raise it, and user namespaces made inside count against it however deep they are nested.
 */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { shellQuote } from '../../text/shell-quote.ts';

/** Of each kind. The one or two user namespaces that bubblewrap makes are among them. */
export const MOST_NAMESPACES = 64;

const KINDS = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'time', 'user', 'uts'];

const SET_LIMIT = [
  `for kind in ${KINDS.join(' ')}; do`,
  'file=/proc/sys/user/max_${kind}_namespaces;',
  // A kernel may lack a kind. Without the limit on user namespaces nothing is limited.
  `if [ -e "$file" ] || [ $kind = user ]; then echo ${String(MOST_NAMESPACES)} > "$file" || return 1; fi;`,
  'done',
].join(' ');

/**
 * Sets the limit, then becomes the command of its arguments. Where /proc/sys is read-only, as in many containers, the
 * limit is set through another mount of /proc. The kernel permits that mount under the condition under which it permits
 * the one that bubblewrap makes, so where it is not permitted bubblewrap is not permitted either.
 */
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

/**
 * The command line of `bwrap` within the limit; the process becomes the one of `bwrap`.
 * @throws Error when `bwrap` or `unshare` is not in the search path
 */
export function bubblewrapCommand(options: string[], searchPath = ''): { file: string; args: string[] } {
  const program = findProgram('bwrap', 'bubblewrap (bwrap)', searchPath);
  const file = findProgram('unshare', 'unshare (util-linux)', searchPath);
  return {
    file,
    args: ['--user', '--map-root-user', '/bin/sh', '-c', limitedShell(searchPath), 'sh', program, ...options],
  };
}

function findProgram(name: string, title: string, searchPath: string): string {
  const found = searchPath
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, name))
    .find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${title} is not installed`);
  return found;
}
