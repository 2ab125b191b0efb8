/** The id is printed as soon as it exists: the run may continue whatever happens afterwards. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../../context.ts';
import {
  AppError,
  DryRunStop,
  EXIT_CODES,
  isAppError,
  isFailure,
  READER_GONE,
} from '../../../base/errors.ts';
import type {
  SentStart,
  Server,
  StartOptions as SendOptions,
} from '../../../client/shared/server.ts';
import { blankConversation, type Conversation } from '../../../domain/conversation.ts';
import type { NewConversation } from '../../../domain/new-conversation.ts';
import { formatDuration } from '../../../base/text/time.ts';
import { timeLimit, withinLimit, type Limits } from '../../../runs/deadline.ts';
import {
  interruption,
  NOT_READ,
  NO_EVENTS,
  outcomeOf,
  type TrackedRun,
} from '../../../runs/outcome.ts';
import { trackRun } from '../../../runs/tracker.ts';
import type { Progress } from '../../../terminal/progress.ts';
import { rememberLast } from '../../shared/resource.ts';
import { answerer } from '../confirm.ts';
import { showOutcome, showRun } from '../follow.ts';
import { keepTitle, noticeOwnTitle } from '../rename.ts';
import { conversationView, idOf } from '../conversations.ts';
import { endAs } from '../wait.ts';
import { untilOf, type NewOptions } from './options.ts';
import { afterEnd, GRACE, stopEarly, type EarlyEnd, type Late } from './stop-on-exit.ts';

export interface StartOptions extends NewOptions, Limits {
  beforeSend?: SendOptions['beforeSend'];
  /** Called with each step of the start, before it is printed. */
  onStep?: (step: { id: string | null; start_task_id: string | null }) => Promise<void>;
}

