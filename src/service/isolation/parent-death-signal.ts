// A stopped worker does not see the end of its input; SIGCONT has no effect on a running one.
// Without `setpriv` of util-linux the program runs all the same.
const SET_SIGNAL =
  'setpriv --pdeathsig "$0" true > /dev/null 2>&1 && exec setpriv --pdeathsig "$0" "$@"; exec "$@"';

/** The command to spawn; the program has the pid of the spawned process. */
export function withParentDeathSignal(
  signal: 'CONT' | 'TERM',
  program: readonly string[],
): { file: string; args: string[] } {
  return { file: '/bin/sh', args: ['-c', SET_SIGNAL, signal, ...program] };
}
