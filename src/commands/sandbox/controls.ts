/** What a command sends to a program that it runs: signals that acs gets, new sizes of the terminal, and its end. */
import type { ProgramControl } from '../../domain/program.ts';
import { isAppError } from '../../errors.ts';

export interface Controls {
  send(control: ProgramControl): void;
  listen(listener: (control: ProgramControl) => void): void;
  /** No signal is passed on any more. */
  close(): void;
}

/** @param signal of the command; its reason has the exit code of the signal that acs got */
export function createControls(signal: AbortSignal): Controls {
  const waiting: ProgramControl[] = [];
  let deliver = (control: ProgramControl): void => void waiting.push(control);
  const onSignal = (): void => deliver({ type: 'signal', signal: signalOf(signal.reason) });
  if (signal.aborted) onSignal();
  signal.addEventListener('abort', onSignal, { once: true });
  return {
    send: (control) => deliver(control),
    listen(listener) {
      deliver = listener;
      for (const control of waiting.splice(0)) listener(control);
    },
    close: () => signal.removeEventListener('abort', onSignal),
  };
}

function signalOf(reason: unknown): 'SIGHUP' | 'SIGINT' | 'SIGTERM' {
  const code = isAppError(reason) ? reason.exitCode : 130;
  return code === 129 ? 'SIGHUP' : code === 143 ? 'SIGTERM' : 'SIGINT';
}