export class Start {
  conversation: Conversation = blankConversation('', 'starting');
  /** Null until the run was waited for. */
  tracked: TrackedRun | null = null;
  private readonly ctx: Context;
  private readonly server: Server;
  private readonly options: StartOptions;
  private id: string | null = null;
  private startTaskId: string | null = null;
  private sent: SentStart | null = null;
  /** What `@last` stands for. */
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
      await this.step(known, `exists${started}${title}; nothing was sent`);
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
    const until = untilOf(options) === 'accepted' ? 'accepted' : 'started';
    const beforeSend = async (sent: SentStart): Promise<void> => {
      await options.beforeSend?.(sent);
      this.sent = sent;
    };
    let progress: Progress | null = null;
    try {
      const server = await this.server.withSignal(signal);
      const steps = server.conversations.start(request, { signal, until, beforeSend });
      let next = await steps.next();
      for (; next.done !== true; next = await steps.next()) {
        const { conversation_id: id, start_task_id, step } = next.value;
        await this.step({ id: id ?? '', start_task_id });
        const shown = `start: ${step}`;
        if (progress === null) progress = await ctx.progress(shown);
        else progress.update(shown);
      }
      this.conversation = next.value;
      this.startedMs = ctx.clock.now();
      await this.step(this.conversation);
      // Servers ignore a title in the start.
      await this.setTitle(server, 'set');
      if (untilOf(options) === 'started') await this.setTitle(server, 'compare');
    } catch (error) {
      await progress?.done();
      throw await this.failed(error);
    } finally {
      limit.clear();
    }
    await progress?.done();
  }

  /**
   * Names the id when it is new: also a second one, which the server has chosen instead of the one
   * it was sent.
   */
  async step(
    {
      id,
      start_task_id,
      url,
    }: Pick<Conversation, 'id' | 'start_task_id'> & { url?: string | null },
    remark?: string,
  ): Promise<void> {
    const { ctx, server, options, id: before } = this;
    const { format, mode } = ctx.globals;
    this.startTaskId = start_task_id || this.startTaskId; // V0 has none
    await options.onStep?.({ id: id || null, start_task_id: this.startTaskId });
    // Until it has started, the server may choose another id than the one it was sent.
    const last = this.conversation.id || this.startTaskId || id;
    if (last !== '' && last !== this.last && mode !== 'dry-run')
      await rememberLast(ctx, server, (this.last = last));
    if (id === '' || id === before) return;
    this.id = id;
    if (mode !== 'dry-run' && options.idFile !== undefined)
      await writeFile(path.resolve(ctx.cwd, options.idFile), `${id}\n`).catch(
        async (error: NodeJS.ErrnoException) => {
          await ctx.warn(
            `could not write ${options.idFile}: ${error.code}; the conversation continues`,
          );
        },
      );
    const hasPages = server.presence('web-interface') !== 'absent';
    const shownUrl = url ?? (hasPages ? `${server.info.base_url}/conversations/${id}` : null);
    await ctx.notice(`conversation ${id} ${remark ?? ` ${shownUrl ?? ''}`}`.trimEnd());
    if (before === null) {
      if (format === 'id') await ctx.out.item(conversationView, blankConversation(id, 'starting'));
      if (format === 'ndjson') await ctx.out.record({ type: 'started', id, url: shownUrl });
    } else if (format === 'id' || format === 'ndjson')
      // A program that reads stdout has the other id already.
      throw new AppError(
        'server',
        `the server ignored the id ${before} and started conversation ${id}`,
        {
          hint: `it runs as ${id}; stop it: acs conv stop ${id}`,
          data: { conversation_id: id, requested: before, received: id },
        },
      );
  }

  /**
   * `compare`: at the end of what the command waits for, because a server may replace the title or
   * ignore the rename.
   */
  private async setTitle(server: Server, how: 'set' | 'compare'): Promise<void> {
    const { id } = this.conversation;
    const requested = this.options.title?.trim();
    if (requested === undefined || !this.changed) return;
    let isReplaced = false;
    try {
      if (how === 'compare') {
        const compared = await keepTitle(this.ctx, server, id, requested);
        isReplaced = compared.isReplaced;
        this.conversation.title = compared.record.title;
      } else this.conversation.title = (await server.conversations.rename(id, requested)).title;
    } catch (error) {
      if (!isFailure(error)) throw error;
      const limit = formatDuration(this.options.waitMs);
      const why =
        error.kind === 'timeout' ? `the server did not answer within ${limit}` : error.message;
      throw new AppError(
        error.kind,
        `conversation ${id} has started, but --title was not set: ${why}`,
        {
          ...error.details,
          // The same command would start another run.
          retryable: false,
          hint: `set it: acs conv rename ${id} <title>\nstop it: acs conv stop ${id}`,
          data: { ...error.details.data, conversation_id: id },
        },
      );
    }
    if (how === 'set') return;
    const { title: received } = this.conversation;
    if (received !== requested) {
      const [asked, got] = [requested, received].map((title) => JSON.stringify(title));
      throw new AppError(
        'server',
        `the server ignored --title ${asked}: the conversation is called ${got}`,
        {
          hint: `it runs as ${id}; stop it: acs conv stop ${id}`,
          data: { conversation_id: id, requested, received },
        },
      );
    }
    // The title that the server generates comes once, and is generated in half of this time.
    const isRecent = this.ctx.clock.now() - this.startedMs < 60_000;
    if (!isReplaced && isRecent) await noticeOwnTitle(this.ctx, server, this.conversation);
  }

  async track(conversation = this.conversation): Promise<void> {
    const { ctx, server, options } = this;
    const { id, start_task_id } = conversation;
    const { deadlineMs, waitMs, onConfirm } = options;
    const { format } = ctx.globals;
    const confirm = onConfirm === undefined ? {} : { onConfirm };
    const rules = { deadlineMs, waitMs, atDeadline: options.stopOnExit ? 'stop' : 'read' } as const;
    let tracked: TrackedRun;
    if (options.follow && format !== 'json' && format !== 'id')
      tracked = await showRun(ctx, server, conversation, { ...rules, ...confirm });
    else {
      const progress = await ctx.progress(`conversation ${id}: ${conversation.status}`);
      tracked = await trackRun(ctx, server, id, {
        ...rules,
        summary: NO_EVENTS,
        seen: conversation,
        since: null,
        answer: answerer(ctx, server, id, { ...confirm, progress }),
        onState: (state) => progress.update(`conversation ${id}: ${state.status}`),
      }).finally(() => progress.done());
    }
    const { failure, outcome, record } = tracked;
    const { status, reason, waiting_for } = outcome;
    this.conversation = {
      ...conversation,
      status,
      reason,
      waiting_for,
      // The server's own word for another status is not known.
      execution_status: status === conversation.status ? conversation.execution_status : null,
    };
    if (failure !== null) {
      const signal: unknown = ctx.signal.reason;
      const isSignal = failure.kind !== 'timeout' && isAppError(signal);
      const why = isSignal
        ? signal.message
        : `the time limit of ${formatDuration(waitMs)} has passed`;
      const stop = (late: Late) => this.stopped(late, failure, why, this.conversation);
      const { end, after } = await afterEnd(ctx, server, stop);
      const now =
        end === failure ? reason : { code: reason?.code ?? failure.kind, text: end.message };
      this.conversation = { ...(after ?? this.conversation), start_task_id, reason: now };
      const { status, waiting_for } = this.conversation;
      const { cost_usd } = after ?? outcome;
      tracked = {
        outcome: { ...outcome, status, waiting_for, cost_usd, reason: now },
        failure: end,
      };
    } else if (status !== 'deleted') {
      const bounded = <T>(mostMs: number, work: (server: Server) => Promise<T>) =>
        withinLimit(ctx, server, { ...GRACE, mostMs }, work).catch((error: unknown) => {
          if (isAppError(error)) return error;
          throw error;
        });
      // The record of an idle run has no metrics yet.
      const isRead = record !== undefined && record.status !== 'idle';
      const last = isRead
        ? record
        : await bounded(GRACE.mostMs, ({ conversations }) => conversations.getComplete(id));
      if (!isAppError(last))
        this.conversation = { ...last, start_task_id, status, reason, waiting_for };
      // The title was requested: it may take the time that is left.
      const leftMs = Math.max(GRACE.mostMs, deadlineMs - ctx.clock.now());
      const title = await bounded(leftMs, (own) => this.setTitle(own, 'compare'));
      if (title !== undefined && outcome.exit_code === EXIT_CODES.ok)
        tracked = { ...tracked, failure: title };
      else if (title !== undefined) await ctx.warn(title.message);
    }
    this.tracked = tracked;
  }

  private async failed(error: unknown): Promise<unknown> {
    if (!isAppError(error) || error.exitCode === READER_GONE) return error;
    return await afterEnd(this.ctx, this.server, (late) => this.conclude(error, late));
  }

  private async conclude(error: AppError, late: Late): Promise<AppError> {
    const { ctx, sent } = this;
    const { kind, details } = error;
    const isCut = isCutOff(error);
    let { message } = error;
    // Of a start without an answer; null where the server chooses the id.
    const about = details.data?.['conversation_id'];
    if (
      this.id === null &&
      this.startTaskId === null &&
      (typeof about === 'string' || about === null)
    ) {
      const search =
        about === null && isCut && sent !== null ? late.server.conversations.findStart(sent) : null;
      const found = await search?.catch((failure: unknown) => {
        if (!isFailure(failure)) throw failure;
        return null;
      });
      if (found) {
        await this.step(found);
        message += `, as start task ${this.startTaskId}`;
      } else await rememberLast(ctx, this.server, about);
    }
    const { id, startTaskId } = this;
    const isUnanswered = id === null && startTaskId === null;
    // A start that failed, or did not come to its end, may never have created the conversation
    // whose id was printed.
    const byTask = kind === 'failed' || (isCut && this.conversation.id === '');
    const own = (byTask ? startTaskId || id : id || startTaskId) || null;
    const name = own ?? (typeof about === 'string' ? about : null);
    if (name === null) return error;
    const last = { ...blankConversation(name, 'starting'), start_task_id: startTaskId };
    let failure = error;
    if (kind === 'interrupted' && !isUnanswered)
      failure = interruption(
        new AppError(kind, message, { ...details, exitCode: error.exitCode }),
        last,
      );
    else if (!isUnanswered) {
      // An error about the start itself names its conversation; others are about a request after
      // the accepted start.
      const mayContinue =
        about === undefined &&
        (FAILED_REQUEST.has(kind) || (details.request !== undefined && !byTask));
      failure = new AppError(
        kind,
        `${message}${mayContinue ? `; the run may continue as ${name}` : ''}`,
        {
          ...details,
          hint:
            mayContinue || typeof about === 'object'
              ? `look: acs conv show ${name}\nstop it: acs conv stop ${name}`
              : (details.hint ?? `see: acs conv show ${name}`),
          data: { ...details.data, id, start_task_id: startTaskId },
        },
      );
    }
    const { end, after } = await this.stopped(late, failure, message, last);
    const status = kind === 'failed' ? 'failed' : isUnanswered ? NOT_READ : 'starting';
    const code =
      typeof end.details.data?.['reason'] === 'string' ? end.details.data['reason'] : kind;
    const blank = {
      ...blankConversation(isUnanswered ? name : (id ?? ''), status),
      dialect: this.server.info.dialect,
    };
    this.conversation = {
      ...(after ?? blank),
      start_task_id: startTaskId,
      reason: { code, text: end.message },
    };
    const shown = { ...this.conversation, id: idOf(this.conversation) };
    this.tracked = {
      outcome: outcomeOf(shown, NO_EVENTS, end.exitCode, shown.reason),
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
    return await stopEarly(this.ctx, late, {
      failure,
      why,
      conversation,
      ownsSandbox: sandbox === undefined,
    });
  }

  async print(): Promise<void> {
    const { ctx, conversation } = this;
    if (this.tracked !== null) return await this.printRun(this.tracked);
    if (ctx.globals.format === 'id' && this.id !== null) return;
    const id = conversation.id || (this.id ?? '');
    if (id === '')
      await ctx.notice(
        `start task ${conversation.start_task_id ?? ''}: acs conv wait takes its id`,
      );
    await ctx.out.item(conversationView, { ...conversation, id }, { changed: this.changed });
  }

  private async printRun(tracked: TrackedRun): Promise<void> {
    const { ctx, conversation, changed } = this;
    const { format } = ctx.globals;
    const { outcome, failure } = tracked;
    if (format === 'ndjson') await ctx.out.record({ ...outcome });
    else if (format === 'json') {
      const error =
        failure === null ? {} : { error: { code: failure.kind, message: failure.message } };
      await ctx.out.item(conversationView, conversation, { changed, outcome, ...error });
    } else if (this.options.follow && format !== 'id') await showOutcome(ctx, outcome);
    else {
      if (format !== 'id') await ctx.out.item(conversationView, conversation, { changed });
      // A row of a conversation has no column for it.
      if (outcome.exit_code === EXIT_CODES.failed && outcome.reason !== null)
        await ctx.notice(`${outcome.status}: ${outcome.reason.text}`);
    }
    await endAs(ctx, tracked);
  }
}

function isCutOff({ kind }: AppError): boolean {
  return kind === 'timeout' || kind === 'interrupted';
}

/** Failures of requests, whether or not the error names the request. */
const FAILED_REQUEST: ReadonlySet<string> = new Set([
  'server',
  'network',
  'rate-limited',
  'auth',
  'unknown-outcome',
]);
