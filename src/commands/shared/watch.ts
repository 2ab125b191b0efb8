import type { Context } from '../context.ts';
import type { Server } from '../../client/shared/server.ts';
import { AppError, isOfKind } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/loopback.ts';
import { isForPrograms } from '../../base/text/notice.ts';
import { formatDuration, relativeTime } from '../../base/text/time.ts';
import { chosenFields, valueOf, type Field, type View } from '../../output/view.ts';
import { isPassing } from '../../runs/deadline.ts';
import { poll } from '../../runs/poll.ts';

interface List<T> {
  items: T[];
  has_more: boolean;
}

const UNKNOWN_ROWS = 24;
/** Of the mark of a changed row, and the last column, where terminals wrap. */
const MARGIN = 3;

interface Display<T> {
  show(items: readonly T[], changed: readonly T[]): Promise<void>;
  fail(message: string): Promise<void>;
  end?(): Promise<void>;
}

/**
 * Throws what the first reading throws, and later what another reading would not change.
 * @param begin called once, before the list is shown
 */
export async function watchList<T>(
  ctx: Context,
  view: View<T>,
  key: (item: T) => string,
  read: (server: Server) => Promise<List<T>>,
  begin: (list: List<T>) => Promise<void>,
): Promise<void> {
  if ((ctx.globals.output ?? '-') !== '-')
    throw new AppError('usage', '--watch and --output cannot be combined');
  const isTerminal = !ctx.terminal.offTerminal && ctx.local.env.TERM !== 'dumb';
  const isInPlace = isTerminal && ctx.out.onTerminal && ctx.out.format === 'table';
  ctx.out.check(view, isInPlace ? 'list' : 'stream');
  const server = await ctx.servers.active();
  const everyMs = isLoopbackHost(new URL(server.info.base_url).hostname) ? 2_000 : 10_000;
  const fields = comparedFields(ctx, view);
  const stateOf = (item: T) => JSON.stringify(fields.map((field) => valueOf(field, item)));
  const first = await read(server);
  await begin(first);
  const display = await (isInPlace ? inPlace(ctx, view, key, everyMs) : lineByLine(ctx, view));
  const readAgain = async () => {
    try {
      // An adapter keeps the pages that were not read: each reading has one of its own.
      return (await read(await server.withSignal(ctx.signal))).items;
    } catch (error) {
      if (isPassing(error)) await display.fail(error.message);
      throw error;
    }
  };
  const every = { firstMs: everyMs, mostMs: everyMs };
  const { clock, signal } = ctx;
  try {
    for (let { items } = first, known = new Map<string, string>(); ;) {
      const states = new Map(items.map((item) => [key(item), stateOf(item)]));
      const isChanged = (item: T) => known.get(key(item)) !== states.get(key(item));
      await display.show(items, items.filter(isChanged));
      known = states;
      items = await poll(readAgain, { clock, signal, every, readBefore: true, outageMs: Infinity });
    }
  } catch (error) {
    if (!isInPlace || !isOfKind('interrupted')(error)) throw error;
    // The usual end of a screen is no error.
    ctx.exitCode = error.exitCode;
  } finally {
    await display.end?.();
  }
}

/** Without times, unless --fields names them; the id alone with -q. */
function comparedFields<T>(ctx: Context, view: View<T>): readonly Field<T>[] {
  const { fields, format } = ctx.globals;
  if (fields !== undefined) return chosenFields(view, fields);
  if (format === 'id') return [];
  const names = isForPrograms(format) ? undefined : view.tsv;
  const printed = names === undefined ? view.fields : chosenFields(view, names);
  return printed.filter(({ as }) => as !== 'time');
}

function lineByLine<T>(ctx: Context, view: View<T>): Display<T> {
  let failure = '';
  return {
    async show(_, changed) {
      failure = '';
      if (changed.length > 0) await ctx.out.lines({ ...view, line: undefined }, changed);
    },
    async fail(message) {
      if (message !== failure) await ctx.warn(`${message}; the list is read again`);
      failure = message;
    },
  };
}

async function inPlace<T>(
  ctx: Context,
  view: View<T>,
  key: (item: T) => string,
  everyMs: number,
): Promise<Display<T>> {
  const { stdout } = ctx.terminal.io;
  const write = stdout.write.bind(stdout);
  const tableLines = await ctx.out.tableLines(view);
  const every = formatDuration(everyMs);
  let shown: readonly T[] | null = null;
  let marked: ReadonlySet<string> = new Set();
  let readMs = ctx.clock.now();
  let failure: string | null = null;
  const lines = (): readonly string[] => {
    const items = shown ?? [];
    const [heading, ...rows] = tableLines(items, MARGIN);
    const marks = items.map((item) => (marked.has(key(item)) ? '* ' : '  '));
    const all = [`  ${heading}`, ...rows.map((row, index) => `${marks[index]}${row}`)];
    // One less, for the status line.
    const most = Math.max((stdout.rows || UNKNOWN_ROWS) - 1, 1);
    if (all.length <= most) return all;
    return [...all.slice(0, most - 1), `  … ${all.length - most + 1} more`];
  };
  const status = (): string =>
    failure === null
      ? `every ${every}; end with Ctrl-C`
      : `error: ${failure}; last read ${relativeTime(readMs, ctx.clock.now())}`;
  const screen = await ctx.terminal.screen(lines, status);
  const draw = async (): Promise<void> => {
    screen.draw();
    // Throws when the terminal is gone.
    await write('');
  };
  return {
    async show(items, changed) {
      if (shown !== null && changed.length > 0) marked = new Set(changed.map(key));
      [shown, readMs, failure] = [items, ctx.clock.now(), null];
      await draw();
    },
    async fail(message) {
      failure = message;
      await draw();
    },
    end: () => screen.end(),
  };
}
