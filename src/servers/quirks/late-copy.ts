/**
 * Notices and waits for the app server's copy of the events, which comes by webhook.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv events`, `result` and `follow` of a sandbox that does not answer end without the last events of the
 *           run, and nothing says so.
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
import { lastWord } from '../v1/settled.ts';

/** The app server learns of an event up to this long after it happened. */
const COPY_DELAY_MS = 30_000;
/** Batches of events arrive late and not always in order: the copy is read again from this far back. */
export const COPY_OVERLAP_MS = 60_000;
/** A sandbox that does not answer for less than this may be busy, or its server may start again. */
const SILENT_MS = 5_000;

export interface CopyNotices {
  /** The sandbox runs and does not answer. */
  unreachable(id: string, error: AppError): void;
  /** The sandbox does not run: says so where its last moments may be missing. */
  asleep(record: AppConversationRecord): Promise<void>;
  /** The copy holds nothing at all. */
  empty(record: AppConversationRecord): void;
}

/** Each is said once for a conversation, however often its events are read in one command. */
export function createCopyNotices(links: Links): CopyNotices {
  const told = new Set<string>();
  const isNew = (what: string, id: string): boolean => {
    const key = `${what} ${normalId(id)}`;
    if (told.has(key)) return false;
    told.add(key);
    return true;
  };
  return {
    unreachable(id, error) {
      // Where the sandbox has lost the conversation the copy is all there is; the local service keeps one log for both.
      if (links.local || error.kind === 'not-found' || !isNew('unreachable', id)) return;
      links.notice(
        `the sandbox does not answer (${error.message}); this is the copy of the app server, which may be up to 30 s behind`,
      );
    },
    async asleep(record) {
      if (links.local || record.sandbox_status === 'MISSING' || !isNew('asleep', record.id)) return;
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
 * Waits until the copy tells this state of the run, as long as it may be late; false when it still does not. A server
 * that cannot tell is not waited for.
 */
export async function untilCopyTells(links: Links, id: string, word: string): Promise<boolean> {
  const until = links.clock.now() + COPY_DELAY_MS;
  const told = await poll(() => copyTells(links, id, word), { ...links, every: STEADY, until });
  return told ?? false;
}

/** False where the copy cannot be read. */
async function copyTells(links: Links, id: string, word: string): Promise<boolean | undefined> {
  try {
    return (await lastWord(links, id))?.toLowerCase() === word.toLowerCase() || undefined;
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    return false;
  }
}

/** Which events a follower was shown: all that the sandbox has, or the copy; and what is to be said of that. */
export interface CopyWatch {
  readonly isCopy: boolean;
  /** After the sandbox was read, or before the copy is. */
  read(from: 'sandbox' | 'copy', record: AppConversationRecord): void;
  /** At the end of a run: waits for the last events. `read-again` when there may be more than was read before. */
  catchUp(id: string, word: string | null): Promise<'complete' | 'read-again'>;
}

export function createCopyWatch(links: Links): CopyWatch {
  let isCopy = false;
  let sinceMs: number | null = null;
  let isTold = false;
  return {
    get isCopy() {
      return isCopy;
    },
    read(from, { sandbox_status: status }) {
      isCopy = from === 'copy';
      sinceMs = isCopy && status === 'RUNNING' ? (sinceMs ?? links.clock.now()) : null;
      if (isTold || links.local || sinceMs === null || links.clock.now() - sinceMs < SILENT_MS) return;
      isTold = true;
      links.notice(
        'the sandbox does not answer; events are shown as they reach the app server, up to 30 s after they happened',
      );
    },
    async catchUp(id, word) {
      if (!isCopy || word === null || links.local) return 'complete';
      if (!(await untilCopyTells(links, id, word))) {
        links.notice(
          `the last events of this run have not reached the app server, and its sandbox does not answer; later they may be in: acs conv events ${normalId(id)}`,
        );
      }
      return 'read-again';
    },
  };
}
