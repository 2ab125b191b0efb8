/**
 * A V1 conversation for runs/follower.ts: the record at the app server, events and socket at the
 * sandbox.
 */
import { isAppError, isFailure } from '../../base/errors.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { AppConversationRecord, EventRecord } from '../../protocol/v1/records.ts';
import type {
  FollowItem,
  FollowOptions,
  FollowSource,
  SourceEvent,
} from '../../runs/follow-source.ts';
import { follow } from '../../runs/follower.ts';
import type { AgentClient } from '../agent-server/client.ts';
import { openEventSocket } from '../agent-server/socket.ts';
import { normalId } from '../../domain/ids.ts';
import type { Links } from '../shared/links.ts';
import { createBusyWatch } from './quirks/busy-sandbox.ts';
import {
  COPY_OVERLAP_MS,
  createCopySource,
  lateReason,
  type CopyNotices,
} from './quirks/late-copy.ts';
import { createLostWatch } from './quirks/lost-at-sandbox.ts';
import { createAvoidance } from './quirks/silent-sandbox.ts';
import { keyLocations } from './quirks/socket-key-in-query.ts';
import { agentOf } from './agent.ts';
import { getConversation } from './calls.ts';
import { completeRecord } from './complete-record.ts';
import { executionStatusOf, isNoise, reasonOfEvent, toEvent } from './event-records.ts';
import { eventRecords } from './events.ts';
import { toConversation } from './records.ts';

const SANDBOX_MEMBERS = [
  'sandbox_id',
  'sandbox_status',
  'conversation_url',
  'session_api_key',
] as const;

export function followV1(
  links: Links,
  notices: CopyNotices,
  id: string,
  options: FollowOptions,
): AsyncIterable<FollowItem> {
  const { clock } = links;
  const { redaction } = links.network;
  let record: AppConversationRecord | null = null;
  let reason: Conversation['reason'] = null;
  const keyPlace = keyLocations();
  const copy = createCopySource(links);
  const avoidance = createAvoidance(clock);
  const isBusy = createBusyWatch(clock);
  const refuseLost = createLostWatch(clock);
  const agentFor = (current: AppConversationRecord): AgentClient | null =>
    avoidance.isOn() ? null : agentOf(links, current);
  const latest = async (): Promise<AppConversationRecord> =>
    (record ??= await getConversation(links, id));

  const sourceEvent = (event: EventRecord): SourceEvent => {
    reason = redaction.value(reasonOfEvent(event)) ?? reason;
    // A new message begins a new run: the failure of an older one is not its reason.
    if (event.kind === 'MessageEvent' && event.source === 'user') reason = null;
    return {
      id: event.id,
      timestamp: event.timestamp,
      event: isNoise(event) ? null : () => toEvent(event, normalId(id), redaction),
      execution_status: executionStatusOf(event),
    };
  };

  /**
   * Whether the sandbox answers. Throws `auth` or `not-found` when it refuses the key or lacks the
   * conversation now.
   */
  const answersNow = async (): Promise<boolean> => {
    const before = await latest();
    try {
      await agentFor(before)?.conversation();
      return true;
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (error.kind !== 'auth' && error.kind !== 'not-found') return false;
      const now = (record = await getConversation(links, id));
      // The sandbox was replaced or paused meanwhile: the refusal was that of the one before.
      if (SANDBOX_MEMBERS.some((name) => now[name] !== before[name])) return false;
      throw error;
    }
  };

  const source: FollowSource = {
    pollMs: links.app.loopback
      ? { reading: 500, listening: 3_000 }
      : { reading: 3_000, listening: 10_000 },
    async readRecord() {
      const started = links.starts.record;
      links.starts.record = null;
      record =
        started !== null && normalId(started.id) === id
          ? started
          : await getConversation(links, id);
      await refuseLost(record, agentFor(record));
      const conversation = toConversation(links, record);
      if (isBusy(conversation, reason !== null)) conversation.may_recover = true;
      return conversation;
    },
    async complete(conversation, extent) {
      // `isBusy` has let the record pass: a failure in it lasts.
      const { may_recover: _, ...state } = await completeRecord(links, await latest(), agentFor);
      // The record may have changed since; the status that was read before is the one to report.
      if (conversation.execution_status !== null)
        Object.assign(state, {
          status: conversation.status,
          waiting_for: conversation.waiting_for,
        });
      if (state.status !== 'failed') return state;
      state.reason = reason ?? state.reason;
      if (extent !== 'once') state.reason ??= await lateReason(links, await latest());
      return state;
    },
    async *readEvents(window) {
      const current = await latest();
      const agent = agentFor(current);
      const sinceMs = window.sinceMs(agent === null || copy.isCopy ? COPY_OVERLAP_MS : undefined);
      const since = sinceMs === null ? undefined : new Date(sinceMs).toISOString();
      let from: 'sandbox' | 'copy' = 'sandbox';
      const readCopy = (): Promise<'copy'> => {
        from = 'copy';
        copy.read(from, current);
        return Promise.resolve(from);
      };
      if (agent === null) await readCopy();
      if (current.sandbox_status === 'PAUSED') await notices.asleep(current);
      for await (const event of eventRecords(links, current.id, agent, { since }, readCopy))
        yield sourceEvent(event);
      copy.read(from, current);
    },
    catchUp: ({ execution_status: status }) => copy.catchUp(id, status),
    async openSocket() {
      const current = await latest();
      const agent = agentFor(current);
      if (agent === null || current.sandbox_status !== 'RUNNING') return null;
      const startedAtMs = clock.now();
      try {
        const socket = await openEventSocket(links, agent, keyPlace.now());
        keyPlace.worked();
        avoidance.end();
        return {
          take: () => socket.take().map(sourceEvent),
          activity: () => socket.activity(),
          get closed() {
            return socket.closed;
          },
          close: () => socket.close(),
        };
      } catch (error) {
        if (!isAppError(error) || error.kind !== 'network') throw error;
        if (await answersNow()) keyPlace.failed();
        else avoidance.failed(startedAtMs);
        return null;
      }
    },
    async confirmRefusal() {
      await answersNow();
    },
  };
  return follow(source, clock, links.signal, options);
}
