/** A chat on a terminal: follows a run, and prompts for the next message when it has ended or waits. */
import type { Context } from '../../context.ts';
import type { PendingAction } from '../../domain/confirmation.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { AppError, type ErrorKind, isAppError } from '../../errors.ts';
import { limitsAfter } from '../../runs/deadline.ts';
import type { Server } from '../../servers/server.ts';
import type { Line, LineInput } from '../../terminal/line-input.ts';
import type { Prompt } from '../../terminal/prompt.ts';
import { derivedContext } from '../derived-context.ts';
import type { Reply } from './answering.ts';
import { chatHelp, type CommandName, readAnswer, readChatInput } from './chat-commands.ts';
import { answerPending } from './confirm.ts';
import { PAST, showPending } from './confirmation.ts';
import { printDiff } from './diff.ts';
import type { FilterOptions } from './event-filter.ts';
import { showOutcome, showRun } from './follow.ts';
import { checkMessage } from './message.ts';
import { keepingMessage } from './new-kept.ts';
import { deliver } from './send.ts';
import { stopOne } from './stop.ts';

export interface ChatTarget {
  server: Server;
  conversation: Conversation;
  /** Of the run that is followed first. */
  options: FilterOptions;
  /** Given on the command line: it is recalled like one of the prompt. */
  message?: string | undefined;
}

/** The run that follows a message has the newest event before it; an answer continues the run. */
type Turn = { startedAfter?: ConversationEvent | null };

/** Ends the chat: 0 on /quit and Ctrl-D, 130 on Ctrl-C. Not an AppError, so that no command takes it for its own. */
class Left extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('the chat was left');
    this.exitCode = exitCode;
  }
}

/** After these errors of one command the chat cannot continue. */
const FINAL: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['not-found', 'auth', 'internal']);

export class Chat {
  private readonly ctx: Context;
  private readonly lines: LineInput;
  private readonly target: ChatTarget;
  /** The newest event that was printed. */
  private lastShown: string | null = null;

  constructor(ctx: Context, lines: LineInput, target: ChatTarget) {
    this.ctx = ctx;
    this.lines = lines;
    this.target = target;
    if (target.message !== undefined) lines.remember(target.message);
  }

  /** @param first `prompt`: there is no run to follow */
  async run(first: 'follow' | 'prompt'): Promise<void> {
    const { ctx } = this;
    try {
      await ctx.notice('Enter sends, Alt-Enter begins a new line, /help lists the commands');
      if (first === 'follow') await this.follow({});
      while (ctx.exitCode === 0) await this.follow(await this.nextTurn());
    } catch (error) {
      if (!(error instanceof Left)) throw error;
      ctx.exitCode = error.exitCode;
      await ctx.notice(`conversation ${this.id} remains; continue it: acs conv chat ${this.id}`);
    }
  }

  private get id(): string {
    return this.target.conversation.id;
  }

  /** Sets the exit code when the conversation no longer exists or accepts no message. */
  private async follow(turn: Turn): Promise<void> {
    const { ctx, lines, target } = this;
    const over = new AbortController();
    const noRun = new AppError('interrupted', 'no run is in progress', { exitCode: 130 });
    let isStopping = false;
    const stop = (): void => {
      if (isStopping) return;
      isStopping = true;
      void this.stop(over.signal).then((stopped) => stopped || over.abort(noRun));
    };
    lines.onInterrupt = () => (isStopping ? over.abort(new Left(130)) : stop());
    lines.onEnter = (text) => {
      const input = readChatInput(text.trim());
      const name = input.type === 'command' ? input.name : null;
      if (name === 'stop') stop();
      else if (name === 'quit') over.abort(new Left(0));
      return name === 'stop' || name === 'quit';
    };
    try {
      const { outcome, failure } = await showRun(ctx, target.server, target.conversation, {
        ...limitsAfter(ctx, Number.POSITIVE_INFINITY),
        ...(this.lastShown === null ? target.options : { ...restOf(target.options), since: this.lastShown }),
        ...turn,
        signal: over.signal,
        ask: (pending, until) => this.ask(pending, until),
      });
      this.lastShown = outcome.last_event_id ?? this.lastShown;
      await showOutcome(ctx, outcome);
      if (failure !== null) throw failure;
      if (outcome.status === 'archived' || outcome.status === 'deleted') ctx.exitCode = outcome.exit_code;
    } catch (error) {
      if (error !== noRun) throw error;
    } finally {
      lines.onInterrupt = () => undefined;
      lines.onEnter = () => false;
      over.abort(noRun);
    }
  }

  /**
   * Requests the stop of a run that is followed.
   * @param over aborts when the run is followed no more
   * @returns false where no run is in progress
   */
  private async stop(over: AbortSignal): Promise<boolean> {
    const { ctx, target } = this;
    try {
      await ctx.notice('stopping the run; Ctrl-C leaves');
      const signal = AbortSignal.any([ctx.signal, over]);
      const server = await target.server.withSignal(signal);
      const seen = await server.conversations.getComplete(this.id);
      const { record } = await stopOne(this.within(signal), { server, seen });
      // An idle conversation has no run whose end could be followed.
      return record.status !== 'idle';
    } catch (error) {
      if (!over.aborted) await this.report(error);
      return true;
    }
  }

