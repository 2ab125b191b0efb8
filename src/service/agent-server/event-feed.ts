/** A subscriber of a conversation: a position in the log that advances as its socket writes. */
import type { RawData, WebSocket } from 'ws';
import { wellFormedJson } from '../../base/text/well-formed.ts';
import { socketMessage, type SocketQuery } from '../../protocol/agent-server/requests.ts';
import { check } from '../../protocol/detail.ts';
import { parseJson } from '../http/request.ts';
import { httpErrorOf } from '../http/router.ts';
import { agentErrorOf } from './app.ts';
import type { ConversationEntry } from './conversations.ts';
import { type NewEvent, stateUpdate } from './events.ts';
import { conversationView } from './views.ts';

const BATCH = 50;
/**
 * openhands-sdk 1.58.0 ignores a full state that arrives before it has read the answer to `POST
 * …/run`; a short run has ended by then. Genuine servers send the state 33 ms after the end.
 */
const STATE_AFTER_MS = 100;

/**
 * Sends the stored events that the query asks for, then each new one; a message of the client
 * starts a run.
 */
export function feedEvents(
  client: WebSocket,
  { conversation, loop }: ConversationEntry,
  query: SocketQuery,
): void {
  const { shown: log, listeners } = conversation;
  const { resend_mode, resend_all, after_timestamp } = query;
  const isWhole = resend_mode === 'all' || (resend_mode === undefined && resend_all === true);
  const isSince = resend_mode === 'since' && after_timestamp !== undefined;
  let at = isSince
    ? log.sequenceBefore(after_timestamp.slice(0, -1))
    : isWhole
      ? 0
      : log.lastSequence();
  let isPumping = false;
  let isStateDue = false;
  let timer: NodeJS.Timeout | undefined;

  const pump = async (): Promise<void> => {
    if (isPumping) return;
    isPumping = true;
    try {
      while (client.readyState === client.OPEN) {
        const batch = log.readAfter(at, BATCH);
        if (batch.length === 0) {
          if (isStateDue) sendState();
          return;
        }
        for (const { sequence, json } of batch) {
          at = sequence;
          await new Promise<void>((resolve, reject) => {
            client.send(json, (error) => {
              if (error) reject(error);
              else resolve();
            });
          });
        }
      }
    } catch {
      client.terminate();
    } finally {
      isPumping = false;
    }
  };
  /** Sends an event that is not stored. */
  const sendPassing = (event: NewEvent): void => {
    client.send(wellFormedJson(JSON.stringify(conversation.stamp(event))));
  };
  /**
   * At the begin, and after each run: openhands-sdk 1.58.0 accepts this alone as the end of a run.
   */
  const sendState = (): void => {
    isStateDue = false;
    sendPassing(stateUpdate('full_state', conversationView(conversation)));
  };
  const refuse = (code: string, detail: string): void => {
    sendPassing({ source: 'environment', code, detail, kind: 'ServerErrorEvent' });
  };

  const listener = {
    onEvents: (runEnded: boolean) => {
      void pump();
      if (!runEnded) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        isStateDue = true;
        void pump();
      }, STATE_AFTER_MS);
    },
    onPassing: sendPassing,
    onGone: () => {
      client.close(1001, 'The conversation is gone');
    },
  };
  listeners.add(listener);
  client.once('close', () => {
    listeners.delete(listener);
    clearTimeout(timer);
  });
  client.on('message', (data: RawData) => {
    try {
      const message = check(socketMessage, parseFrame(data), 'body');
      if (!message.ok) {
        refuse(
          'ValidationError',
          message.detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; '),
        );
        return;
      }
      loop.assertNotWaiting();
      conversation.addMessage(message.value.role, message.value.content);
      loop.startOrJoin();
    } catch (error) {
      const { status, body } = httpErrorOf(error as Error, agentErrorOf);
      refuse(status === 409 ? 'Conflict' : 'InternalError', (body as { detail: string }).detail);
    }
  });
  sendState();
  void pump();
}

/** The JSON of a frame; undefined when it is not JSON or nested too deeply. */
export function parseFrame(data: RawData): unknown {
  try {
    return parseJson((data as Buffer).toString('utf8'));
  } catch {
    return undefined;
  }
}
