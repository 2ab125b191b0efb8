/**
 * The results file of a batch, which is also its state: one JSON object a line, appended and flushed to the disk before
 * the step that it names is done. A line with `state` is a step of a start; a line without is a result.
 */
import { appendFile, open, readFile, rm, stat, truncate, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../../../context.ts';
import { AppError, isAppError } from '../../../errors.ts';
import type { SentStart } from '../../../servers/server.ts';
import { fileProblem } from '../../../text/file-problem.ts';
import type { TaskResult, TaskState } from './task-result.ts';

/** What the file has. */
export interface StoredStates {
  of(key: string): AttemptState;
  /** In the order of the file. */
  keys(): string[];
}

/** The steps of one attempt, and the result. A step that cannot be stored throws `config`, and nothing may follow it. */
export interface Journal extends Pick<StoredStates, 'of'> {
  starting(attempt: Attempt, sent: SentStart): Promise<void>;
  started(attempt: Attempt, ids: StartedIds): Promise<void>;
  /** The server has not taken the start. */
  notStarted(attempt: Attempt): Promise<void>;
  ended(result: TaskResult): Promise<void>;
}

export interface Attempt {
  key: string;
  /** Fingerprint of the task. */
  task: string;
  attempt: number;
  /** Which server: its URL, or `local`. */
  server: string;
}

export interface StartedIds {
  id: string | null;
  start_task_id: string | null;
}

export interface AttemptState extends TaskState, StartedIds {
  sent: SentStart | null;
  task: string | null;
  server: string | null;
}

const NEW: AttemptState = {
  attempts: 0,
  start: 'none',
  result: null,
  sent: null,
  id: null,
  start_task_id: null,
  task: null,
  server: null,
};

type StepRecord = Attempt &
  Partial<StartedIds & Omit<SentStart, 'id'>> & { state: 'starting' | 'started' | 'not-started' };
type JournalRecord = StepRecord | TaskResult;

/** A journal that is not kept: of tasks that are not continued by another command. */
export function createMemoryJournal(): Journal {
  const states = new Map<string, AttemptState>();
  return journalOf(states, (record) => Promise.resolve(apply(states, record)));
}

export interface FileJournal extends Journal, StoredStates {
  /** Removes the file when it was created here and nothing was written. */
  close(): Promise<void>;
}

/** The states alone: the file is neither locked nor created nor repaired. */
export async function readJournal(ctx: Context, name: string): Promise<StoredStates> {
  return storedIn((await readRecords(path.resolve(ctx.cwd, name), name)).records).stored;
}

function storedIn(records: readonly JournalRecord[]): { states: Map<string, AttemptState>; stored: StoredStates } {
  const states = new Map<string, AttemptState>();
  for (const record of records) apply(states, record);
  return { states, stored: { of: (key) => states.get(key) ?? NEW, keys: () => [...states.keys()] } };
}

/** Locks and opens the file, and repairs a last line that was cut off. Throws `conflict` while another batch has it. */
export async function openJournal(ctx: Context, name: string): Promise<FileJournal> {
  const file = path.resolve(ctx.cwd, name);
  const lock = await ctx.lockFile(file);
  if ('pid' in lock) {
    throw new AppError('conflict', `another batch (process ${lock.pid}) writes ${name}`, {
      hint: 'wait for it, or give another file with -o',
    });
  }
  try {
    const { isNew, records, repair } = await readRecords(file, name);
    const { states, stored } = storedIn(records);
    await repair();
    const writer = new LineWriter(await openToAppend(file, name), name);
    const write = async (record: JournalRecord): Promise<void> => {
      await writer.write(`${JSON.stringify(record)}\n`);
      apply(states, record);
    };
    return {
      ...journalOf(states, write),
      ...stored,
      async close() {
        await writer.close();
        if (isNew && states.size === 0) await rm(file, { force: true }).catch(() => undefined);
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function journalOf(states: Map<string, AttemptState>, write: (record: JournalRecord) => Promise<void>): Journal {
  return {
    of: (key) => states.get(key) ?? NEW,
    starting: (attempt, sent) => write({ ...attempt, state: 'starting', ...sent }),
    started: (attempt, ids) => write({ ...attempt, state: 'started', ...ids }),
    notStarted: (attempt) => write({ ...attempt, state: 'not-started' }),
    ended: (result) => write(result),
  };
}

function apply(states: Map<string, AttemptState>, record: JournalRecord): void {
  const before = states.get(record.key) ?? NEW;
  if (!('state' in record)) return void states.set(record.key, { ...before, result: record });
  const { attempt, task, server, id = null, start_task_id = null } = record;
  const base = { ...NEW, attempts: attempt, task, server };
  if (record.state === 'not-started') return void states.set(record.key, { ...base, attempts: attempt - 1 });
  if (record.state === 'started') {
    return void states.set(record.key, { ...base, start: 'taken', sent: before.sent, id, start_task_id });
  }
  const sent: SentStart = { id, dialect: record.dialect ?? 'v1', sent_at: record.sent_at ?? '' };
  states.set(record.key, { ...base, start: 'sent', sent });
}

interface Contents {
  isNew: boolean;
  records: JournalRecord[];
  /** Makes the file end with a whole line. */
  repair(): Promise<void>;
}

/** Throws `config` for a file that no batch has written. */
async function readRecords(file: string, name: string): Promise<Contents> {
  const text = await readText(file, name);
  const isNew = text === null;
  const lines = (text ?? '').split('\n');
  const last = lines.pop() ?? '';
  const records = lines.map((line, index) => asRecord(line) ?? fail(notOurs(name, index + 1)));
  if (last === '') return { isNew, records, repair: () => Promise.resolve() };
  const record = asRecord(last);
  if (record !== null) return { isNew, records: [...records, record], repair: () => appendFile(file, '\n') };
  // Nothing was done after a write that was cut off.
  if (!last.startsWith(FIRST_MEMBER) && !FIRST_MEMBER.startsWith(last)) throw notOurs(name, lines.length + 1);
  const whole = Buffer.byteLength(lines.map((line) => `${line}\n`).join(''));
  return { isNew, records, repair: () => truncate(file, whole) };
}

/** Null where there is no file. */
async function readText(file: string, name: string): Promise<string | null> {
  try {
    if (!(await stat(file)).isFile()) throw new AppError('config', `cannot write ${name}: it is not a regular file`);
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    if (isAppError(error)) throw error;
    throw new AppError('config', `cannot read ${name}: ${fileProblem(error).reason}`, { cause: error });
  }
}

function notOurs(name: string, line: number): AppError {
  return new AppError('config', `${name}, line ${line}: it was not written by acs batch`, {
    hint: 'give another file with -o',
  });
}

function fail(error: Error): never {
  throw error;
}

/** Every line begins with it. */
const FIRST_MEMBER = '{"key":';

function asRecord(line: string): JournalRecord | null {
  try {
    const record = JSON.parse(line) as Partial<StepRecord & TaskResult> | null;
    if (typeof record?.key !== 'string') return null;
    const isStep = typeof record.state === 'string' && typeof record.attempt === 'number';
    return isStep || typeof record.exit_code === 'number' ? (record as JournalRecord) : null;
  } catch {
    return null;
  }
}

async function openToAppend(file: string, name: string): Promise<FileHandle> {
  try {
    const handle = await open(file, 'a');
    const folder = await open(path.dirname(file), 'r').catch(() => null); // not on Windows
    await folder?.sync().catch(() => undefined);
    await folder?.close();
    return handle;
  } catch (error) {
    throw cannotWrite(name, error);
  }
}

/** Appends whole lines, one after the other. After a failed write the file ends with a whole line. */
class LineWriter {
  private readonly handle: FileHandle;
  private readonly name: string;
  private last: Promise<void> = Promise.resolve();

  constructor(handle: FileHandle, name: string) {
    this.handle = handle;
    this.name = name;
  }

  /** Resolves when the line is on the disk. */
  write(line: string): Promise<void> {
    const written = this.last.then(() => this.append(line));
    this.last = written.catch(() => undefined);
    return written;
  }

  async close(): Promise<void> {
    await this.last;
    await this.handle.close();
  }

  private async append(line: string): Promise<void> {
    const { size } = await this.handle.stat();
    try {
      await this.handle.appendFile(line);
      await this.handle.sync();
    } catch (error) {
      await this.handle.truncate(size).catch(() => undefined);
      throw cannotWrite(this.name, error);
    }
  }
}

function cannotWrite(name: string, error: unknown): AppError {
  return new AppError('config', `cannot write ${name}: ${fileProblem(error).reason}`, {
    hint: 'nothing is started that is not stored there; correct this and run the same command again',
    cause: error,
  });
}
