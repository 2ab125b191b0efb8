/** How long nothing has happened in a run that is watched, and when that is worth a word or ends the watch. */
import type { Conversation } from '../../domain/conversation.ts';
import type { ConversationEvent } from '../../domain/event.ts';
import type { AppError } from '../../errors.ts';
import { formatDuration } from '../../text/duration.ts';
import { noEvents } from './unended.ts';

const STALL_NOTICE_MS = 600_000;
/** Something should happen in these; an old server may say `starting` for ever. */
const GOES_ON: ReadonlySet<string> = new Set(['running', 'starting']);

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

  /** When something has to be said or done about it. */
  get dueMs(): number {
    return Math.min(this.noticeAtMs, this.sinceMs + this.failAfterMs);
  }

  heard(event: ConversationEvent, nowMs: number): void {
    this.last = event;
    this.startAnew(nowMs);
  }

  startAnew(nowMs: number): void {
    this.sinceMs = nowMs;
    this.noticeAtMs = nowMs + STALL_NOTICE_MS;
  }

  /** The error that ends the watch; null while it need not end. */
  failure(conversation: Conversation, nowMs: number): AppError | null {
    if (nowMs - this.sinceMs < this.failAfterMs || !GOES_ON.has(conversation.status)) return null;
    return noEvents(conversation, this.failAfterMs, this.last);
  }

  /** What is to be said now, once; null for nothing. */
  notice(conversation: Conversation, nowMs: number): string | null {
    const quietMs = nowMs - this.sinceMs;
    this.noticeAtMs = nowMs + STALL_NOTICE_MS;
    if (quietMs >= this.failAfterMs) {
      this.sinceMs = nowMs;
      return null;
    }
    const isBlank = conversation.status.startsWith('unknown(');
    if (!GOES_ON.has(conversation.status) && !isBlank) return null;
    const quiet = formatDuration(Math.floor(quietMs / 60_000) * 60_000);
    const status = conversation.status !== 'running' ? `, and its status is ${conversation.status}` : '';
    const action = this.last === null ? '' : `; the last was: ${this.last.text}`;
    return `no event of ${conversation.id} for ${quiet}${status}${action}`;
  }
}
