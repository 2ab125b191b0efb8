import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  type Stats,
} from 'node:fs';
import path from 'node:path';
import type { Context } from '../../context.ts';
import { AppError, EXIT_CODES } from '../../../base/errors.ts';
import type { SentStart, Server } from '../../../client/shared/server.ts';
import { UNSENT, type Stage, type StartIds } from '../new/stage.ts';
import { unreadable, unwritable } from '../../shared/files.ts';
import { lockFile } from '../../../local/files/lock.ts';
import { NOT_STARTED, UNKNOWN, type TaskResult } from './results.ts';

/** Is stored before it is done. A line without `state` is a result. */
export interface Step extends Partial<StartIds>, Partial<Omit<SentStart, 'id'>> {
  key: string;
  task: string;
  attempt: number;
  server: string;
  state: 'starting' | 'started' | 'not-started';
}

/** Its URL, or `local`: the port of the local service changes. */
export function serverName({ info: { flavour, base_url } }: Pick<Server, 'info'>): string {
  return flavour === 'local' ? 'local' : base_url;
}

interface TaskState {
  attempts: number;
  /** The stage of the last attempt. */
  stage: Stage;
  result: TaskResult | null;
  task: string | null;
  server: string | null;
}

const NEW: TaskState = { attempts: 0, stage: UNSENT, result: null, task: null, server: null };

export const RETRIES = ['failed', 'unknown'] as const;
export type Retry = (typeof RETRIES)[number];

/** `continue`: from the stored stage; `retry` starts again what the server cannot show. */
export type Plan = 'skip' | 'start' | 'continue' | 'retry';

export function planOf(
  { stage, result }: Pick<TaskState, 'stage' | 'result'>,
  retries: readonly Retry[],
  diff: 'requested' | 'none' = 'none',
): Plan {
  const open = stage.at === 'unsent' ? 'start' : 'continue';
  if (result === null || result.status === NOT_STARTED) return open;
  const { exit_code: code, status } = result;
  if (code === EXIT_CODES.ok) return diff === 'requested' && result.diff === null ? open : 'skip';
  if (status === UNKNOWN) return retries.includes('unknown') ? 'retry' : 'skip';
  const hasFailed = code === EXIT_CODES.failed || code === EXIT_CODES['not-found'];
  if ((hasFailed || code === EXIT_CODES.conflict) && retries.includes('failed')) return 'start';
  return hasFailed ? 'skip' : open;
}

/** In memory alone, for `conv new --count` and a dry run, unless `write` stores it. */
export class Journal {
  /** Why a line could not be stored; nothing is written behind a part of a line. */
  failure: AppError | null = null;
  private readonly states = new Map<string, TaskState>();
  private readonly write: (line: string) => void;

  constructor(
    records: readonly (Step | TaskResult)[] = [],
    write: (line: string) => void = () => undefined,
  ) {
    for (const record of records) this.apply(record);
    this.write = write;
  }

  of(key: string): TaskState {
    return this.states.get(key) ?? NEW;
  }

  keys(): string[] {
    return [...this.states.keys()];
  }

  enter(attempt: Omit<Step, 'state'>, stage: Stage): void {
    if (stage.at === 'unsent') this.append({ ...attempt, state: 'not-started' });
    else if (stage.at === 'sent') this.append({ ...attempt, state: 'starting', ...stage.sent });
    else {
      const { id, start_task_id } = stage;
      this.append({ ...attempt, state: 'started', id, start_task_id });
    }
  }

  /** Throws `config` when it cannot be stored. */
  append(record: Step | TaskResult): void {
    if (this.failure !== null) throw this.failure;
    try {
      // readJournal knows a line that was cut off by its first member.
      const { key, ...members } = record;
      this.write(`${JSON.stringify({ key, ...members })}\n`);
    } catch (error) {
      throw (this.failure = error as AppError);
    }
    this.apply(record);
  }

