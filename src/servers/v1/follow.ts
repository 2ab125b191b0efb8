/** A V1 conversation to follow.ts: record at the app server, events and socket at the sandbox. */
import { type AppError, isAppError } from '../../errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { openEventSocket, type EventSocket } from '../agent-server/socket.ts';
import type { FollowSocket, FollowSource, Sighting } from '../../runs/follow-source.ts';
import { follow } from '../../runs/follower.ts';
import type { FollowWindow } from '../../runs/follow-source.ts';
import { normalId } from '../ids.ts';
import type { Links, WebUrl } from '../links.ts';
import type { FollowItem, FollowOptions } from '../../runs/follow-source.ts';
import { naiveTimeOf } from '../quirks/naive-times.ts';
import { agentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { createBusyWatch } from '../quirks/busy-sandbox.ts';
import { COPY_OVERLAP_MS, createCopySource } from '../quirks/late-copy.ts';
import { lateReason } from '../quirks/late-reason.ts';
import { createLostWatch } from '../quirks/lost-at-sandbox.ts';
import { createAvoidance } from '../quirks/silent-sandbox.ts';
import { keyPlaces } from '../quirks/socket-key-in-query.ts';
import { eventRecords } from './events.ts';
import { isNoise, toEvent } from './event-records.ts';
import { toConversation } from './records.ts';
import { executionWord, reasonOfEvent, completeRecord } from './complete-record.ts';

export function followV1(links: Links, webUrl: WebUrl, id: string, options: FollowOptions): AsyncIterable<FollowItem> {
  return follow(createSource(links, webUrl, id), links.clock, links.signal, options);
}

function createSource(links: Links, webUrl: WebUrl, id: string): FollowSource {
  let record: AppConversationRecord | null = null;
  let reason: Conversation['reason'] = null;
  const keyPlace = keyPlaces();
  const copy = createCopySource(links);
  const avoidance = createAvoidance(links.clock);
  const isBusy = createBusyWatch(links.clock);
  const refuseLost = createLostWatch(links.clock);
  const agentNow = (current: AppConversationRecord): AgentClient | null =>
    avoidance.isOn() ? null : agentOf(links, current);
  const latest = async (): Promise<AppConversationRecord> => (record ??= await getConversation(links, id));

  /** Throws `auth` or `not-found` when the sandbox refuses the key, or does not have the conversation, as it is now. */
  const whenRefused = async (): Promise<'answers' | 'silent'> => {
    try {
      await agentNow(await latest())?.conversation();
      return 'answers';
    } catch (error) {
      if (!isAppError(error) || error.kind === 'interrupted') throw error;
      if (!isRefusal(error) || (await isReplaced())) return 'silent';
      throw error;
    }
  };
  /** Whether the sandbox, its key or its status is another by now. */
  const isReplaced = async (): Promise<boolean> => {
    const before = record;
    record = await getConversation(links, id);
    return SANDBOX_MEMBERS.some((name) => record?.[name] !== before?.[name]);
  };

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
      await refuseLost(record, agentNow(record));
      const conversation = toConversation(record, webUrl);
      if (isBusy(conversation, reason !== null)) conversation.may_recover = true;
      return conversation;
    },
    async complete(conversation) {
      // The watch has let the record pass: a failure in it lasts.
      const { may_recover: _, ...state } = await completeRecord(links, await latest(), webUrl, agentNow);
      // The record may have changed since; the status that was read before is the one to report.
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
        avoidance.end();
        return toFollowSocket(socket, sighting);
      } catch (error) {
        if (!isAppError(error) || error.kind !== 'network') throw error;
        if ((await whenRefused()) === 'answers') keyPlace.failed();
        else avoidance.failed(startedAtMs);
        return null;
      }
    },
    async confirmRefusal() {
      await whenRefused();
    },
  };
}

const SANDBOX_MEMBERS = ['sandbox_id', 'sandbox_status', 'conversation_url', 'session_api_key'] as const;

function isRefusal({ kind }: AppError): boolean {
  return kind === 'auth' || kind === 'not-found';
}

/** On a reconnect the server resends events; at the first connection they are read. */
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
