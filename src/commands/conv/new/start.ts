import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../../context.ts';
import {
  AppError,
  DryRunStop,
  EXIT_CODES,
  isAppError,
  isFailure,
  isForReader,
  nullIf,
} from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import { blankConversation, type Conversation } from '../../../domain/conversation.ts';
import { startDiffers, type NewConversation } from '../../../domain/new-conversation.ts';
import { formatDuration } from '../../../base/text/time.ts';
import { timeLimit, withinLimit, type Limits } from '../../../runs/deadline.ts';
import { NOT_READ, NO_EVENTS, outcomeOf } from '../../../runs/outcome.ts';
import type { Progress } from '../../../terminal/progress.ts';
import { changeLine, shortId } from '../../shared/bulk.ts';
import { rememberLast } from '../../shared/resource.ts';
import { endRun, FOLLOW, showNext, type EndedRun } from '../end-of-run.ts';
import { printOutcome, watchRun } from '../follow.ts';
import { keepTitle, noticeOwnTitle } from '../rename.ts';
import { conversationView, idOrTaskId } from '../conversations.ts';
import { untilOf, type NewOptions } from './options.ts';
import { isCutOff, isRefusal, reportStart, UNSENT, type Stage, type TakenStart } from './stage.ts';
import { afterEnd, GRACE, stopEarly, type EarlyEnd, type Late } from './stop-on-exit.ts';

export interface StartOptions extends NewOptions, Limits {
  /** Called before a stage is printed, and with `sent` before the request goes out. */
  onStage?: (stage: Stage) => void;
}

export class Start {
  stage: Stage = UNSENT;
  conversation: Conversation = blankConversation('', 'starting');
  /** Null: this command has sent no start. */
  sentMs: number | null = null;
  /** Null until the run was waited for. */
  tracked: EndedRun | null = null;
  readonly ctx: Context;
  readonly server: Server;
  private readonly options: StartOptions;
  private printedId: string | null = null;
  /** The value of `@last`. */
  private last: string | null = null;
  private changed = true;
  private startedMs = 0;

  constructor(ctx: Context, server: Server, options: StartOptions) {
    this.ctx = ctx;
    this.server = server;
    this.options = options;
  }

  /** @param known the conversation that has the id of the request already: nothing is sent */
  async run(
    request: NewConversation,
    known: Conversation | null,
    onStarted?: () => void,
  ): Promise<void> {
    if (known === null) {
      await this.begin(request);
      onStarted?.();
    } else {
      this.changed = false;
      this.conversation = known;
      const title = known.title === null ? '' : `, "${known.title}"`;
      const started = known.created_at === null ? '' : ` since ${known.created_at}`;
      await this.take('started', known, `exists${started}${title}; nothing was sent`);
      if (this.ctx.globals.mode === 'dry-run') throw new DryRunStop();
    }
    if (untilOf(this.options) === 'ended') await this.track();
  }

  private async begin(request: NewConversation): Promise<void> {
    const { ctx, options } = this;
    const text = `the conversation has not started after ${formatDuration(options.waitMs)}`;
    const over = new AppError('timeout', text, { data: { reason: 'timeout' } });
    const limit = timeLimit(ctx, options.deadlineMs - ctx.clock.now(), over);
    const signal = AbortSignal.any([ctx.signal, limit.signal]);
    const until = untilOf(options);
    let progress: Progress | null = null;
    try {
      const server = await this.server.withSignal(signal);
      const steps = server.conversations.start(request, {
        signal,
        until: until === 'accepted' ? 'accepted' : 'started',
        beforeSend: (sent) => this.enter({ at: 'sent', sent }),
      });
      let next = await steps.next();
      for (; next.done !== true; next = await steps.next()) {
        const { conversation_id: id, start_task_id, step } = next.value;
        await this.take('task', { id, start_task_id });
        const shown = `start: ${step}`;
        if (progress === null) progress = await ctx.terminal.progress(shown);
        else progress.update(shown);
      }
      this.conversation = next.value;
      this.startedMs = ctx.clock.now();
      await this.take(this.conversation.id === '' ? 'task' : 'started', this.conversation);
      await this.setTitle(server);
      if (until === 'started') await this.compareTitle(server);
    } catch (error) {
      await progress?.done();
      if (!isForReader(error)) throw error;
      if (this.stage.at === 'sent' && isRefusal(error)) this.enter(UNSENT);
      throw await afterEnd(ctx, this.server, (late) => this.conclude(error, late));
    } finally {
      limit.clear();
    }
    await progress?.done();
  }

