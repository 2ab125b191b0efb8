import { cut } from '../../base/text/well-formed.ts';
import { textOf } from '../../domain/event-payload.ts';
import type { EventRecord } from '../../protocol/v1/records.ts';
import type { FollowOptions } from '../../runs/follow-source.ts';
import type { Redaction } from '../http/redaction.ts';

/** More than a large terminal shows. */
const KEPT = 16 * 1024;

/** The answer that is being written, as far as a socket delivers it in parts. */
export class PartialAnswer {
  readonly isWanted: boolean;
  readonly #redaction: Redaction;
  #text = '';
  #isComplete = false;

  constructor({ deltas = false }: FollowOptions, redaction: Redaction) {
    this.isWanted = deltas;
    this.#redaction = redaction;
  }

  /** A socket sends no part again. */
  reopened(): void {
    if (this.#text !== '') this.#text = '…';
  }

  /** A function that returns the newest text; null for an event that is no part of one. */
  add({ kind, source, payload }: EventRecord): (() => string) | null {
    if (kind !== 'StreamingDeltaEvent') {
      if (source === 'agent') this.#text = '';
      return null;
    }
    const content = textOf(payload['content']);
    // The first part of each answer is empty (interface 14.2), as one with reasoning alone.
    if (content === '') this.#isComplete ||= payload['reasoning_content'] == null;
    if (content === '' || !this.isWanted) return null;
    this.#text = this.#isComplete ? content : this.#text + content;
    this.#isComplete = false;
    if (this.#text.length > 2 * KEPT) this.#text = cut(this.#text, -KEPT);
    return () => this.#redaction.text(this.#text);
  }
}
