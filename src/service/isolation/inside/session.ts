/** The state that one command of a session passes to the next: its directory and its exported variables. */
import { readFileSync, writeFileSync } from 'node:fs';
import { shellQuote } from '../../../text/shell-quote.ts';
import type { RunParameters } from '../protocol.ts';

/** Linux takes at most 128 KiB in one argument. */
const LONGEST_ARGUMENT = 100_000;
export interface Session {
  cwd: string;
  env: Record<string, string>;
}

/**
 * The command with, before it, what writes directory and environment down when the shell ends. A shell that is replaced
 * (`exec`) or sets its own EXIT trap carries nothing over.
 */
export function script(wanted: RunParameters, files: { state: string; command: string }): string {
  const note = `{ printf '%s\\0' "$PWD"; command -p env -0; } >'${files.state}' 2>/dev/null`;
  const before = `${wanted.merged ? 'exec 2>&1; ' : ''}trap ${shellQuote(`acs_code=$?; ${note}; exit $acs_code`)} EXIT`;
  if (Buffer.byteLength(wanted.command) <= LONGEST_ARGUMENT) return `${before}; ${wanted.command}\n`;
  writeFileSync(files.command, wanted.command, { mode: 0o600 });
  return `${before}; . '${files.command}'`;
}

/** Reads the state that the ended shell wrote. */
export function carryOver(session: Session, file: string): void {
  let note: string;
  try {
    note = readFileSync(file, 'utf8');
  } catch {
    return;
  }
  const [cwd = '', ...variables] = note.split('\0').slice(0, -1);
  if (!cwd.startsWith('/') || variables.length === 0) return;
  session.cwd = cwd;
  session.env = Object.fromEntries(
    variables.flatMap((variable) => {
      const equals = variable.indexOf('=');
      return equals < 1 ? [] : [[variable.slice(0, equals), variable.slice(equals + 1)]];
    }),
  );
}

/** The environment of a new session. */
export function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
}
