/**
 * A process that is stopped (by a debugger, a monitor of resources, `kill -STOP`) does not see that its input has ended
 * with the process that started it, and would stay for ever. Linux can send it a signal then: SIGCONT, which does
 * nothing to one that runs, wakes a stopped one, and that one ends in order as soon as it reads. SIGKILL would be no
 * better: who is killed cannot end what it has started. Where the signal cannot be asked for (no `setpriv` of
 * util-linux, macOS) everything goes its way without; the next service ends what is found then.
 */
const WAKE = 'setpriv --pdeathsig CONT true > /dev/null 2>&1 && exec setpriv --pdeathsig CONT "$@"; exec "$@"';

/** What to spawn so that the program wakes up when its parent is gone. It keeps the number of the spawned process. */
export function wokenWhenOrphaned(program: readonly string[]): { file: string; args: string[] } {
  return { file: '/bin/sh', args: ['-c', WAKE, 'sh', ...program] };
}
