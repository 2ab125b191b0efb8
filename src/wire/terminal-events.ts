/** Resizes of the terminal, and stops of the process by Ctrl-Z. Loaded with the first line that has to survive them. */
import type { TerminalEvents } from '../terminal/status-line.ts';

/** @returns ends the watch */
export function watchTerminal({ onResize, onStop, onContinue }: TerminalEvents): () => void {
  const stop = (): void => {
    onStop?.();
    // Without a listener the signal does what it does by default, which depends on the shell that started the process.
    process.off('SIGTSTP', stop);
    stopProcess();
    process.on('SIGTSTP', stop);
    onContinue();
  };
  if (onStop !== undefined) process.on('SIGTSTP', stop);
  process.on('SIGCONT', onContinue);
  process.on('SIGWINCH', onResize);
  return () => {
    process.off('SIGTSTP', stop);
    process.off('SIGCONT', onContinue);
    process.off('SIGWINCH', onResize);
  };
}

/** As Ctrl-Z does where the terminal makes a signal of it. */
export function stopProcess(): void {
  process.kill(process.pid, 'SIGTSTP');
}
