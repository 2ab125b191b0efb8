/** One list of the conversations of both dialects, newest first, each once. */
import type { Conversation, Dialect } from '../../domain/conversation.ts';
import { AppError, isAppError } from '../../errors.ts';
import { parseTime } from '../../text/time.ts';
import { allPages, byId } from '../../domain/pages.ts';
import type { ListQuery, Server } from '../server.ts';

type List = Server['conversations']['list'];

const PAGE_SIZE = 100;

/** One dialect's list as far as it was read. */
interface Side {
  dialect: Dialect;
  items: AsyncGenerator<Conversation, void, void>;
  /** The next conversation; undefined: not read yet, null: there is no more. */
  head: Conversation | null | undefined;
}

/** Each page continues where the one before ended, so the list has one reader and is read once. */
export function createMergedList(newer: List, older: List): List {
  const readings = new Map<string, Reading>();
  let count = 0;
  return async (query, page) => {
    const reading = page === null ? createReading(newer, older, query) : readings.get(page);
    if (page !== null) readings.delete(page);
    if (reading === undefined) throw new AppError('internal', `there is no page ${page ?? ''} of the merged list`);
    const found = await readPage(reading, query.pageSize ?? PAGE_SIZE);
    if (!found.more) return { items: found.items, next: null };
    const next = `page-${++count}`;
    readings.set(next, reading);
    return { items: found.items, next };
  };
}

interface Reading {
  sides: readonly [Side, Side];
  /** Ids of the conversations on the pages so far. */
  listed: Set<string>;
}

function createReading(newer: List, older: List, query: ListQuery): Reading {
  const side = (dialect: Dialect, list: List): Side => ({
    dialect,
    items: allPages<Conversation>(byId, (page) => list(query, page)),
    head: undefined,
  });
  return { sides: [side('v1', newer), side('v0', older)], listed: new Set() };
}

async function readPage(reading: Reading, size: number): Promise<{ items: Conversation[]; more: boolean }> {
  const items: Conversation[] = [];
  while (items.length < size) {
    await Promise.all(reading.sides.map(readHead));
    const side = newestOf(reading.sides);
    if (side?.head == null) return { items, more: false };
    const { head } = side;
    side.head = undefined;
    // Servers page by offset: a conversation that is created meanwhile moves a row to the next page (interface 4.3).
    if (reading.listed.has(head.id)) continue;
    if (head.id !== '') reading.listed.add(head.id);
    items.push(head);
  }
  return { items, more: reading.sides.some(({ head }) => head !== null) };
}

async function readHead(side: Side): Promise<void> {
  if (side.head !== undefined) return;
  try {
    const next = await side.items.next();
    side.head = next.done === true ? null : next.value;
  } catch (error) {
    throw isAppError(error) && error.kind === 'server' ? halfFails(side.dialect, error) : error;
  }
}

/** Fails when one half cannot be read, and names it: a script would treat the missing conversations as deleted. */
function halfFails(dialect: Dialect, error: AppError): AppError {
  return new AppError(error.kind, `the list of ${dialect.toUpperCase()} conversations fails: ${error.message}`, {
    ...error.details,
    hint:
      error.details.hint ?? 'without them it would not be whole; by its id each can be asked for: acs conv show <id>',
  });
}

/** Of two with the same time the one of V1 is first. One without a time keeps its place in its own list. */
function newestOf([newer, older]: Reading['sides']): Side | null {
  if (newer.head == null) return older.head == null ? null : older;
  if (older.head == null) return newer;
  return timeOf(older.head) > timeOf(newer.head) ? older : newer;
}

function timeOf({ created_at }: Conversation): number {
  return parseTime(created_at) ?? Infinity;
}
