/**
 * Reads a record again whose status is null, and delays the status `failed` of a sandbox that may only be busy.
 *
 * Servers:  openhands-ai 1.6.0 and 1.11.0
 * Symptom:  `conv show` reports no status or `failed`, and `conv wait` exits 1, while the run goes on: the record of a
 *           busy sandbox has a null status for a second, and a sandbox that does not answer its health check is in
 *           ERROR until it does.
 * Evidence: interface 4.3 and 5.2; recording exchanges-1.11.0.jsonl, llm.closed-port.execution_status.None;
 *           test/traps/null-states.test.ts, test/servers/quirks/busy-sandbox.test.ts
 * Cost:     0 requests while the status is not null; else reads for up to 2 s; while following or waiting
 *           0 requests, and a failure of the sandbox is reported 10 s later
 * Remove:   unknown
 */
import type { Clock } from '../../clock.ts';
import type { AppConversationRecord } from '../../protocol/v1/records.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { Links } from '../links.ts';
import { getConversation } from '../v1/calls.ts';

/** A status that is null for less than this is that of a busy sandbox. */
const NULL_FLASH_MS = 2_000;
/** A sandbox in ERROR for less than this may be busy. */
const BUSY_MS = 10_000;

/** The record once its status is not null for a moment only. */
export async function afterNullFlash(links: Links, first: AppConversationRecord): Promise<AppConversationRecord> {
  if (!mayFlash(first)) return first;
  let record = first;
  const known = async (): Promise<true | undefined> => {
    record = await getConversation(links, first.id);
    return mayFlash(record) ? undefined : true;
  };
  await poll(known, { ...links, every: STEADY, until: links.clock.now() + NULL_FLASH_MS, readBefore: true });
  return record;
}

function mayFlash({ execution_status, sandbox_status: sandbox }: AppConversationRecord): boolean {
  return execution_status === null && (sandbox === 'RUNNING' || sandbox === 'ERROR');
}

/**
 * For a follower: whether the record is that of a sandbox in ERROR that may only be busy.
 * @returns a function to call with each record; `hasReason`: the events have a reason for the failure
 */
export function createBusyWatch(clock: Clock): (record: AppConversationRecord, hasReason: boolean) => boolean {
  let sinceMs: number | null = null;
  return ({ execution_status, sandbox_status }, hasReason) => {
    const isBroken = execution_status === null && sandbox_status === 'ERROR' && !hasReason;
    sinceMs = isBroken ? (sinceMs ?? clock.now()) : null;
    return sinceMs !== null && clock.now() - sinceMs < BUSY_MS;
  };
}
