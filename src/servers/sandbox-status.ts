import type { SandboxStatus } from '../domain/conversation.ts';

const SANDBOX: Record<string, SandboxStatus> = {
  STARTING: 'starting',
  RUNNING: 'running',
  PAUSED: 'paused',
  ERROR: 'error',
  MISSING: 'missing',
};

/** An unknown status is `unknown(<word>)`. */
export function sandboxStatus(word: string | null): SandboxStatus | null {
  if (word === null) return null;
  return SANDBOX[word.toUpperCase()] ?? `unknown(${word.toLowerCase()})`;
}