  /** The answer to pending actions, in the place of the prompt. */
  private async ask(pending: readonly PendingAction[], until: AbortSignal): Promise<Reply> {
    await showPending(this.ctx, pending);
    for (;;) {
      const line = await this.lines.read({ prompt: 'Accept? y, n, or a reason to reject: ', kind: 'answer', until });
      const input = await this.readCommand(line, readAnswer);
      if (input?.type !== 'command') continue;
      const reply = {
        decision: input.name === 'approve' ? ('accept' as const) : ('reject' as const),
        reason: input.text || null,
      };
      const isPossible = await this.attempt((_, server) =>
        server.conversations.checkAnswer(this.id, { ...reply, action_id: null }),
      );
      if (isPossible) return reply;
    }
  }

  /** Prompts until a message or an answer has been sent. */
  private async nextTurn(): Promise<Turn> {
    for (;;) {
      const line = await this.lines.read({ prompt: '> ', kind: 'message' });
      const input = await this.readCommand(line, readChatInput);
      if (input === null) continue;
      const turn = input.type === 'message' ? await this.send(input.text) : await this.answer(input);
      if (turn !== null) return turn;
    }
  }

  /** Executes a command of the chat; the caller sends messages and answers. */
  private async readCommand(line: Line, read: typeof readChatInput): Promise<Turnable | null> {
    if (line.type !== 'text') throw new Left(line.type === 'end' ? 0 : 130);
    const input = read(line.text);
    if (input.type === 'nothing') return null;
    if (input.type === 'message') return input;
    if (input.type === 'unknown') {
      this.lines.putBack(line.text);
      await this.ctx.warn(`unknown command ${input.word}; /help lists the commands, // begins a message with a slash`);
      return null;
    }
    const { name, text } = input;
    if (name === 'approve' || name === 'reject') return { type: 'command', name, text };
    await this.ctx.notice(`> /${name}`);
    await this.attempt(this.commands[name]);
    return null;
  }

  private readonly commands: Record<Exclude<CommandName, 'approve' | 'reject'>, Attempt<void>> = {
    diff: (ctx) => printDiff(this.id, {}, ctx),
    stop: async (ctx, server) => {
      const seen = await server.conversations.getComplete(this.id);
      const { changed, after } = await stopOne(ctx, { server, seen });
      // stopOne prints a notice for a run that stays waiting.
      if (after !== 'waiting')
        await ctx.notice(changed ? 'the run was stopped' : `no run is in progress; the status is ${after}`);
    },
    quit: () => Promise.reject(new Left(0)),
    help: async (ctx) => {
      for (const line of chatHelp()) await ctx.notice(line);
    },
  };

  private async send(text: string): Promise<Turn | null> {
    let isSent = false;
    let turn: Turn | null = null;
    await keepingMessage(this.ctx, 'acs conv new', async (typed) => {
      typed.text = text;
      await this.attempt(async (ctx, server) => {
        checkMessage(text);
        const found = await server.conversations.get(this.id);
        const { last } = await deliver(ctx, server, found, {
          message: { text, image_urls: [] },
          decision: null,
          onSend: () => void (isSent = true),
        });
        turn = { startedAfter: last };
      });
    });
    if (turn === null && !isSent) this.lines.putBack(text);
    return turn;
  }

  /** For an action that is pending in a paused sandbox: following such a run shows no prompt. */
  private async answer({ name, text }: Answer): Promise<Turn | null> {
    const decision = name === 'approve' ? ('accept' as const) : ('reject' as const);
    const isAnswered = await this.attempt(async (ctx, server) => {
      const seen = await server.conversations.getComplete(this.id);
      const reply = { decision, reason: text || null, action_id: null };
      const [first] = await answerPending(ctx, server, seen, reply, {});
      await ctx.notice(`${PAST[decision]}: ${first?.text ?? ''}`);
    });
    return isAnswered ? {} : null;
  }

  /**
   * Runs one command, which Ctrl-C aborts; a failure is printed, and the chat continues.
   * @returns whether it succeeded
   * @throws the failures after which the chat cannot continue
   */
  private async attempt(work: Attempt<unknown>): Promise<boolean> {
    const { ctx, lines, target } = this;
    const cancelled = new AbortController();
    lines.onInterrupt = () => cancelled.abort(new AppError('interrupted', 'cancelled by Ctrl-C', { exitCode: 130 }));
    const signal = AbortSignal.any([ctx.signal, cancelled.signal]);
    try {
      await work(this.within(signal), await target.server.withSignal(signal));
      return true;
    } catch (error) {
      if (ctx.signal.aborted || !isAppError(error) || FINAL.has(error.kind)) throw error;
      await this.report(error);
      return false;
    } finally {
      lines.onInterrupt = () => undefined;
    }
  }

  private async report(error: unknown): Promise<void> {
    if (!isAppError(error)) throw error;
    const { hint } = error.details;
    await this.ctx.warn(hint === undefined ? error.message : `${error.message}\n${hint}`);
  }

  /** The context of one command: its questions take the keyboard from the prompt. */
  private within(signal: AbortSignal): Context {
    const { ctx, lines } = this;
    const prompt = async (): Promise<Prompt> => {
      const asker = await ctx.prompt();
      return { ...asker, confirm: (question) => lines.aside(() => asker.confirm(question)) };
    };
    return derivedContext(ctx, { signal, prompt, server: () => this.target.server.withSignal(signal) });
  }
}

function restOf({ tail: _, ...options }: FilterOptions): FilterOptions {
  return options;
}

type Attempt<T> = (ctx: Context, server: Server) => Promise<T>;
type Answer = { type: 'command'; name: 'approve' | 'reject'; text: string };
type Turnable = { type: 'message'; text: string } | Answer;
