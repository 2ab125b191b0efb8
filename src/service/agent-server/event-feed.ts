/** One subscriber of a conversation's events. */
import type { RawData, WebSocket } from 'ws';
import { socketMessage, type SocketQuery } from '../../protocol/agent-server/requests.ts';
import { check, isTooDeep } from '../../protocol/detail.ts';
import { httpErrorOf } from '../http/router.ts';
import { agentErrorOf } from './app.ts';
import type { ConversationEntry } from './conversations.ts';
import type { ConversationListener } from './conversation.ts';
import { serverError, stateUpdate } from './events.ts';
import { conversationView } from './views.ts';

const BATCH = 50;

export class EventFeed implements ConversationListener {
  readonly #client: WebSocket;
  readonly #entry: ConversationEntry;
  #at: number;
  #pumping = false;

  constructor(client: WebSocket, entry: ConversationEntry, query: SocketQuery) {
    this.#client = client;
    this.#entry = entry;
    this.#at = startOf(entry, query);
  }

  start(): void {
    const { conversation } = this.#entry;
    conversation.listeners.add(this);
    this.#client.once('close', () => conversation.listeners.delete(this));
    this.#client.on('message', (data: RawData) => {
      this.#receive(data);
    });
    const state = conversation.passing(stateUpdate('full_state', conversationView(this.#entry)));
    this.#client.send(JSON.stringify(state));
    this.onEvents();
  }

  onEvents(): void {
    void this.#pump().catch(() => {
      this.#client.terminate();
    });
  }

  onGone(): void {
    this.#client.close(1001, 'The conversation is gone');
  }

  /** Sends the events after this subscriber's position in batches, each when the socket has written the one before. */
  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      for (;;) {
        if (this.#client.readyState !== this.#client.OPEN) return;
        const batch = this.#entry.conversation.log.readAfter(this.#at, BATCH);
        if (batch.length === 0) return;
        for (const { sequence, json } of batch) {
          this.#at = sequence;
          await this.#send(json);
        }
      }
    } finally {
      this.#pumping = false;
    }
  }

  #send(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.send(text, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** A message of the user: appended, and always starts a run. */
  #receive(data: RawData): void {
    const { conversation, loop } = this.#entry;
    try {
      const message = check(socketMessage, parseFrame(data), 'body');
      if (!message.ok) {
        const detail = message.detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ');
        this.#refuse('ValidationError', detail);
        return;
      }
      loop.assertNotWaiting();
      conversation.addMessage(message.value.role, message.value.content);
      loop.startOrJoin();
    } catch (error) {
      const { status, body } = httpErrorOf(error as Error, agentErrorOf);
      const { detail } = body as { detail: string };
      this.#refuse(status === 409 ? 'Conflict' : 'InternalError', detail);
    }
  }

  #refuse(code: string, detail: string): void {
    this.#client.send(JSON.stringify(this.#entry.conversation.passing(serverError(code, detail))));
  }
}

/** The position in the log at which a subscriber begins: its end unless it requests earlier events. */
function startOf({ conversation: { log } }: ConversationEntry, query: SocketQuery): number {
  if (query.resend_mode === 'since' && query.after_timestamp !== undefined) {
    return log.sequenceBefore(query.after_timestamp.slice(0, -1));
  }
  const all = query.resend_mode === 'all' || (query.resend_mode === undefined && query.resend_all === true);
  return all ? 0 : log.lastSequence();
}

/** The JSON of a frame; undefined when it is not JSON or nested too deeply. */
export function parseFrame(data: RawData): unknown {
  try {
    const value: unknown = JSON.parse((data as Buffer).toString('utf8'));
    return isTooDeep(value) ? undefined : value;
  } catch {
    return undefined;
  }
}
