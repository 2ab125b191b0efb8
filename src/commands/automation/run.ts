import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, EXIT_CODES, isOfKind } from '../../base/errors.ts';
import { formatDuration } from '../../base/text/time.ts';
import type { Server } from '../../client/shared/server.ts';
import { endOfRun, type AutomationRun } from '../../domain/automation.ts';
import type { Limits } from '../../runs/deadline.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import { printOutcome, showRun, type RunOptions } from '../conv/follow.ts';
import { eventView } from '../conv/event-view.ts';
import { endRun } from '../conv/end-of-run.ts';
import { explain } from '../shared/declare.ts';
import { withinDeadline } from '../shared/derived-context.ts';
import { addWaitTimeout, checkLimitHasWait, limitsOf, RUN_EXITS } from '../shared/wait-limit.ts';
import { findAutomation, ONE, runView } from './automations.ts';

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<automation>', ONE)
    .option('-w, --wait', 'wait until the run ends')
    .option('-f, --follow', 'print the events of its conversation, and wait until the run ends');
  addWaitTimeout(command);
  explain(command, {
    notes: [
      'With --wait and --follow acs exits with the outcome of the run: completed 0, failed 1, ' +
        'cancelled or skipped 6. Ctrl-C and a deadline end the wait; the run continues.',
      'On a backend the conversation is followed as soon as it exists. The service of the cloud ' +
        'names it when the run has ended; its events are printed then.',
    ],
    json: ({ objectForm }) => [
      objectForm(runView, 'changed'),
      ['--follow, one a line', objectForm(eventView(null))],
      ['--follow, last', objectForm(runView)],
    ],
    exits: [...RUN_EXITS, 'unknown-outcome', 'unsupported'],
    examples: {
      "acs automation run 'Nightly tests' --follow": 'start it and watch it',
      "acs automation run 'Nightly tests' --wait --wait-timeout 30m": 'try it in CI',
    },
  });
  command.action(async (word: string, options: RunOptions) => {
    const { wait = false, follow = false } = options;
    if (follow) ctx.out.check(eventView(null), 'stream');
    else ctx.out.check(runView, 'item');
    const isWaiting = wait || follow;
    checkLimitHasWait(options, isWaiting, 'needs --wait or --follow');
    const limits = limitsOf(ctx, options);
    const { server, automation, requested } = await withinDeadline(ctx, limits, (timed) =>
      dispatch(timed, word),
    );
    if (!isWaiting) return await ctx.out.item(runView, requested, { changed: true });

    const { id, name } = automation;
    await ctx.notice(`run ${requested.id} of ${name} is requested`);
    const watched = new WatchedRun(id, requested);
    if (follow && (await watched.conversation(ctx, limits)) !== null) {
      const active = await server.withSignal(ctx.signal);
      const conversation = await active.conversations.get(watched.conversationId ?? '');
      const tracked = await showRun(ctx, active, conversation, { ...options, ...limits });
      const { exit_code: code } = tracked.outcome;
      const hasEnded = code === EXIT_CODES.ok || code === EXIT_CODES.failed;
      if (tracked.failure !== null || !hasEnded) {
        return await endRun(ctx, tracked, printOutcome);
      }
    }
    const ended = await watched.end(ctx, limits);
    if (follow) await ctx.out.lines(runView, [ended]);
    else await ctx.out.item(runView, ended, { changed: true });
    ctx.exitCode = EXIT_CODES[endOfRun(ended) ?? 'failed'];
    if (ctx.exitCode === EXIT_CODES.ok) return;
    const why = ended.error === null ? '' : `: ${ended.error}`;
    await ctx.terminal.quietError(`run ${ended.id}: ${ended.status}${why}`);
  });
}

async function dispatch(ctx: Context, word: string) {
  const server = await ctx.servers.active();
  const automation = await findAutomation(server, word);
  return { server, automation, requested: await server.automations.dispatch(automation.id) };
}

/** A run that the service shows in the list of its automation only. */
class WatchedRun {
  conversationId: string | null = null;
  readonly #automationId: string;
  #run: AutomationRun;

  constructor(automationId: string, run: AutomationRun) {
    this.#automationId = automationId;
    this.#run = run;
  }

  /** Null when the run has ended without one. */
  async conversation(ctx: Context, limits: Limits): Promise<string | null> {
    await this.#poll(ctx, limits, async ({ automations }) => {
      this.conversationId = await automations.conversationOf(this.#run);
      return this.conversationId !== null || endOfRun(this.#run) !== null;
    });
    return this.conversationId;
  }

  async end(ctx: Context, limits: Limits): Promise<AutomationRun> {
    const hasEnded = () => endOfRun(this.#run) !== null;
    if (!hasEnded()) await this.#poll(ctx, limits, () => Promise.resolve(hasEnded()));
    return this.#run;
  }

  async #poll(
    ctx: Context,
    limits: Limits,
    isReached: (server: Server) => Promise<boolean>,
  ): Promise<void> {
    const progress = await ctx.terminal.progress(this.#line());
    const read = async (server: Server): Promise<true | undefined> => {
      const { items } = await server.automations.runs(this.#automationId, null);
      this.#run = items.find(({ id }) => id === this.#run.id) ?? this.#run;
      progress.update(this.#line());
      return (await isReached(server)) || undefined;
    };
    try {
      await withinDeadline(ctx, limits, async ({ clock, signal, servers, deadline }) => {
        const server = await servers.active();
        await poll(() => read(server), { clock, signal, every: STEADY }).catch((error: unknown) => {
          if (deadline.isOver(error)) throw this.#stillGoesOn(limits);
          throw error;
        });
      });
    } catch (error) {
      if (!isOfKind('interrupted')(error)) throw error;
      const { id, status } = this.#run;
      const data = { reason: 'interrupted', run_id: id, last_status: status };
      throw error.with(
        { hint: this.#nextSteps(), data },
        `${error.message}; run ${id} (${status}) continues`,
      );
    } finally {
      await progress.done();
    }
  }

  #line(): string {
    const { id, status, phase } = this.#run;
    return `run ${id}: ${status}${phase === null ? '' : ` · ${phase}`}`;
  }

  #stillGoesOn({ waitMs }: Limits): AppError {
    const { id, status, phase } = this.#run;
    const where = phase === null ? '' : ` (${phase})`;
    const after = formatDuration(waitMs);
    const text = `run ${id} is still ${status}${where} after ${after}; it continues`;
    const data = { reason: 'timeout', run_id: id, last_status: status };
    return new AppError('timeout', text, { hint: this.#nextSteps(), data });
  }

  #nextSteps(): string {
    const { id } = this.#run;
    return `see it: acs automation runs ${this.#automationId}\nstop it: acs automation stop ${id}`;
  }
}
