/**
 * The way of every command that changes sandboxes: which ones, the question before, what protects a run in progress,
 * and the result. Each verb brings its own change.
 */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { SANDBOX_STATUSES } from '../../domain/conversation.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { changeEach, changeOne, confirmChange, endOfDryRun, readIds, type Change } from '../bulk.ts';
import type { TimedContext } from '../../runs/deadline.ts';
import { hasSeveralProfiles } from '../paging.ts';
import { addSelectorOptions, asksForRuns, readSelection, type SelectorOptions } from '../selectors.ts';
import { chooseByIds, chooseBySelector, type SandboxTarget } from './choose.ts';
import { sandboxFinder } from './find.ts';
import { isSandboxSelected, runsIn } from './runs.ts';
import { addWaitTimeout, checkLimitHasWait, gone, type WaitOptions } from './settle.ts';
import { sandboxView } from './view.ts';

export interface ChangeOptions extends SelectorOptions, WaitOptions {
  all?: boolean;
  force?: boolean;
  ignoreNotFound?: boolean;
}

export interface SandboxVerb {
  /** `pause`, for questions. */
  word: string;
  /** `paused`, for the summary. */
  past: string;
  /** Whether it must be answered for even when the ids are given. */
  asks: 'always' | 'by-selector';
  /** Whether it cuts off a run in progress: such sandboxes are left alone unless --force. */
  interrupts: 'runs' | 'nothing';
  apply(ctx: TimedContext, target: SandboxTarget, options: ChangeOptions): Promise<Change<Sandbox>>;
}

export function addChangeOptions(command: Command): Command {
  command.argument('[id...]', 'sandboxes; - reads ids from stdin');
  addSelectorOptions(command, SANDBOX_STATUSES);
  command
    .option('--all', 'select every sandbox')
    .option('--wait', 'return when the change is done (default)')
    .option('--no-wait', 'return as soon as the server has accepted the request');
  return addWaitTimeout(command);
}

/** Runs a verb over ids or selectors; prints the object for one id, a bulk result for anything else. */
export async function changeSandboxes(
  ctx: TimedContext,
  verb: SandboxVerb,
  given: readonly string[],
  options: ChangeOptions,
): Promise<void> {
  const selection = readSelection(options);
  const bySelector = selection !== null || options.all === true;
  checkChoice(verb, given, bySelector);
  checkLimitHasWait(options);
  const single = given.length === 1 && given[0] !== '-' && !hasSeveralProfiles(ctx);
  ctx.out.check(sandboxView, single ? 'item' : 'bulk');
  if (single) return await changeNamed(ctx, verb, given[0] ?? '', options);
  const chosen = bySelector
    ? await chooseBySelector(ctx, readSelection(options))
    : await chooseByIds(ctx, await readIds(ctx, given), options.ignoreNotFound ? 'ignore' : 'report');
  if (chosen.targets.length > 0) await ask(ctx, verb, chosen.targets, bySelector);
  await changeEach(ctx, {
    targets: chosen.targets,
    lost: chosen.lost,
    past: verb.past,
    apply: (target) => applySafely(ctx, verb, target as SandboxTarget, { ...options, bySelector }),
  });
}

function checkChoice(verb: SandboxVerb, given: readonly string[], bySelector: boolean): void {
  if (given.length > 0 && bySelector) {
    throw new AppError('usage', 'give either ids or selectors, not both');
  }
  if (given.length === 0 && !bySelector) {
    throw new AppError('usage', `sandbox ${verb.word} needs an id or a selector`, {
      hint: `acs sandbox ${verb.word} <id>, --status <word>, --idle <duration>, … or --all`,
    });
  }
}

async function changeNamed(ctx: TimedContext, verb: SandboxVerb, word: string, options: ChangeOptions): Promise<void> {
  const server = await ctx.server();
  const seen = await findOrIgnore(ctx, server, word, options);
  if (seen === null && ctx.globals.mode === 'dry-run') throw endOfDryRun();
  if (seen === null) return await ctx.out.item(sandboxView, gone(word), { changed: false });
  const target: SandboxTarget = { id: seen.id, server, seen, company: 'alone' };
  await ask(ctx, verb, [target], false);
  await changeOne(ctx, sandboxView, target, () => applySafely(ctx, verb, target, { ...options, bySelector: false }));
}

async function findOrIgnore(
  ctx: Context,
  server: Server,
  word: string,
  { ignoreNotFound }: ChangeOptions,
): Promise<Sandbox | null> {
  try {
    return await sandboxFinder(ctx, server).find(word);
  } catch (error) {
    if (ignoreNotFound && isAppError(error) && error.kind === 'not-found') return null;
    throw error;
  }
}

async function ask(
  ctx: Context,
  verb: SandboxVerb,
  targets: readonly SandboxTarget[],
  bySelector: boolean,
): Promise<void> {
  if (!bySelector && verb.asks !== 'always') return;
  const sandboxes = targets.length === 1 ? `sandbox ${targets[0]?.id ?? ''}` : `${targets.length} sandboxes`;
  const conversations = targets.reduce((sum, { seen }) => sum + seen.conversation_ids.length, 0);
  const carried = conversations === 0 ? '' : ` with ${conversations} conversation${conversations === 1 ? '' : 's'}`;
  await confirmChange(ctx, { message: `${verb.word} ${sandboxes}${carried}?`, hit: targets.map(hitLine) });
}

function hitLine({ id, profile, seen }: SandboxTarget): string {
  const conversations = seen.conversation_ids.length === 0 ? 'none' : seen.conversation_ids.join(', ');
  const at = profile === undefined ? '' : ` of ${profile}`;
  return `sandbox ${id}${at} (${seen.status}), conversations: ${conversations}`;
}

/** Looks again, because much may have changed since it was chosen, and spares a run in progress. */
async function applySafely(
  ctx: TimedContext,
  verb: SandboxVerb,
  target: SandboxTarget,
  options: ChangeOptions & { bySelector: boolean },
): Promise<Change<Sandbox>> {
  const { server, id } = target;
  const isProtected = verb.interrupts === 'runs' && !options.force && (options.bySelector || verb.asks === 'always');
  const selection = readSelection(options);
  const runs = isProtected || asksForRuns(selection) ? await runsIn(ctx, server, id) : [];
  if (isProtected && runs.length > 0) {
    const names = runs.map((run) => `${run.id} (${run.status})`).join(', ');
    throw new AppError('conflict', `sandbox ${id} has a run in progress: ${names}`, {
      hint: `wait for it, stop it with acs conv stop, or ${verb.word} the sandbox with --force`,
    });
  }
  if (selection !== null) {
    const now = await server.sandboxes.get(id);
    if (!isSandboxSelected(now, runs.length > 0, selection, ctx.clock.now())) {
      throw new AppError('conflict', `sandbox ${id} is ${now.status} now and no longer matches the selectors`);
    }
  }
  return await verb.apply(ctx, target, options);
}
