/** What a command sends to a program that it runs: signals that acs gets, new sizes of the terminal, and its end. */
import type { ProgramControl } from '../../domain/program.ts';
import { isAppError } from '../../errors.ts';

export interface Controls {
  send(control: ProgramControl): void;
  listen(listener: (control: ProgramControl) => void): void;
  /** No signal is passed on any more. */
  close(): void;
}

/**
 * @param signal of the command; its reason has the exit code of the signal that acs got
 * @param onSignal what the program gets then
 */
export function createControls(signal: AbortSignal, onSignal: 'signal' | 'kill'): Controls {
  const waiting: ProgramControl[] = [];
  let deliver = (control: ProgramControl): void => void waiting.push(control);
  const pass = (): void =>
    deliver(onSignal === 'kill' ? { type: 'kill' } : { type: 'signal', signal: signalOf(signal.reason) });
  if (signal.aborted) pass();
  signal.addEventListener('abort', pass, { once: true });
  return {
    send: (control) => deliver(control),
    listen(listener) {
      deliver = listener;
      for (const control of waiting.splice(0)) listener(control);
    },
    close: () => signal.removeEventListener('abort', pass),
  };
}

function signalOf(reason: unknown): 'SIGHUP' | 'SIGINT' | 'SIGTERM' {
  const code = isAppError(reason) ? reason.exitCode : 130;
  return code === 129 ? 'SIGHUP' : code === 143 ? 'SIGTERM' : 'SIGINT';
}
