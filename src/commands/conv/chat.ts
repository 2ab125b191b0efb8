import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isAppError, isOfKind } from '../../base/errors.ts';
import type { Server } from '../../client/shared/server.ts';
import type { ConfirmationDecision, PendingAction } from '../../domain/confirmation.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { limitsAfter } from '../../runs/deadline.ts';
import { readKnownRun } from '../../runs/tracker.ts';
import { readYesNo, YES_OR_NO } from '../../base/text/yes-no.ts';
import type { Line, LineInput } from '../../terminal/line-input.ts';
import type { Prompt } from '../../terminal/prompt.ts';
import { explain } from '../shared/declare.ts';
import { derivedContext } from '../shared/derived-context.ts';
import { checkWord } from '../shared/resource.ts';
import { answerPending, PAST, type Reply, showPending, takesReason } from './confirm.ts';
import { conversations } from './conversations.ts';
import { failedStart, findForFollow } from './find-conversation.ts';
import { printDiff } from './diff.ts';
import { endRun, isForPerson, showEnd } from './end-of-run.ts';
import { eventView } from './event-view.ts';
import {
  addFilterOptions,
  printOutcome,
  readSince,
  showRun,
  type FilterOptions,
} from './follow.ts';
import { checkMessage, showingUnsent } from './message.ts';
import { beginConversation } from './new/index.ts';
import { addStartOptions, flagOf, type NewOptions } from './new/options.ts';
import { deliver } from './send.ts';
import { stopOne } from './stop.ts';

type ChatOptions = FilterOptions & NewOptions & { message?: string };

const FILTERS: readonly string[] = ['kind', 'source', 'since', 'tail'];

const COMMANDS = {
  diff: 'print the changes in the workspace',
  stop: 'stop the run',
  approve: 'accept the pending action',
  reject: 'reject it; a text after it is sent to the agent as the reason',
  quit: 'leave; the conversation remains',
  help: 'print this list',
} as const;

const DECISIONS: Partial<Record<string, ConfirmationDecision>> = {
  approve: 'accept',
  reject: 'reject',
};

const HELP = [
  ...Object.entries(COMMANDS).map(([name, does]) => `/${name.padEnd(8)} ${does}`),
  '//…       send a message that begins with a slash',
  'Enter sends; Alt-Enter, Ctrl-J, or a backslash before Enter begins a new line; Up and ' +
    'Down recall what was sent.',
  'Ctrl-C stops the run, and leaves when pressed again; at an empty prompt Ctrl-C and ' +
    'Ctrl-D leave.',
];

export function declare(command: Command, ctx: Context): void {
  addFilterOptions(
    command.argument('[id]', 'the conversation; without it one is started as by `conv new`'),
  );
  command.option('-m, --message <text>', 'the task of a new conversation');
  const own = command.options.length;
  for (const option of addStartOptions(command).options.slice(own)) option.hideHelp();
  explain(command, {
    notes: [
      'Needs a terminal. Prints the events of the run as `conv follow` does, and shows a ' +
        'prompt when the run has ended or waits. Without an id it takes the start flags of ' +
        '`conv new` too.',
      'Enter sends the message; Alt-Enter, Ctrl-J, or a backslash before Enter begins a new ' +
        'line. Up and Down recall what was typed.',
      'Commands at the prompt: /diff, /stop, /approve, /reject [reason], /quit, /help; // ' +
        'begins a message with a slash.',
      'Ctrl-C stops the run; pressed again, or at an empty prompt, it leaves (130). /quit ' +
        'and Ctrl-D exit 0. The conversation remains.',
    ],
    json: ({ objectForm }) => [['one a line', objectForm(eventView(null))]],
    exits: [
      'failed',
      'not-found',
      'conflict',
      'unknown-outcome',
      'unsupported',
      'timeout',
      'interrupted',
    ],
    examples: {
      'acs conv chat @last --tail 20': 'continue it, with its newest 20 events',
      'acs conv chat --no-repo': 'ask for a task, start it, and chat',
    },
  });
  command.action((id: string | undefined, options: ChatOptions) => chat(id, options, ctx));
}