  private enter(stage: Stage): void {
    this.options.onStage?.(stage);
    if (stage.at === 'sent') this.sentMs = this.ctx.clock.now();
    this.stage = stage;
  }

  /** Follows a start of another command. */
  async attach(conversation: Conversation): Promise<void> {
    await this.take('started', conversation);
    await this.track(conversation);
  }

  /** After each answer about the start: stores and prints the ids that are new. */
  private async take(
    at: TakenStart['at'],
    answer: Pick<Conversation, 'start_task_id'> & { id: string | null; url?: string | null },
    remark?: string,
  ): Promise<void> {
    const { ctx, server, stage } = this;
    const isTaken = stage.at === 'task' || stage.at === 'started';
    const before = isTaken ? stage : { id: null, start_task_id: null };
    const id = answer.id || before.id;
    const start_task_id = answer.start_task_id || before.start_task_id;
    const last = at === 'started' ? id : (start_task_id ?? id);
    // A step before the first id: the sandbox is being prepared.
    if (last === null) return;
    const taken = { at, id, start_task_id };
    if (id !== before.id || start_task_id !== before.start_task_id) this.enter(taken);
    else this.stage = taken;
    if (last !== this.last && ctx.globals.mode !== 'dry-run')
      await rememberLast(ctx, server, (this.last = last));
    if (id !== null && id !== this.printedId) await this.printId(id, answer.url, remark);
  }

  /** Called again where the server has chosen another id than the one it was sent. */
  private async printId(id: string, url: string | null | undefined, remark = ''): Promise<void> {
    const { ctx, server, printedId: before } = this;
    const { idFile } = this.options;
    const { format, mode } = ctx.globals;
    this.printedId = id;
    if (mode !== 'dry-run' && idFile !== undefined)
      await writeFile(path.resolve(ctx.local.cwd, idFile), `${id}\n`).catch(
        async ({ code }: NodeJS.ErrnoException) =>
          await ctx.warn(`could not write ${idFile}: ${code}; the conversation continues`),
      );
    const hasPages = server.presence('web-interface') !== 'absent';
    const page = url ?? (hasPages ? `${server.info.base_url}/conversations/${id}` : null);
    await ctx.notice(`conversation ${id} ${remark || ` ${page ?? ''}`}`.trimEnd());
    if (format !== 'id' && format !== 'ndjson') return;
    if (before !== null)
      // A program that reads stdout has the other id already.
      throw startDiffers(`the server ignored the id ${before} and started conversation ${id}`, id, {
        requested: before,
        received: id,
      });
    if (format === 'id') await ctx.out.item(conversationView, blankConversation(id, 'starting'));
    else await ctx.out.record({ type: 'started', id, url: page });
  }

  /** Servers ignore a title in the start. */
  private async setTitle(server: Server): Promise<void> {
    const title = this.requestedTitle();
    if (title === null) return;
    const { id } = this.conversation;
    const renamed = await this.orWithoutTitle(server.conversations.rename(id, title));
    this.conversation.title = renamed.title;
  }

  /** A server may ignore the rename, or replace the title with its own within half a minute. */
  private async compareTitle(server: Server): Promise<void> {
    const requested = this.requestedTitle();
    if (requested === null) return;
    const { ctx, conversation, startedMs } = this;
    const { id } = conversation;
    const compared = await this.orWithoutTitle(keepTitle(ctx, server, id, requested));
    const { title: received } = compared.record;
    conversation.title = received;
    if (received !== requested) {
      const text =
        `the server ignored --title ${JSON.stringify(requested)}: the conversation is called ` +
        JSON.stringify(received);
      throw startDiffers(text, id, { requested, received });
    }
    if (!compared.isReplaced && ctx.clock.now() - startedMs < 60_000)
      await noticeOwnTitle(ctx, server, conversation);
  }

