/**
 * Notices about the app server's copy of the events, which it receives by webhook, and waits for
 * it.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv events`, `result` and `follow` of a sandbox that does not answer end without the
 *           last events of the run, without a warning; `conv wait` and `follow` of one that is gone
 *           report a failure without its reason.
 * Evidence: interface 7.1 and 12: the sandbox sends after 5 events or 30 s, 1 to 30 s recorded;
 *           test/client/quirks/late-copy.test.ts
 * Cost:     0 requests while the sandbox answers; else reads of the copy, for at most 30 s at the
 *           end of a run
 * Remove:   unknown
 */
import { isFailure, nullIf, type AppError } from '../../../base/errors.ts';
import type { Reason } from '../../../domain/conversation.ts';
import type { AppConversationRecord } from '../../../protocol/v1/records.ts';
import { poll, STEADY } from '../../../runs/poll.ts';
import { normalId } from '../../../domain/ids.ts';
import type { Links } from '../../shared/links.ts';
import { searchAppEvents } from '../app-events.ts';
import { lastExecutionStatus } from '../last-status.ts';
import { completeRecord } from '../complete-record.ts';
import { executionStatusOf, signalOf } from '../../agent-server/event-records.ts';

/** The app server receives an event up to this long after it happened. */
const COPY_DELAY_MS = 30_000;
/** Batches of events arrive late and not always in order: this much of the copy is read again. */
export const COPY_OVERLAP_MS = 60_000;
const SILENT_MS = 5_000;

export type CopyNotices = ReturnType<typeof createCopyNotices>;

function isImmediate({ facts }: Links): boolean {
  return facts.features['immediate-events'] === 'present';
}

export function createCopyNotices(links: Links) {
  const printed = new Set<string>();
  const isNew = (what: string, id: string) => {
    const before = printed.size;
    return printed.add(`${what} ${normalId(id)}`).size > before;
  };
  const nowText = ({ sandbox_status: status }: AppConversationRecord) =>
    `it is ${(status ?? 'unknown').toLowerCase()}`;
  const resumeHint = ({ sandbox_id: id, sandbox_status: status }: AppConversationRecord) =>
    id === null || (status !== 'PAUSED' && status !== 'ERROR') ? '' : `: acs sandbox resume ${id}`;
  return {
    unreachable(id: string, error: AppError): void {
      // A sandbox that no longer has the conversation has no other events.
      if (isImmediate(links) || error.kind === 'not-found' || !isNew('unreachable', id)) return;
      const copy = 'this is the copy of the app server, which may be up to 30 s behind';
      links.notice(`the sandbox does not answer (${error.message}); ${copy}`);
    },
    async notRunning(record: AppConversationRecord): Promise<void> {
      if (
        isImmediate(links) ||
        record.sandbox_status === 'MISSING' ||
        !isNew('notRunning', record.id)
      )
        return;
      const filter = { order: 'newest-first', limit: 50 } as const;
      const { items } = await searchAppEvents(links, record.id, filter, null);
      const newest = items.find((event) => executionStatusOf(event) ?? signalOf(event));
      // The last event of a run is its status: after any other event the copy lacks the end.
      const status = newest && (executionStatusOf(newest)?.toLowerCase() ?? 'running');
      if (status === 'running')
        links.notice(
          `the sandbox does not run (${nowText(record)}), and the app server may lack its ` +
            `newest events; they are in the sandbox${resumeHint(record)}`,
        );
    },
    empty(record: AppConversationRecord): void {
      if (!isNew('empty', record.id)) return;
      links.notice(
        record.sandbox_status === 'MISSING'
          ? 'the server has kept no events of this conversation, and its sandbox is gone'
          : 'the app server has no events of this conversation; if there are any, they are ' +
              `in its sandbox (${nowText(record)})${resumeHint(record)}`,
      );
    },
  };
}

export async function untilCopyHas(links: Links, id: string, status: string): Promise<boolean> {
  const copyHas = async () =>
    (await lastExecutionStatus(links, id))?.toLowerCase() === status.toLowerCase() || undefined;
  const until = links.clock.now() + COPY_DELAY_MS;
  const has = await poll(copyHas, { ...links, every: STEADY, until }).catch(nullIf(isFailure));
  return has === true;
}

/** Waits, before a sandbox is paused, until the app server has the status of its run. */
export async function untilCopied(links: Links, record: AppConversationRecord): Promise<void> {
  if (record.execution_status !== null && !isImmediate(links))
    await untilCopyHas(links, record.id, record.execution_status);
}

export async function lateReason(
  links: Links,
  record: AppConversationRecord,
): Promise<Reason | null> {
  const until = links.clock.now() + COPY_DELAY_MS;
  const reason = async () => (await completeRecord(links, record)).reason ?? undefined;
  return (await poll(reason, { ...links, every: STEADY, until, readBefore: true })) ?? null;
}

export function createCopySource(links: Links) {
  let isCopy = false;
  let sinceMs: number | null = null;
  let isNoticed = false;
  return {
    get isCopy(): boolean {
      return isCopy;
    },
    readFrom(source: 'sandbox' | 'copy', { sandbox_status: status }: AppConversationRecord): void {
      isCopy = source === 'copy';
      const nowMs = links.clock.now();
      sinceMs = isCopy && status === 'RUNNING' ? (sinceMs ?? nowMs) : null;
      const isSilent = sinceMs !== null && nowMs - sinceMs >= SILENT_MS;
      if (isNoticed || !isSilent || isImmediate(links)) return;
      isNoticed = true;
      links.notice(
        'the sandbox does not answer; events are shown as they reach the app server, up to ' +
          '30 s after they happened',
      );
    },
    /** Waits at the end of a run for the last events, which are then to be read again. */
    async catchUp(id: string, status: string | null): Promise<'complete' | 'read-again'> {
      if (!isCopy || status === null || isImmediate(links)) return 'complete';
      if (!(await untilCopyHas(links, id, status)))
        links.notice(
          'the last events of this run have not reached the app server, and its sandbox ' +
            `does not answer; read them later: acs conv events ${normalId(id)}`,
        );
      return 'read-again';
    },
  };
}