async function chat(
  word: string | undefined,
  { message, ...options }: ChatOptions,
  ctx: Context,
): Promise<void> {
  ctx.out.check(eventView(null), 'stream');
  if (word !== undefined) {
    checkWord(conversations, word);
    const given = Object.entries({ ...options, ...(message !== undefined && { message }) });
    const other = given.find(
      ([name, value]) =>
        !FILTERS.includes(name) && name !== 'R' && !(name === 'dependencies' && value === true),
    );
    if (other !== undefined)
      throw new AppError(
        'usage',
        `${flagOf(...other)} is about a new conversation, and the id of one was given`,
      );
  }
  readSince(ctx, options);
  if (!ctx.terminal.interactive)
    throw new AppError('usage', 'conv chat needs a terminal', {
      hint: 'elsewhere send one message and follow the run: acs conv send <id> <message> --follow',
    });
  if (ctx.globals.mode === 'dry-run')
    throw new AppError(
      'usage',
      '--dry-run has no effect on conv chat, which asks for what it sends',
      { hint: 'see the request of one message: acs conv send <id> <message> --dry-run' },
    );
  let server: Server;
  let conversation: Conversation;
  if (word === undefined) {
    if (options.file === '-')
      throw new AppError('usage', '--file - reads stdin, from which conv chat reads the keys');
    ({ ctx, server, conversation } = await beginConversation(message, options, ctx));
  } else {
    conversation = await findForFollow(ctx, limitsAfter(ctx, Number.POSITIVE_INFINITY), word);
    server = await ctx.servers.active();
  }
  if (conversation.id === '') {
    return await endRun(ctx, failedStart(conversation), printOutcome);
  }
  // Without a message of the user there is no run whose end could be followed.
  const isWithoutRun =
    word !== undefined &&
    conversation.status === 'idle' &&
    (await readKnownRun(server, conversation)).summary.since_message === 'unknown';
  const lines = await ctx.terminal.lineInput();
  if (message !== undefined) lines.remember(message);
  try {
    await new Chat(ctx, lines, server, conversation, options).run(
      isWithoutRun ? 'prompt' : 'follow',
    );
  } finally {
    await lines.close();
  }
}

/** `text` of `/reject` is the reason; `//…` is a message that begins with a slash. */
export function readChatInput(
  text: string,
):
  | { type: 'nothing' }
  | { type: 'message'; text: string }
  | { type: 'command'; name: keyof typeof COMMANDS; text: string }
  | { type: 'unknown'; word: string } {
  if (text.trim() === '') return { type: 'nothing' };
  if (!text.startsWith('/')) return { type: 'message', text };
  if (text.startsWith('//')) return { type: 'message', text: text.slice(1) };
  const [, word = '', rest = ''] = /^\/(\S*)\s*([^]*)$/.exec(text) ?? [];
  if (!Object.hasOwn(COMMANDS, word) || (rest !== '' && word !== 'reject'))
    return { type: 'unknown', word: `/${word}` };
  return { type: 'command', name: word as keyof typeof COMMANDS, text: rest.trim() };
}

/** The run that follows a message has the newest event before it; an answer continues the run. */
type Turn = { startedAfter?: ConversationEvent | null };

/** Not an AppError, because `attempt` reports those. 0: /quit and Ctrl-D, 130: Ctrl-C. */
class Left extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('the chat was left');
    this.exitCode = exitCode;
  }
}

function textOf(line: Line): string {
  if (line.type === 'text') return line.text;
  throw new Left(line.type === 'end' ? 0 : 130);
}

type Answer = { type: 'answer'; decision: ConfirmationDecision; text: string };

type Input = { type: 'message'; text: string } | Answer;

const endsChat = isOfKind('not-found', 'auth', 'internal');

class Chat {
  private readonly ctx: Context;
  private readonly lines: LineInput;
  private readonly server: Server;
  private readonly conversation: Conversation;
  private readonly options: FilterOptions;
  private lastShown: string | null = null;

