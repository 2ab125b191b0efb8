import type { TerminalEvents } from '../../terminal/status-line.ts';

export function watchTerminal({ onResize, onStop, onContinue }: TerminalEvents): () => void {
  const stop = (): void => {
    onStop?.();
    // Without a listener the signal does what it does by default, which depends on the shell that
    // started the process.
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

export function ignoreInterrupts(): () => void {
  const listeners = process.listeners('SIGINT');
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  for (const listener of listeners) process.off('SIGINT', listener);
  return () => {
    for (const listener of listeners) process.on('SIGINT', listener);
    process.off('SIGINT', ignore);
  };
}

export function stopProcess(): void {
  process.kill(process.pid, 'SIGTSTP');
}
