/**
 * What a process is told when the one that started it is gone, however that ended. A worker that is stopped (by a
 * debugger, a monitor of resources, `kill -STOP`) does not see that its input has ended, and would stay for ever:
 * SIGCONT does nothing to one that runs, and one that wakes ends in order as soon as it reads. A git that waits for a
 * host that says nothing is told SIGTERM.
 *
 * Linux does this for whoever asks; where it cannot be asked (no `setpriv` of util-linux, macOS) everything goes its way
 * without, and the next service ends what is found then.
 */
const TELL = 'setpriv --pdeathsig "$0" true > /dev/null 2>&1 && exec setpriv --pdeathsig "$0" "$@"; exec "$@"';

/** What to spawn so that the program is told. It keeps the number of the spawned process. */
export function toldWhenOrphaned(
  signal: 'CONT' | 'TERM',
  program: readonly string[],
): { file: string; args: string[] } {
  return { file: '/bin/sh', args: ['-c', TELL, signal, ...program] };
}
