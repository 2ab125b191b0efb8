/** What a watch reads besides following. */
import { NO_STATUS, type Conversation } from '../../domain/conversation.ts';
import { afterStanding, type RunEvidence } from '../../runs/evidence.ts';
import { isOfLatestRun } from '../../runs/outcome.ts';
import { isAppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { WatchOptions } from './watch-options.ts';

/** Failures that following gets over: a look of the watch that meets one is made again later. */
const PASSING: ReadonlySet<string> = new Set(['network', 'server', 'rate-limited']);

/**
 * The record as it is now; null while it cannot be read and following still tries, and where the deadline aborts it.
 * @param isOver whether the error is that of the deadline
 */
export async function readUnlessPassing(
  server: Server,
  id: string,
  isOver: (error: unknown) => boolean,
): Promise<Conversation | null> {
  try {
    return await server.conversations.getSettled(id);
  } catch (error) {
    if (isOver(error)) return null;
    if (isAppError(error) && PASSING.has(error.kind)) return null;
    throw error;
  }
}

/** Whether the sandbox contradicts a record that says that the run has ended; false while it cannot be asked. */
export async function runsInSandbox(server: Server, id: string, isOver: (error: unknown) => boolean): Promise<boolean> {
  try {
    return await server.conversations.runsInSandbox(id);
  } catch (error) {
    if (isOver(error) || (isAppError(error) && error.kind !== 'interrupted')) return false;
    throw error;
  }
}

/** A busy sandbox tells no state for a moment: what the run was seen doing before, it does still. */
export function tellingOf(fresh: Conversation, last: Conversation | null): Conversation {
  return fresh.status === NO_STATUS ? (last ?? fresh) : fresh;
}

/** It was there when the watch began; an event that does not exist is another matter. */
export async function isGone(server: Server, id: string): Promise<boolean> {
  try {
    await server.conversations.get(id);
    return false;
  } catch (error) {
    return isAppError(error) && error.kind === 'not-found';
  }
}

/** Null where the state may be one of the run before. */
export function ofLatestRun(conversation: Conversation | null, evidence: RunEvidence): Conversation | null {
  return conversation !== null && isOfLatestRun(conversation, evidence) ? conversation : null;
}

/**
 * The evidence once this state has stood for long enough. Of a run that the command has started itself nothing is known
 * before its first event, however long the state stands: in a sandbox that runs it is the state of the run before.
 */
export function standing(
  { startedAfter }: Pick<WatchOptions, 'startedAfter'>,
  evidence: RunEvidence,
  { sandbox_status }: Conversation,
): RunEvidence {
  const isOlder = startedAfter !== undefined && evidence.since_message === 'none' && sandbox_status === 'running';
  return isOlder ? evidence : afterStanding(evidence);
}
