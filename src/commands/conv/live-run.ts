import type { OutputStream } from '../../base/streams.ts';
import type { Context } from '../context.ts';
import { NO_COLORS } from '../../base/text/notice.ts';
import { parseTime } from '../../base/text/time.ts';
import { formatUsd } from '../../base/text/usd.ts';
import { cut } from '../../base/text/well-formed.ts';
import { chunksOf } from '../../base/text/width.ts';
import type { Conversation } from '../../domain/conversation.ts';
import { elapsed, member, shapeOf } from '../../domain/event-payload.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { isJsonObject } from '../../domain/settings.ts';
import { renderLines } from '../../output/render.ts';
import type { TrackOptions } from '../../runs/tracker.ts';
import type { Progress } from '../../terminal/progress.ts';

/** As wide as the clock of an event. */
const CLOCK = ' '.repeat(7);
const DRAWN_EVERY_MS = 50;

type LiveDisplay = { progress: Progress } & Pick<TrackOptions, 'onPartial'>;

export class LiveRun {
  private status: string;
  private startMs: number;
  private cost: number | null;
  private action: string | null = null;
  private partial: (() => string) | null = null;

  /** @param run `requested`: the status is still that of the run before */
  constructor({ status, cost_usd }: Conversation, nowMs: number, run: 'known' | 'requested') {
    this.status = run === 'requested' ? 'requested' : status;
    this.startMs = nowMs;
    this.cost = cost_usd;
  }

  onState({ status, cost_usd }: Conversation): void {
    this.status = status;
    this.cost = cost_usd ?? this.cost;
  }

  onEvent(event: ConversationEvent): void {
    const { payload, signal, timestamp, text } = event;
    // What the conversation has cost until this event, where the event has it.
    const uses = member(payload, 'value', 'usage_to_metrics');
    const hasUses = isJsonObject(uses);
    const metrics = hasUses ? Object.values(uses) : [payload['llm_metrics']];
    const costs = metrics.map(
      (one) => member(one, 'local_cost_unknown') !== true && member(one, 'accumulated_cost'),
    );
    if (costs.every((cost) => typeof cost === 'number'))
      this.cost = costs.reduce((sum, cost) => sum + cost, 0);
    else if (hasUses) this.cost = null;
    if (event.source === 'agent' || signal?.startsWith('status:')) this.partial = null;
    if (signal === 'message') this.startMs = parseTime(timestamp) ?? this.startMs;
    const shape = shapeOf(event);
    if (shape !== 'other') this.action = ['command', 'action'].includes(shape) ? text : null;
  }

  line(nowMs: number): string {
    const cost = this.cost === null ? null : formatUsd(this.cost);
    const parts = [this.status, elapsed(nowMs - this.startMs), cost, this.action];
    return parts.filter((part) => part !== null).join(' · ');
  }

  /** The status line, and with `isStreamed` above it the answer that is being written. */
  async show(ctx: Context, isStreamed: boolean): Promise<LiveDisplay> {
    const status = () => this.line(ctx.clock.now());
    if (!isStreamed) return { progress: await ctx.terminal.progress(status, 'nothing') };
    const { stderr } = ctx.terminal.io;
    const above = () => (ctx.signal.aborted ? [] : this.partialLines(stderr));
    const progress = await ctx.terminal.progress(status, 'nothing', above);
    let isDue = false;
    const draw = (): void => {
      isDue = false;
      progress.update(status);
    };
    return {
      progress: {
        ...progress,
        done: async () => {
          this.partial = null;
          await progress.done();
        },
      },
      onPartial: (text) => {
        this.partial = text;
        if (!isDue) setTimeout(draw, DRAWN_EVERY_MS).unref();
        isDue = true;
      },
    };
  }

  /** The newest lines for which there is room, beside the clock of the events. */
  private partialLines({ columns = 80, rows = 24 }: Pick<OutputStream, 'columns' | 'rows'>) {
    // A row for the status, and one more.
    const most = rows - 2;
    if (this.partial === null || most < 1) return [];
    const text = CLOCK + cut(this.partial(), -columns * rows).replaceAll('\t', '  ');
    const width = columns - 1;
    const lines = renderLines([[{ text }]], { width, palette: NO_COLORS }, CLOCK.length);
    const fitting = lines
      .trimEnd()
      .split('\n')
      .flatMap((line) => chunksOf(line, width));
    return fitting.slice(-most);
  }
}
