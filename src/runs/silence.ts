/** How long a tracked run has had no event, and when that is reported or ends the tracking. */
import type { Conversation } from '../domain/conversation.ts';
import type { ConversationEvent } from '../domain/event.ts';
import type { AppError } from '../errors.ts';
import { formatDuration } from '../text/duration.ts';
import { noEvents } from './endings.ts';
import { isUnknown, isWorking } from './status.ts';

const STALL_NOTICE_MS = 600_000;

export class Silence {
  private readonly failAfterMs: number;
  private last: ConversationEvent | null = null;
  private sinceMs: number;
  private noticeAtMs: number;

  /** `failOnStallMs`: null for a notice only. Times are milliseconds since the epoch. */
  constructor(failOnStallMs: number | null, nowMs: number) {
    this.failAfterMs = failOnStallMs ?? Number.POSITIVE_INFINITY;
    this.sinceMs = nowMs;
    this.noticeAtMs = nowMs + STALL_NOTICE_MS;
  }

  /** When the silence is due to be reported, or to end the tracking. */
  get dueMs(): number {
    return Math.min(this.noticeAtMs, this.sinceMs + this.failAfterMs);
  }

  onEvent(event: ConversationEvent, nowMs: number): void {
    this.last = event;
    this.startAnew(nowMs);
  }

  startAnew(nowMs: number): void {
    this.sinceMs = nowMs;
    this.noticeAtMs = nowMs + STALL_NOTICE_MS;
  }

  /** The error that ends the tracking; null while there is none. */
  failure(conversation: Conversation, nowMs: number): AppError | null {
    if (nowMs - this.sinceMs < this.failAfterMs || !isWorking(conversation.status)) return null;
    return noEvents(conversation, this.failAfterMs, this.last);
  }

  /** The notice that is due now; null for none. */
  notice(conversation: Conversation, nowMs: number): string | null {
    const quietMs = nowMs - this.sinceMs;
    this.noticeAtMs = nowMs + STALL_NOTICE_MS;
    if (quietMs >= this.failAfterMs) {
      this.sinceMs = nowMs;
      return null;
    }
    // An old server may report `starting` for the whole run, and a later one a word that acs does not know.
    if (!isWorking(conversation.status) && !isUnknown(conversation.status)) return null;
    const quiet = formatDuration(Math.floor(quietMs / 60_000) * 60_000);
    const status = conversation.status !== 'running' ? `, and its status is ${conversation.status}` : '';
    const action = this.last === null ? '' : `; the last was: ${this.last.text}`;
    return `no event of ${conversation.id} for ${quiet}${status}${action}`;
  }
}