  private requestedTitle(): string | null {
    return this.changed ? (this.options.title?.trim() ?? null) : null;
  }

  private async orWithoutTitle<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      if (!isFailure(error)) throw error;
      const { id } = this.conversation;
      const limit = formatDuration(this.options.waitMs);
      const why =
        error.kind === 'timeout' ? `the server did not answer within ${limit}` : error.message;
      throw error.with(
        {
          // The same command would start another run.
          retryable: false,
          hint: `set it: acs conv rename ${id} <title>\nstop it: acs conv stop ${id}`,
          data: { ...error.details.data, conversation_id: id },
        },
        `conversation ${id} has started, but --title was not set: ${why}`,
      );
    }
  }

  private async track(conversation = this.conversation): Promise<void> {
    const { ctx, server, options } = this;
    const { deadlineMs, waitMs, onConfirm } = options;
    const { format } = ctx.globals;
    const tracked = await watchRun(ctx, server, conversation, {
      deadlineMs,
      waitMs,
      atDeadline: options.stopOnExit ? 'stop' : 'read',
      summary: NO_EVENTS,
      follow: options.follow === true && format !== 'json' && format !== 'id',
      onConfirm,
    });
    const { status, reason, waiting_for } = tracked.outcome;
    this.conversation = {
      ...conversation,
      status,
      reason,
      waiting_for,
      // The server's own word for another status is not known.
      execution_status: status === conversation.status ? conversation.execution_status : null,
    };
    this.tracked = tracked;
    if (tracked.failure !== null) await this.leaveRun(tracked, tracked.failure);
    else if (status !== 'deleted') await this.completeRun(tracked);
  }

  private async leaveRun({ outcome }: EndedRun, failure: AppError): Promise<void> {
    const { ctx, server, options } = this;
    const { start_task_id } = this.conversation;
    const signal: unknown = ctx.signal.reason;
    const why =
      failure.kind !== 'timeout' && isAppError(signal)
        ? signal.message
        : `the time limit of ${formatDuration(options.waitMs)} has passed`;
    const { end, after } = await afterEnd(ctx, server, (late) =>
      this.stopped(late, failure, why, this.conversation),
    );
    const code = outcome.reason?.code ?? failure.kind;
    const reason = end === failure ? outcome.reason : { code, text: end.message };
    this.conversation = { ...(after ?? this.conversation), start_task_id, reason };
    const { status, waiting_for } = this.conversation;
    const { cost_usd } = after ?? outcome;
    this.tracked = {
      outcome: { ...outcome, status, waiting_for, cost_usd, reason },
      failure: end,
    };
  }

  /** Reads the metrics of a run that has ended, and compares the title. */
  private async completeRun(tracked: EndedRun): Promise<void> {
    const { ctx, server, options } = this;
    const { id, start_task_id } = this.conversation;
    const { status, reason, waiting_for, exit_code } = tracked.outcome;
    const read = ({ conversations }: Server) => conversations.getComplete(id);
    // The record of an idle run has no metrics yet.
    const known = tracked.record?.status === 'idle' ? undefined : tracked.record;
    const last = known ?? (await withinLimit(ctx, server, GRACE, read).catch(nullIf(isAppError)));
    if (last !== null) this.conversation = { ...last, start_task_id, status, reason, waiting_for };
    // The title was requested: it may take the time that is left.
    const mostMs = Math.max(GRACE.mostMs, options.deadlineMs - ctx.clock.now());
    try {
      await withinLimit(ctx, server, { ...GRACE, mostMs }, (own) => this.compareTitle(own));
    } catch (failure) {
      if (!isAppError(failure)) throw failure;
      if (exit_code === EXIT_CODES.ok) this.tracked = { ...tracked, failure };
      else await ctx.warn(failure.message);
    }
  }

  /** @returns the error with which the command ends; with json it is also printed as an outcome */
  private async conclude(error: AppError, late: Late): Promise<AppError> {
    const { ctx, server } = this;
    // Null: the start may have been taken, and the server chooses the id.
    const maybeId = error.details.data?.['conversation_id'];
    if (this.stage.at === 'sent' && maybeId === null && isCutOff(error)) {
      const task = await late.server.conversations
        .findStart(this.stage.sent)
        .catch(nullIf(isFailure));
      if (task !== null) await this.take('task', task);
    }
    const { stage } = this;
    let ending: { name: string; why: string; failure: AppError };
    let conversation: Conversation;
    if (stage.at === 'task' || stage.at === 'started') {
      const status = error.kind === 'failed' ? 'failed' : 'starting';
      const { id, start_task_id } = stage;
      ending = reportStart(stage, error);
      conversation = { ...blankConversation(id ?? '', status), start_task_id };
    } else {
      if (maybeId === null) await rememberLast(ctx, server, null);
      if (typeof maybeId !== 'string') return error;
      await rememberLast(ctx, server, maybeId);
      ending = { name: maybeId, why: error.message, failure: error };
      conversation = blankConversation(maybeId, NOT_READ);
    }
    const { start_task_id } = conversation;
    const { end, after } = await this.stopped(late, ending.failure, ending.why, {
      ...blankConversation(ending.name, 'starting'),
      start_task_id,
    });
    const ownReason = end.details.data?.['reason'];
    const reason = {
      code: typeof ownReason === 'string' ? ownReason : error.kind,
      text: end.message,
    };
    const { dialect } = server.info;
    this.conversation = { ...(after ?? { ...conversation, dialect }), start_task_id, reason };
    const named = { ...this.conversation, id: idOrTaskId(this.conversation) };
    this.tracked = {
      outcome: outcomeOf(named, NO_EVENTS, end.exitCode, reason),
      failure: end,
    };
    const { format } = ctx.globals;
    if (format === 'json' || format === 'ndjson') await this.printRun(this.tracked);
    return end;
  }

  private async stopped(
    late: Late,
    failure: AppError,
    why: string,
    conversation: Conversation,
  ): Promise<EarlyEnd> {
    const { stopOnExit, sandbox } = this.options;
    if (!stopOnExit || !isCutOff(failure)) return { end: failure, after: null };
    const ownsSandbox = sandbox === undefined;
    return await stopEarly(this.ctx, late, { failure, why, conversation, ownsSandbox });
  }

  async print(): Promise<void> {
    const { ctx, conversation } = this;
    if (this.tracked !== null) return await this.printRun(this.tracked);
    if (ctx.globals.format === 'id' && this.printedId !== null) return;
    const id = conversation.id || (this.printedId ?? '');
    const { changed } = this;
    if (id === '') {
      const task = conversation.start_task_id ?? '';
      await ctx.notice(`start task ${task}: acs conv wait takes its id`);
      return await ctx.out.item(conversationView, conversation, { changed });
    }
    const record = { ...conversation, id };
    const line = changeLine('started', shortId(id), { changed, after: conversation.status });
    await ctx.out.change(conversationView, record, changed, line);
    await showNext(ctx, record, FOLLOW);
  }

  private async printRun(tracked: EndedRun): Promise<void> {
    const { ctx, conversation, changed } = this;
    const { format } = ctx.globals;
    const { outcome, failure } = tracked;
    await endRun(ctx, tracked, async () => {
      if (format === 'ndjson') return await ctx.out.record({ ...outcome });
      if (format === 'json') {
        const error = failure && { error: { code: failure.kind, message: failure.message } };
        return await ctx.out.item(conversationView, conversation, { changed, outcome, ...error });
      }
      if (format !== 'id' && this.options.follow) return await printOutcome(ctx, tracked);
      if (format !== 'id') await ctx.out.item(conversationView, conversation, { changed });
      // A row of a conversation has no column for it.
      if (outcome.exit_code === EXIT_CODES.failed && outcome.reason !== null)
        await ctx.notice(`${outcome.status}: ${outcome.reason.text}`);
    });
  }
}