  private apply(record: Step | TaskResult): void {
    if (!('state' in record)) {
      this.states.set(record.key, { ...this.of(record.key), result: record });
      return;
    }
    const { key, attempt, task, server, state, id = null, start_task_id = null, ...sent } = record;
    const stages: Record<Step['state'], Stage> = {
      'not-started': UNSENT,
      starting: { at: 'sent', sent: { dialect: 'v1', sent_at: '', ...sent, id } },
      started: { at: 'task', id, start_task_id },
    };
    const attempts = state === 'not-started' ? attempt - 1 : attempt;
    this.states.set(key, { ...NEW, attempts, task, server, stage: stages[state] });
  }
}

/** Repairs a last line that was cut off. Throws `conflict` while another batch has the lock. */
export async function openJournal(
  ctx: Context,
  name: string,
): Promise<{ journal: Journal; close(): void }> {
  const file = path.resolve(ctx.local.cwd, name);
  if (ctx.globals.mode === 'dry-run')
    return { journal: new Journal(readJournal(file, name).records), close: () => undefined };
  const lock = lockFile(file);
  if ('pid' in lock)
    throw new AppError('conflict', `another batch (process ${lock.pid}) writes ${name}`, {
      hint: 'wait for it, or give another file with -o',
    });
  const orCannotWrite = <T>(write: () => T): T => {
    try {
      return write();
    } catch (cause) {
      throw unwritable(name, cause).with({
        hint:
          'nothing is started that is not stored there; correct this and run the same ' +
          'command again',
      });
    }
  };
  try {
    const { isNew, records, wholeBytes } = readJournal(file, name);
    const opened = orCannotWrite(() => openSync(file, 'a'));
    orCannotWrite(() =>
      wholeBytes === null ? appendFileSync(opened, '\n') : ftruncateSync(opened, wholeBytes),
    );
    const journal = new Journal(records, (line) =>
      orCannotWrite(() => appendFileSync(opened, line)),
    );
    const close = (): void => {
      closeSync(opened);
      if (isNew && journal.keys().length === 0) rmSync(file, { force: true });
      lock.release();
    };
    return { journal, close };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Of every line; a result without a conversation began with its id in earlier versions. */
const FIRST_MEMBERS = ['{"key":', '{"id":'];

/** @returns the bytes before a last line that was cut off; null: it lacks only its line feed */
function readJournal(
  file: string,
  name: string,
): { isNew: boolean; records: (Step | TaskResult)[]; wholeBytes: number | null } {
  let text = '';
  let stats: Stats | undefined;
  try {
    stats = statSync(file, { throwIfNoEntry: false });
    if (stats?.isFile()) text = readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(name, error);
  }
  if (stats?.isFile() === false)
    throw new AppError('config', `cannot write ${name}: it is not a regular file`);
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const rest = text.slice(whole.length);
  const records = whole.split('\n').slice(0, -1).map(readLine);
  const last = readLine(rest);
  const isCut = FIRST_MEMBERS.some((first) => rest.startsWith(first) || first.startsWith(rest));
  if (last !== null || !isCut) records.push(last);
  const wrong = records.indexOf(null);
  if (wrong !== -1)
    throw new AppError('config', `${name}, line ${wrong + 1}: it was not written by acs batch`, {
      hint: 'give another file with -o',
    });
  const wholeBytes = last === null ? Buffer.byteLength(whole) : null;
  return {
    isNew: stats === undefined,
    records: records.filter((record) => record !== null),
    wholeBytes,
  };
}

function readLine(line: string): Step | TaskResult | null {
  try {
    const record = JSON.parse(line) as Partial<Step & TaskResult> | null;
    if (typeof record?.key !== 'string') return null;
    const isStep = typeof record.state === 'string' && typeof record.attempt === 'number';
    return isStep || typeof record.exit_code === 'number' ? (record as Step | TaskResult) : null;
  } catch {
    return null;
  }
}