  constructor(
    ctx: Context,
    lines: LineInput,
    server: Server,
    conversation: Conversation,
    options: FilterOptions,
  ) {
    this.ctx = ctx;
    this.lines = lines;
    this.server = server;
    this.conversation = conversation;
    this.options = options;
  }

  async run(first: 'follow' | 'prompt'): Promise<void> {
    const { ctx, id } = this;
    try {
      await ctx.notice('Enter sends, Alt-Enter begins a new line, /help lists the commands');
      if (first === 'follow') await this.follow({});
      while (ctx.exitCode === 0) await this.follow(await this.nextTurn());
    } catch (error) {
      if (!(error instanceof Left)) throw error;
      ctx.exitCode = error.exitCode;
      await ctx.notice(`conversation ${id} is kept; continue it: acs conv chat ${id}`);
    }
  }

  private get id(): string {
    return this.conversation.id;
  }

  private async follow(turn: Turn): Promise<void> {
    const { ctx, lines, lastShown } = this;
    const { tail, ...filters } = this.options;
    const over = new AbortController();
    const noRun = new AppError('interrupted', 'no run is in progress', { exitCode: 130 });
    let isStopping = false;
    const stop = (): void => {
      if (isStopping) return;
      isStopping = true;
      void this.stopRun(over.signal).then((isStopped) => isStopped || over.abort(noRun));
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
      // A copy: what the server returned for the conversation is old by now.
      const tracked = await showRun(
        ctx,
        this.server,
        { ...this.conversation },
        {
          ...limitsAfter(ctx, Number.POSITIVE_INFINITY),
          ...filters,
          ...(lastShown !== null ? { since: lastShown } : tail !== undefined && { tail }),
          ...turn,
          signal: over.signal,
          ask: (pending, until) => this.ask(pending, until),
        },
      );
      const { outcome, failure } = tracked;
      this.lastShown = outcome.last_event_id ?? lastShown;
      if (isForPerson(ctx)) await showEnd(ctx, tracked, 'prompt');
      else await printOutcome(ctx, tracked);
      if (failure !== null) throw failure;
      if (outcome.status === 'archived' || outcome.status === 'deleted')
        ctx.exitCode = outcome.exit_code;
    } catch (error) {
      if (error !== noRun) throw error;
    } finally {
      lines.onInterrupt = () => undefined;
      lines.onEnter = () => false;
      over.abort(noRun);
    }
  }

  /** False where no run is in progress. `over` aborts when the run is no longer followed. */
  private async stopRun(over: AbortSignal): Promise<boolean> {
    const { ctx } = this;
    try {
      await ctx.notice('stopping the run; Ctrl-C again leaves the chat');
      const signal = AbortSignal.any([ctx.signal, over]);
      const server = await this.server.withSignal(signal);
      const seen = await server.conversations.getComplete(this.id);
      const { record } = await stopOne(this.within(signal), { server, seen });
      // An idle conversation has no run whose end could be followed.
      return record.status !== 'idle';
    } catch (error) {
      if (!over.aborted) await this.report(error);
      return true;
    }
  }

  private async ask(pending: readonly PendingAction[], until: AbortSignal): Promise<Reply> {
    const { ctx, lines, server, id } = this;
    await showPending(ctx, pending);
    const takes = await takesReason(server, id);
    for (;;) {
      const line = await lines.read({ prompt: 'Accept? (y/n) ', kind: 'answer', until });
      const input = await this.read(line);
      const reply = input && (await this.replyOf(input, takes, until));
      if (reply !== null) return reply;
    }
  }

  /** Null when the input answers nothing, of which the user is warned. */
  private async replyOf(input: Input, takes: boolean, until: AbortSignal): Promise<Reply | null> {
    const { ctx, lines } = this;
    if (input.type === 'answer') {
      const { decision, text } = input;
      if (text === '' || takes) return { decision, reason: text || null };
      await ctx.warn('this server passes no reason to the agent: reject the action without one');
      return null;
    }
    const answer = readYesNo(input.text);
    if (answer === 'yes') return { decision: 'accept', reason: null };
    if (answer === 'no') {
      const prompt = 'Reason for the agent (optional): ';
      const reason = takes ? textOf(await lines.read({ prompt, kind: 'answer', until })) : '';
      return { decision: 'reject', reason: reason.trim() || null };
    }
    await ctx.warn(YES_OR_NO);
    return null;
  }

