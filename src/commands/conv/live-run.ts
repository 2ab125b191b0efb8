/** What the status line of a followed run has: its status, the time it has taken, its cost, and what the agent does. */
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import { elapsed, member, shapeOf } from '../../domain/event-words.ts';
import { parseTime } from '../../text/time.ts';
import { formatUsd } from '../../text/usd.ts';

export class LiveRun {
  private status: string;
  private startMs: number;
  private cost: number | null;
  /** The action that has no result yet. */
  private action: string | null = null;

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
    this.cost = costOf(event) ?? this.cost;
    if (event.signal === 'message') this.startMs = parseTime(event.timestamp) ?? this.startMs;
    const shape = shapeOf(event);
    if (shape === 'command' || shape === 'action') this.action = event.text;
    else if (shape !== 'other') this.action = null;
  }

  line(nowMs: number): string {
    return this.parts(nowMs)
      .filter((part) => part !== null)
      .join(' · ');
  }

  /** The status, the time it has taken, the cost and the action; null for what is not known. */
  parts(nowMs: number): [status: string, time: string, cost: string | null, action: string | null] {
    const cost = this.cost === null ? null : formatUsd(this.cost);
    return [this.status, elapsed(nowMs - this.startMs), cost, this.action];
  }
}

/** What the conversation has cost until an event, in US dollars; null where the event does not have it. */
function costOf({ payload }: ConversationEvent): number | null {
  const uses = member(member(payload, 'value'), 'usage_to_metrics');
  const metrics = typeof uses === 'object' && uses !== null ? Object.values(uses) : [payload['llm_metrics']];
  const costs = metrics.map((one) => member(one, 'accumulated_cost'));
  return costs.every((cost) => typeof cost === 'number') ? costs.reduce((sum, cost) => sum + cost, 0) : null;
}
