/**
 * A signal at the death of the parent process, however it ended. A stopped worker (`kill -STOP`, a debugger) does not see
 * the end of its input: SIGCONT has no effect on a running process, and a stopped one continues and reads the end. A git
 * that waits for a silent host gets SIGTERM.
 *
 * `setpriv` of util-linux sets it (Linux). Without it the program runs all the same, and the next service ends what is left.
 */
const SET_SIGNAL = 'setpriv --pdeathsig "$0" true > /dev/null 2>&1 && exec setpriv --pdeathsig "$0" "$@"; exec "$@"';

/** The command to spawn; the program has the pid of the spawned process. */
export function withParentDeathSignal(
  signal: 'CONT' | 'TERM',
  program: readonly string[],
): { file: string; args: string[] } {
  return { file: '/bin/sh', args: ['-c', SET_SIGNAL, signal, ...program] };
}
