/**
 * Notices and waits for the app server's copy of the events, which comes by webhook.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv events`, `result` and `follow` of a sandbox that does not answer end without the last events of the
 *           run, without a warning.
 * Evidence: interface 7.1: the sandbox sends after 5 events or 30 s, 1 to 30 s recorded;
 *           test/servers/quirks/late-copy.test.ts
 * Cost:     0 requests while the sandbox answers; else reads of the copy, for at most 30 s at the end of a run
 * Remove:   unknown
 */
import { poll, STEADY } from '../../runs/poll.ts';
import { type AppError, isAppError } from '../../errors.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import { lastWord } from '../v1/complete-record.ts';

/** The app server learns of an event up to this long after it happened. */
const COPY_DELAY_MS = 30_000;
/** Batches of events arrive late and not always in order: the copy is read again from this far back. */
export const COPY_OVERLAP_MS = 60_000;
/** A sandbox that does not answer for less than this may be busy, or its server may start again. */
const SILENT_MS = 5_000;

export interface CopyNotices {
  /** The sandbox runs and does not answer. */
  unreachable(id: string, error: AppError): void;
  /** The sandbox does not run: a notice where the last events of the run may be missing. */
  asleep(record: AppConversationRecord): Promise<void>;
  /** The copy has no events. */
  empty(record: AppConversationRecord): void;
}

function isImmediate({ features }: Links): boolean {
  return features.of('immediate-events') === 'present';
}

/** Each notice is printed once for a conversation, however often its events are read in one command. */
export function createCopyNotices(links: Links): CopyNotices {
  const printed = new Set<string>();
  const isNew = (what: string, id: string): boolean => {
    const key = `${what} ${normalId(id)}`;
    if (printed.has(key)) return false;
    printed.add(key);
    return true;
  };
  return {
    unreachable(id, error) {
      // Where the sandbox no longer has the conversation, the copy is all there is.
      if (isImmediate(links) || error.kind === 'not-found' || !isNew('unreachable', id)) return;
      links.notice(
        `the sandbox does not answer (${error.message}); this is the copy of the app server, which may be up to 30 s behind`,
      );
    },
    async asleep(record) {
      if (isImmediate(links) || record.sandbox_status === 'MISSING' || !isNew('asleep', record.id)) return;
      if ((await lastWord(links, record.id))?.toLowerCase() !== 'running') return;
      links.notice(
        `the sandbox does not run (it is ${stateOf(record)}), and its events end in the middle of the run; what may be missing is in the sandbox${wayOut(record)}`,
      );
    },
    empty(record) {
      if (!isNew('empty', record.id)) return;
      const gone = record.sandbox_status === 'MISSING';
      links.notice(
        gone
          ? 'the server has kept no events of this conversation, and its sandbox is gone'
          : `the app server has no events of this conversation; if there are any, they are in its sandbox (it is ${stateOf(record)})${wayOut(record)}`,
      );
    },
  };
}

function stateOf({ sandbox_status: status }: AppConversationRecord): string {
  return (status ?? 'unknown').toLowerCase();
}

function wayOut({ sandbox_id: id, sandbox_status: status }: AppConversationRecord): string {
  return id === null || status === 'RUNNING' ? '' : `: acs sandbox resume ${id}`;
}

/**
 * Waits until the copy has this state of the run, for as long as it may be late.
 * @returns false when it still does not have it, or cannot be read
 */
export async function untilCopyHas(links: Links, id: string, word: string): Promise<boolean> {
  const until = links.clock.now() + COPY_DELAY_MS;
  return (await poll(() => copyHas(links, id, word), { ...links, every: STEADY, until })) ?? false;
}

/** Before a sandbox is paused: until the app server has the status of its run, which is not sent while it is paused. */
export async function untilCopied(links: Links, { id, execution_status: word }: AppConversationRecord): Promise<void> {
  if (word === null || isImmediate(links)) return;
  await untilCopyHas(links, normalId(id), word);
}

/** False where the copy cannot be read. */
async function copyHas(links: Links, id: string, word: string): Promise<boolean | undefined> {
  try {
    return (await lastWord(links, id))?.toLowerCase() === word.toLowerCase() || undefined;
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    return false;
  }
}

/** Where the events of a follower come from: the sandbox, or the copy of the app server. */
export interface CopySource {
  readonly isCopy: boolean;
  /** After the sandbox was read, or before the copy is. */
  read(from: 'sandbox' | 'copy', record: AppConversationRecord): void;
  /** At the end of a run: waits for the last events. `read-again` when there may be more than was read before. */
  catchUp(id: string, word: string | null): Promise<'complete' | 'read-again'>;
}

export function createCopySource(links: Links): CopySource {
  let isCopy = false;
  let sinceMs: number | null = null;
  let isNoticed = false;
  return {
    get isCopy() {
      return isCopy;
    },
    read(from, { sandbox_status: status }) {
      isCopy = from === 'copy';
      sinceMs = isCopy && status === 'RUNNING' ? (sinceMs ?? links.clock.now()) : null;
      if (isNoticed || isImmediate(links) || sinceMs === null || links.clock.now() - sinceMs < SILENT_MS) return;
      isNoticed = true;
      links.notice(
        'the sandbox does not answer; events are shown as they reach the app server, up to 30 s after they happened',
      );
    },
    async catchUp(id, word) {
      if (!isCopy || word === null || isImmediate(links)) return 'complete';
      if (!(await untilCopyHas(links, id, word))) {
        links.notice(
          `the last events of this run have not reached the app server, and its sandbox does not answer; later they may be in: acs conv events ${normalId(id)}`,
        );
      }
      return 'read-again';
    },
  };
}
