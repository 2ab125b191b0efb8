/**
 * Tracks one run to its end, for follow, wait and `conv new --wait`: gives events, records and the time to the state
 * machine, and does what that returns.
 */
import type { Context } from '../context.ts';
import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import { isAppError, READER_GONE } from '../errors.ts';
import type { Server } from '../servers/server.ts';
import { beforeEnd, beforeTime, LAST_LOOK_MS } from './deadline.ts';
import { interruption } from './endings.ts';
import type { FollowItem } from './follow-source.ts';
import { deletedOutcome, isOfLatestRun, judge, type RunEvidence, type TrackedRun } from './outcome.ts';
import {
  bindServers,
  type BoundServer,
  type BoundServers,
  isGone,
  readUnlessPassing,
  runsInSandbox,
} from './run-reads.ts';
import { advance, dueMs, initialState, newestOf, unfinished } from './state-machine.ts';
import type { Input, Next, Rules, RunState } from './transitions.ts';

/** Answers confirmations while a run is tracked. */
export interface Answerer {
  /** Called when the run waits. `answered`: by this client or another; `left`: the confirmation stays pending. */
  onWaiting(): Promise<'answered' | 'left'>;
  /** Called before an event is shown: closes an open question that another client has answered. */
  onHappened(): Promise<void>;
  /** Closes an open question without an answer. */
  close(): void;
}

export interface TrackOptions extends Omit<Rules, 'judge' | 'showsEvents' | 'answers'> {
  evidence: RunEvidence;
  judge?: Rules['judge'];
  /** Where to start, inclusive; null: at the beginning. */
  since: string | null;
  afterEventId?: string;
  /** Without it a pending confirmation ends the tracking. */
  answer?: Answerer | undefined;
  /** Also ends the tracking, for example when another run has ended first. */
  signal?: AbortSignal;
  onEvent?: (event: ConversationEvent) => Promise<void>;
  /** `perhaps-older`: the state may be the one of the run before. */
  onState?: (conversation: Conversation, run: 'latest' | 'perhaps-older') => void;
  onNotice?: (text: string) => Promise<void>;
}

/**
 * Tracks the latest run of a conversation that exists; after the deadline it only judges the run. Throws what the
 * follower throws: `auth`, `network`, `server`, and `not-found` where the event to start after does not exist.
 */
export async function trackRun(ctx: Context, server: Server, id: string, options: TrackOptions): Promise<TrackedRun> {
  return await new Tracker(ctx, await bindServers(ctx, server, options), id, options).run();
}

/** What is waited for. `left`: the confirmation stays pending, and the run is left. */
type Taken = Input | { type: 'left'; run: TrackedRun };
type Item = Taken | { type: 'notice'; text: string };

interface OpenQuestion {
  answerer: Answerer;
  answer: Promise<Item>;
  /** The result if it is not answered. */
  unanswered: TrackedRun;
}

class Tracker {
  private readonly ctx: Context;
  private readonly servers: BoundServers;
  private readonly id: string;
  private readonly options: TrackOptions;
  private following: Following;
  private state: RunState;
  private question: OpenQuestion | null = null;

  constructor(ctx: Context, servers: BoundServers, id: string, options: TrackOptions) {
    this.ctx = ctx;
    this.servers = servers;
    this.id = id;
    this.options = options;
    this.following = new Following(servers.timed, id, options);
    const rules: Rules = {
      ...options,
      judge: options.judge ?? judge,
      showsEvents: options.onEvent !== undefined,
      answers: options.answer !== undefined,
    };
    this.state = initialState(rules, options.evidence, ctx.clock.now());
  }

  async run(): Promise<TrackedRun> {
    try {
      const isOver = this.ctx.clock.now() >= this.state.deadlineMs;
      let taken: Taken = isOver ? { type: 'time' } : await this.nextOrTime();
      while (taken.type !== 'left') {
        const next = await this.take(taken);
        if (next.do === 'end') return next.run;
        taken = await this.execute(next);
      }
      return taken.run;
    } catch (error) {
      return await this.onError(error);
    } finally {
      this.options.answer?.close();
      this.servers.stop();
      await this.following.end();
    }
  }

  private get server(): BoundServer {
    return this.state.deadlineMs === Infinity ? this.servers.late : this.servers.timed;
  }

