/** The end of a run: what a terminal shows of it, and the exit code of the command. */
import type { Context } from '../context.ts';
import { EXIT_CODES, isFailure, AppError, nullIf } from '../../base/errors.ts';
import { safeLine } from '../../base/text/safe-text.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Conversation, ConversationStatus } from '../../domain/conversation.ts';
import { lineTotals, type FileLines } from '../../domain/patch.ts';
import type { LinePart } from '../../output/view.ts';
import { GRACE_MS, withinLimit } from '../../runs/deadline.ts';
import type { TrackedRun } from '../../runs/outcome.ts';
import { shortId } from '../shared/bulk.ts';
import { outcomeView } from './conversations.ts';

/** `printed`: its events were, and perhaps the reason, in the newest error among them. */
export type EndedRun = TrackedRun & { printed?: 'events' | 'events-and-reason' };

/** The changed files are read for this time, and left out after it. */
const FILES_MS = 2_000;
const MOST_FILES = 10;

export const FOLLOW = 'follow it: acs conv follow ID';
export const SEND = 'continue it: acs conv chat ID';
const RESUME = 'continue it: acs conv resume ID';
const NEXT: Partial<Record<ConversationStatus, { command: string; hasFiles: boolean }>> = {
  finished: { command: SEND, hasFiles: true },
  idle: { command: SEND, hasFiles: true },
  stuck: { command: SEND, hasFiles: true },
  failed: { command: RESUME, hasFiles: true },
  paused: { command: RESUME, hasFiles: true },
  stopped: { command: RESUME, hasFiles: true },
  waiting: { command: 'answer it: acs conv confirm ID', hasFiles: false },
};

/** Whether a person reads the end of a run: `showEnd` prints it, elsewhere the caller does. */
export function isForPerson({ out, terminal }: Context): boolean {
  return out.isPlain && !terminal.offTerminal;
}

/**
 * Prints the answer, unless it is among the printed events, the outcome, the changed files and the
 * next command.
 */
export async function showEnd(
  ctx: Context,
  { outcome, record, printed }: EndedRun,
  before: 'exit' | 'prompt',
): Promise<void> {
  const { status, exit_code } = outcome;
  // The wait ended before the run did, and the error reports it.
  if (exit_code >= EXIT_CODES.timeout) return;
  if (record !== undefined && printed === undefined && status === 'finished') {
    const answer = await readWithin(ctx, GRACE_MS, null, ({ result }) => result(record));
    if (answer !== null) await ctx.out.raw(`${answer.text.trimEnd()}\n\n`);
  }
  const isReasonPrinted = printed === 'events-and-reason';
  await ctx.out.lines(outcomeView, [isReasonPrinted ? { ...outcome, reason: null } : outcome]);
  if (record === undefined) return;
  const files = NEXT[status]?.hasFiles
    ? await readWithin(ctx, FILES_MS, [], ({ changedFiles }) => changedFiles(record))
    : [];
  await ctx.out.text(fileLines(files));
  const command = nextCommand(record, status, files, before);
  if (command !== undefined) await showNext(ctx, record, command);
}

/** Before a prompt, which continues the run, only the command that takes the files. */
function nextCommand(
  { repository }: Conversation,
  status: ConversationStatus,
  files: readonly FileLines[],
  before: 'exit' | 'prompt',
): string | undefined {
  const folder = repository === null ? ' -o <folder>' : '';
  if (status === 'finished' && files.length > 0)
    return `take the changes: acs conv pull ID${folder}`;
  return before === 'exit' ? NEXT[status]?.command : undefined;
}

/** On a terminal the next command, with the short id and the profile of this command. */
export async function showNext(
  ctx: Context,
  { id }: Pick<Conversation, 'id'>,
  command: string,
): Promise<void> {
  if (!ctx.out.isPlain) return;
  const { profile } = ctx.globals;
  const at = profile === undefined ? '' : ` -p ${profile}`;
  await ctx.notice(command.replace('ID', () => `${shortId(id)}${at}`));
}

/** `otherwise` where that fails, or takes longer. */
async function readWithin<T>(
  ctx: Context,
  mostMs: number,
  otherwise: T,
  read: (conversations: Server['conversations']) => Promise<T>,
): Promise<T> {
  const over = new AppError('timeout', 'the end of the run was not read in time');
  const server = await ctx.servers.active();
  const result = await withinLimit(ctx, server, { mostMs, over }, ({ conversations }) =>
    read(conversations),
  ).catch(nullIf(isFailure));
  return result ?? otherwise;
}

export function fileLines(files: readonly FileLines[]): LinePart[][] {
  const lines = files
    .slice(0, MOST_FILES)
    .map(({ path, ...counts }) => [{ text: safeLine(path) }, ...countParts(counts)]);
  if (files.length <= MOST_FILES) return lines;
  const left = { text: `… ${files.length - MOST_FILES} more; ${files.length} files` };
  return [...lines, [left, ...countParts(lineTotals(files))]];
}

/** Nothing for a binary file, and where the server returns no counts. */
function countParts({ added, removed }: Pick<FileLines, 'added' | 'removed'>): LinePart[] {
  if (added === null || removed === null) return [];
  return [
    { text: ` +${added}`, tone: 'good' },
    { text: ` −${removed}`, tone: 'bad' },
  ];
}

/** Prints with `showEnd` for a person, else with `print`; then as `endAs`. */
export async function endRun(
  ctx: Context,
  run: EndedRun,
  print: (ctx: Context, run: EndedRun) => Promise<void>,
): Promise<void> {
  const isShown = isForPerson(ctx);
  await (isShown ? showEnd(ctx, run, 'exit') : print(ctx, run));
  await endAs(ctx, run, isShown);
}

export async function printOutcomeItem(ctx: Context, { outcome }: EndedRun): Promise<void> {
  await ctx.out.item(outcomeView, outcome);
}

/** Sets the exit code, or throws the failure. @param isShown by `showEnd` */
export async function endAs(
  ctx: Context,
  { outcome, failure }: TrackedRun,
  isShown = false,
): Promise<void> {
  if (failure !== null) {
    // An error drops an unfinished --output.
    await ctx.out.close();
    throw failure;
  }
  ctx.exitCode = outcome.exit_code;
  const { conversation_id: id, status, reason } = outcome;
  if (outcome.exit_code !== 0)
    await ctx.terminal.quietError(
      `conversation ${id}: ${status}${reason === null ? '' : `: ${reason.text}`}`,
    );
  if (status === 'waiting' && !isShown) await ctx.notice(`answer it: acs conv confirm ${id}`);
}
