import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { isAlive, type ProcessIdentity } from './process.ts';
import type { ServiceApi } from './options.ts';

/** Where a service listens, as it tells those who look for it. */
export interface ServiceState {
  pid: number;
  /** Start time of the process in the system's words. */
  process_start: string | null;
  /** RFC 3339. */
  started_at: string;
  host: string;
  port: number;
  url: string;
  version: string;
  api: ServiceApi;
  /** The file of its weather; null: fair. */
  scenario: string | null;
}

/** Reads the state file; null when there is none or it makes no sense. */
export function readState(file: string): ServiceState | null {
  try {
    const state = JSON.parse(readFileSync(file, 'utf8')) as ServiceState;
    return typeof state.pid === 'number' && typeof state.url === 'string' ? state : null;
  } catch {
    return null;
  }
}

/** The state of a service that runs; null when its process is gone. */
export function readRunning(file: string): ServiceState | null {
  const state = readState(file);
  return state !== null && isAlive(identityOf(state)) ? state : null;
}

export function identityOf(state: ServiceState): ProcessIdentity {
  return { pid: state.pid, start: state.process_start };
}

/** Removes the state file, unless another service has written its own meanwhile. */
export function removeState(file: string, mine: ServiceState): void {
  const found = readState(file);
  if (found?.pid === mine.pid && found.process_start === mine.process_start) rmSync(file, { force: true });
}

/** Writes a small private file whole or not at all. */
export function writePrivateFile(file: string, text: string): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}