  private async nextTurn(): Promise<Turn> {
    for (;;) {
      const input = await this.read(await this.lines.read({ prompt: '> ', kind: 'message' }));
      if (input === null) continue;
      const turn =
        input.type === 'message' ? await this.send(input.text) : await this.answer(input);
      if (turn !== null) return turn;
    }
  }

  /** Following a run that is pending in a paused sandbox shows no prompt for its action. */
  private async answer({ decision, text }: Answer): Promise<Turn | null> {
    const isAnswered = await this.attempt(async (ctx, server) => {
      const seen = await server.conversations.getComplete(this.id);
      const reply = { decision, reason: text || null, action_id: null };
      const [first] = await answerPending(ctx, server, seen, reply, false);
      await ctx.notice(`${PAST[decision]}: ${first?.text ?? ''}`);
    });
    return isAnswered ? {} : null;
  }

  /** Carries out what is neither a message nor an answer, and returns null. */
  private async read(line: Line): Promise<Input | null> {
    const { ctx, lines, id } = this;
    const typed = textOf(line);
    const input = readChatInput(typed);
    if (input.type === 'nothing') return null;
    if (input.type === 'message') return input;
    if (input.type === 'unknown') {
      lines.putBack(typed);
      await ctx.warn(
        `unknown command ${input.word}; /help lists the commands, // begins a message with a slash`,
      );
      return null;
    }
    const { name, text } = input;
    const decision = DECISIONS[name];
    if (decision !== undefined) return { type: 'answer', decision, text };
    await ctx.notice(`> /${name}`);
    if (name === 'quit') throw new Left(0);
    if (name === 'help') for (const help of HELP) await ctx.notice(help);
    if (name === 'diff') await this.attempt((own) => printDiff(id, {}, own));
    if (name === 'stop')
      await this.attempt(async (own, server) => {
        const seen = await server.conversations.getComplete(id);
        const { changed, after } = await stopOne(own, { server, seen });
        // stopOne prints a notice for a run that stays waiting.
        if (after === 'waiting') return;
        await own.notice(
          changed ? 'the run was stopped' : `no run is in progress; the status is ${after}`,
        );
      });
    return null;
  }

  private async send(text: string): Promise<Turn | null> {
    let isSent = false;
    let turn: Turn | null = null;
    await showingUnsent(this.ctx, async (typed) => {
      typed.text = text;
      await this.attempt(async (ctx, server) => {
        checkMessage(text);
        const found = await server.conversations.get(this.id);
        const message = { text, image_urls: [] };
        const onSend = (): void => void (isSent = true);
        const { last } = await deliver(ctx, server, found, { message, decision: null, onSend });
        turn = { startedAfter: last };
      });
    });
    if (turn === null && !isSent) this.lines.putBack(text);
    return turn;
  }

  /** Ctrl-C aborts the command. Throws only the failures after which the chat cannot continue. */
  private async attempt(
    work: (ctx: Context, server: Server) => Promise<unknown>,
  ): Promise<boolean> {
    const { ctx, lines } = this;
    const cancelled = new AbortController();
    lines.onInterrupt = () =>
      cancelled.abort(new AppError('interrupted', 'cancelled by Ctrl-C', { exitCode: 130 }));
    const signal = AbortSignal.any([ctx.signal, cancelled.signal]);
    try {
      await work(this.within(signal), await this.server.withSignal(signal));
      return true;
    } catch (error) {
      if (ctx.signal.aborted || endsChat(error)) throw error;
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
      const own = await ctx.terminal.prompt();
      return { ...own, confirm: (question) => lines.aside(() => own.confirm(question)) };
    };
    return derivedContext(ctx, { signal, terminal: { prompt } });
  }
}