  private async execute(next: Exclude<Next, { do: 'end' }>): Promise<Taken> {
    const { id, server } = this;
    if (next.do === 'read') {
      const conversation = await beforeTime(this.ctx, next.mostMs, [readUnlessPassing(server, id)]);
      return { type: 'read', conversation: conversation === 'time' ? null : conversation };
    }
    if (next.do === 'ask-sandbox') {
      const runs = await beforeTime(this.ctx, next.mostMs, [runsInSandbox(server, id)]);
      return { type: 'sandbox', isInProgress: runs === true };
    }
    if (next.do === 'answer') this.ask(next.run);
    if (next.do === 'follow-rest') {
      await this.following.end();
      this.following = new Following(server, id, restOf(this.options, this.state.lastEvent));
    }
    return await this.nextOrTime();
  }

  /** The next item, or `time` when something else is due first, such as the deadline, which aborts the follower. */
  private async nextOrTime(): Promise<Taken> {
    const awaited = [this.following.next(), ...(this.question === null ? [] : [this.question.answer])];
    const taken = await beforeTime(this.ctx, dueMs(this.state) - this.ctx.clock.now(), awaited).catch(
      (error: unknown) => {
        if (!this.server.isOver(error)) throw error;
        return 'time' as const;
      },
    );
    if (taken === 'time') return { type: 'time' };
    if (taken.type !== 'answered') this.following.taken();
    if (taken.type !== 'notice') return taken;
    await this.notice(taken.text);
    return await this.nextOrTime();
  }

  private async take(input: Input): Promise<Next> {
    const { clock } = this.ctx;
    const { state, next, notice } = advance(this.state, input, clock.now());
    this.state = state;
    if (notice !== null) await this.notice(notice);
    if (input.type === 'event') {
      const leftMs = Math.min(state.rules.deadlineMs - clock.now(), LAST_LOOK_MS);
      // This reads from the server, which may not answer.
      if (this.question !== null) await beforeTime(this.ctx, leftMs, [this.question.answerer.onHappened()]);
      await this.options.onEvent?.(input.event);
    }
    if (input.type === 'state') {
      const isLatest = isOfLatestRun(input.conversation, state.evidence);
      this.options.onState?.(input.conversation, isLatest ? 'latest' : 'perhaps-older');
    }
    return next;
  }

  private async notice(text: string): Promise<void> {
    await (this.options.onNotice ?? this.ctx.notice)(text);
  }

  private ask(unanswered: TrackedRun): void {
    if (this.question !== null) {
      this.question.unanswered = unanswered;
      return;
    }
    // The machine returns `answer` only where there is an answerer.
    const answerer = this.options.answer as Answerer;
    const answer = answerer.onWaiting().then((how): Taken => {
      this.question = null;
      return how === 'left' ? { type: 'left', run: question.unanswered } : { type: 'answered' };
    });
    const question = { answerer, answer, unanswered };
    this.question = question;
    // Its rejection is handled where it is awaited, which does not happen when tracking ends otherwise.
    answer.catch(() => undefined);
  }

  private async onError(error: unknown): Promise<TrackedRun> {
    if (!isAppError(error)) throw error;
    const { held, evidence } = this.state;
    // The run has ended: events that cannot be read do not change its outcome.
    if (held !== null && error.kind !== 'interrupted') return held;
    const gone = error.kind === 'not-found' && beforeEnd(this.ctx, this.options, isGone(this.servers.late, this.id));
    if ((await gone) === true) return { outcome: deletedOutcome(this.id, evidence), failure: null };
    // No outcome where stdout is closed (141) or another run has ended first. Ctrl-C at a prompt does not abort ctx.signal.
    const isLeft = this.ctx.signal.aborted || this.question !== null;
    if (error.kind !== 'interrupted' || error.exitCode === READER_GONE || !isLeft) throw error;
    return unfinished(this.state, interruption(error, newestOf(this.state)));
  }
}

type Start = Pick<TrackOptions, 'since' | 'afterEventId'>;

/** Where another follower starts that delivers what comes after this event. */
function restOf(options: Start, last: ConversationEvent | null): Start {
  return last === null ? options : { since: last.timestamp, afterEventId: last.id };
}

/** A follower whose next item stays the same until it is taken. */
class Following {
  private readonly items: AsyncIterator<FollowItem>;
  private pending: Promise<Item> | null = null;

  constructor({ server, signal }: BoundServer, id: string, { since, afterEventId }: Start) {
    const from = since === null ? {} : { since };
    const after = afterEventId === undefined ? {} : { afterEventId };
    this.items = server.conversations.follow(id, { ...from, ...after, signal })[Symbol.asyncIterator]();
  }

  next(): Promise<Item> {
    return (this.pending ??= this.items.next().then((item) => (item.done === true ? { type: 'over' } : item.value)));
  }

  taken(): void {
    this.pending = null;
  }

  /** Waits for what is in flight; called after its server was stopped. */
  async end(): Promise<void> {
    await this.pending?.catch(() => undefined);
    await this.items.return?.().catch(() => undefined);
  }
}
