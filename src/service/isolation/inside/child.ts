/** The end of a command: its exit code, and the end of everything it started. */
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { COMMAND_MARKER, killProcesses } from '../processes.ts';

/** As a shell reports it: 128 and the number of the signal that ended the process. `error`: it could not be started. */
export interface ChildExit {
  code: number;
  error: NodeJS.ErrnoException | null;
}

export function exitOf(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ code: -1, error });
    });
    child.once('exit', (code, signal) => {
      resolve({ code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]), error: null });
    });
  });
}

/** Ends the process group of a command, its descendants, and the processes with its mark in their environment. */
export function endTree(pid: number, mark: string): void {
  killProcesses({ below: pid, marked: `${COMMAND_MARKER}=${mark}`, except: [] });
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}
