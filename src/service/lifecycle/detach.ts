/** Starts a service in the background: a process of its own that outlives the command and its terminal. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { inDataDir, prepareDataDir } from './data-dir.ts';
import { ServiceError, type ServiceErrorCode } from './failure.ts';
import type { ServiceOptions } from './service-options.ts';
import { dataPaths } from './paths.ts';
import { nodeExecutable } from './process.ts';
import type { ServiceState } from './state-file.ts';
import { runningService } from './status.ts';

/** As for a service in this process; the log goes to a file. */
export interface DetachOptions extends Omit<ServiceOptions, 'log' | 'life'> {
  /** Ends the wait for the start, with its reason. */
  signal?: AbortSignal;
}

/** The argument of the background process; it contains no secret. */
export type DetachedConfig = Omit<DetachOptions, 'env' | 'signal'>;

const START_TIMEOUT_MS = 15_000;
const POLL_MS = 10;
const LONGEST_LOG_BYTES = 5 * 1024 * 1024;
/** Begins the line with the reason why the background process could not start. */
export const FAILURE_MARK = 'acs-service-failure: ';

/**
 * Starts the service and waits until it listens. A process that does not listen in time is killed: it would hold the
 * data directory against the next start.
 * @throws ServiceError with the reason that the background process gave; the reason of the signal
 */
export async function startDetached(options: DetachOptions): Promise<{ state: ServiceState; key: string }> {
  prepareDataDir(options.dataDir);
  const { env, signal, ...config } = options;
  const { log } = dataPaths(options.dataDir);
  const descriptor = inDataDir(options.dataDir, () => openLog(log));
  const from = statSync(log).size;
  const child = spawn(nodeExecutable(), [path.join(options.root, 'dist', 'service.js'), JSON.stringify(config)], {
    cwd: options.dataDir, // not the caller's: that folder may be unmounted or deleted
    detached: true,
    env: withoutUndefined(env),
    stdio: ['ignore', descriptor, descriptor],
  });
  closeSync(descriptor);
  const end: { text: string | null } = { text: null };
  child.on('error', (error) => {
    end.text = error.message;
  });
  child.on('exit', (code, signal) => {
    end.text ??= signal === null ? `it ended with exit code ${code ?? 'unknown'}` : `it ended by signal ${signal}`;
  });
  for (let waitedMs = 0; waitedMs < START_TIMEOUT_MS; waitedMs += POLL_MS) {
    const running = runningService(options.dataDir);
    if (running !== null && running.state.pid === child.pid) {
      child.unref();
      return running;
    }
    if (end.text !== null) throw failureOf(log, from, end.text);
    if (signal?.aborted) break;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  child.kill('SIGKILL');
  signal?.throwIfAborted();
  throw new ServiceError('start-failed', 'the local service did not start in time', { hint: `See ${log}.` });
}

/** Opens the log to append; a large one is put aside first. */
function openLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LONGEST_LOG_BYTES) renameSync(file, `${file}.old`);
  return openSync(file, 'a', 0o600);
}

function failureOf(log: string, from: number, text: string): ServiceError {
  const said = readFileSync(log).subarray(from).toString('utf8');
  const line = said.split('\n').find((each) => each.includes(FAILURE_MARK));
  if (line !== undefined) {
    const { code, message, hint } = JSON.parse(line.slice(line.indexOf(FAILURE_MARK) + FAILURE_MARK.length)) as {
      code: ServiceErrorCode;
      message: string;
      hint?: string;
    };
    return new ServiceError(code, message, hint === undefined ? {} : { hint });
  }
  return new ServiceError('start-failed', `the local service did not start: ${text}`, { hint: `See ${log}.` });
}

function withoutUndefined(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(kept);
}
