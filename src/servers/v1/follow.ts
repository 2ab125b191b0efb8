/** A V1 conversation to follow.ts: record at the app server, events and socket at the sandbox. */
import { AppError, isAppError } from '../../errors.ts';
import { NO_STATUS, type Conversation, type Reason } from '../../domain/conversation.ts';
import { poll, STEADY } from '../../runs/poll.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { openEventSocket, type EventSocket, type KeyPlace } from '../agent-server/socket.ts';
import type { FollowSocket, FollowSource, Sighting } from '../../runs/follow-source.ts';
import { follow } from '../../runs/follower.ts';
import type { FollowWindow } from '../../runs/follow-source.ts';
import { normalId } from '../ids.ts';
import type { Links } from '../links.ts';
import type { FollowItem, FollowOptions } from '../../runs/follow-source.ts';
import { naiveTimeOf } from '../quirks/naive-times.ts';
import { agentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { createCopyWatch } from '../quirks/late-copy.ts';
import { eventRecords } from './events.ts';
import { isNoise, toEvent } from './event-records.ts';
import { toConversation, type WebUrl } from './records.ts';
import { executionWord, reasonOfEvent, settle } from './settled.ts';

/** The app server learns the reason of a failure up to this long after its status. */
const REASON_DELAY_MS = 30_000;
/** Batches of events reach the app server late, and not always in order: its copy is read again from this far back. */
const COPY_OVERLAP_MS = 60_000;
/** A busy sandbox tells no status for a second; one that lost the conversation never tells one again. */
const LOST_AFTER_MS = 30_000;
/** A sandbox too busy to answer its server's question whether it is well is called in error until it answers again. */
const BUSY_MS = 10_000;
const SLOW_FAILURE_MS = 3_000;
const SHORTEST_AWAY_MS = 15_000;
const LONGEST_AWAY_MS = 120_000;

export function followV1(links: Links, webUrl: WebUrl, id: string, options: FollowOptions): AsyncIterable<FollowItem> {
  return follow(createSource(links, webUrl, id), links.clock, links.signal, options);
}

function createSource(links: Links, webUrl: WebUrl, id: string): FollowSource {
  let record: AppConversationRecord | null = null;
  let reason: Conversation['reason'] = null;
  const keyPlace = keyPlaces();
  const copy = createCopyWatch(links);
  let away = { untilMs: 0, forMs: 0 };
  let blankSinceMs: number | null = null;
  let brokenSinceMs: number | null = null;
  const agentNow = (current: AppConversationRecord): AgentClient | null =>
    links.clock.now() < away.untilMs ? null : agentOf(links, current);
  const latest = async (): Promise<AppConversationRecord> => (record ??= await getConversation(links, id));

  const sighting = (event: EventRecord): Sighting => {
    reason = links.network.redaction.value(reasonOfEvent(event)) ?? reason;
    // A new message begins a new run: the failure of an older one is not its reason.
    if (event.kind === 'MessageEvent' && event.source === 'user') reason = null;
    return {
      id: event.id,
      timestamp: event.timestamp,
      event: isNoise(event) ? null : () => toEvent(event, normalId(id), links.network.redaction),
      word: executionWord(event),
    };
  };

  return {
    pollMs: links.app.loopback ? { reading: 500, listening: 3_000 } : { reading: 3_000, listening: 10_000 },
    async look() {
      record = await getConversation(links, id);
      const isBlank = record.execution_status === null && record.sandbox_status === 'RUNNING';
      blankSinceMs = isBlank ? (blankSinceMs ?? links.clock.now()) : null;
      if (blankSinceMs !== null && links.clock.now() - blankSinceMs >= LOST_AFTER_MS)
        await refuseLost(agentNow(record), record);
      const conversation = toConversation(record, webUrl);
      const isBroken = record.execution_status === null && record.sandbox_status === 'ERROR' && reason === null;
      brokenSinceMs = isBroken ? (brokenSinceMs ?? links.clock.now()) : null;
      if (brokenSinceMs !== null && links.clock.now() - brokenSinceMs < BUSY_MS) conversation.status = NO_STATUS;
      return conversation;
    },
    async settle(conversation) {
      const state = await settle(links, await latest(), webUrl, agentNow);
      // The record may have moved on while it was read; what was to be told is this.
      if (conversation.execution_status !== null)
        Object.assign(state, { status: conversation.status, waiting_for: conversation.waiting_for });
      if (state.status !== 'failed') return state;
      state.reason = reason ?? state.reason ?? (await lateReason(links, await latest(), webUrl));
      return state;
    },
    async *read(window) {
      const current = await latest();
      const agent = agentNow(current);
      const sinceMs = window.sinceMs(agent === null || copy.isCopy ? COPY_OVERLAP_MS : undefined);
      const since = sinceMs === null ? undefined : naiveTimeOf(sinceMs);
      let from: 'sandbox' | 'copy' = 'sandbox';
      const readCopy = (): Promise<'copy'> => {
        from = 'copy';
        copy.read(from, current);
        return Promise.resolve(from);
      };
      if (agent === null) await readCopy();
      const query = { since, order: 'oldest-first' } as const;
      for await (const event of eventRecords(links, current.id, agent, query, readCopy)) yield sighting(event);
      copy.read(from, current);
    },
    catchUp: ({ execution_status: word }) => copy.catchUp(id, word),
    async openSocket(window): Promise<FollowSocket | null> {
      const current = await latest();
      const agent = agentNow(current);
      if (agent === null || current.sandbox_status !== 'RUNNING') return null;
      const since = resendTime(window);
      const startedAtMs = links.clock.now();
      try {
        const socket = await openEventSocket(links, agent, keyPlace.now(), since);
        keyPlace.worked();
        away = { untilMs: 0, forMs: 0 };
        return toFollowSocket(socket, sighting);
      } catch (error) {
        if (!isAppError(error) || error.kind !== 'network') throw error;
        if (await answers(agent)) keyPlace.failed();
        else away = awayAfter(away.forMs, startedAtMs, links.clock.now());
        return null;
      }
    },
  };
}

/**
 * Servers before 1.12 take the key of a socket in the query alone. An URL ends up in logs, so that is tried only where
 * the header never worked and failed twice in a row while the server answers otherwise, and given up when it fails too.
 */
function keyPlaces(): { now(): KeyPlace; worked(): void; failed(): void } {
  let place: KeyPlace = 'header';
  let headerWorks = false;
  let failures = 0;
  return {
    now: () => place,
    worked() {
      headerWorks ||= place === 'header';
      failures = 0;
    },
    failed() {
      failures += 1;
      if (place === 'query') place = 'header';
      else if (failures < 2 || headerWorks) return;
      else place = 'query';
      failures = 0;
    },
  };
}

/** A sandbox that swallows requests is left alone for a while: each one would hold up the copy that can be read. */
function awayAfter(lastForMs: number, startedAtMs: number, nowMs: number): { untilMs: number; forMs: number } {
  if (nowMs - startedAtMs < SLOW_FAILURE_MS) return { untilMs: 0, forMs: 0 };
  const forMs = Math.min(Math.max(2 * lastForMs, SHORTEST_AWAY_MS), LONGEST_AWAY_MS);
  return { untilMs: nowMs + forMs, forMs };
}

/** A conversation that was deleted at its sandbox keeps its record. Throws `not-found` for it. */
async function refuseLost(agent: AgentClient | null, record: AppConversationRecord): Promise<void> {
  try {
    await agent?.conversation();
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    if (error.kind !== 'not-found') return;
    throw new AppError(
      'not-found',
      `the sandbox no longer has conversation ${normalId(record.id)}: it was deleted there`,
    );
  }
}

async function answers(agent: AgentClient): Promise<boolean> {
  try {
    await agent.conversation();
    return true;
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
    return false;
  }
}

/** On a reconnect the server is asked to send again; the first time everything is read anyway. */
function resendTime(window: FollowWindow): string | null {
  const sinceMs = window.sinceMs();
  return window.lastId === null || sinceMs === null ? null : naiveTimeOf(sinceMs);
}

function toFollowSocket(socket: EventSocket, sighting: (event: EventRecord) => Sighting): FollowSocket {
  return {
    take: () => socket.take().map(sighting),
    activity: () => socket.activity(),
    get closed() {
      return socket.closed;
    },
    close: () => socket.close(),
  };
}

/** A sandbox that is gone cannot be asked; its app server may still be told. */
async function lateReason(links: Links, record: AppConversationRecord, webUrl: WebUrl): Promise<Reason | null> {
  const until = links.clock.now() + REASON_DELAY_MS;
  const read = async (): Promise<Reason | undefined> => (await settle(links, record, webUrl)).reason ?? undefined;
  return (await poll(read, { ...links, every: STEADY, until })) ?? null;
}
