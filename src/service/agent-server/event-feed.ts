import type { RawData, WebSocket } from 'ws';
import { wellFormedJson } from '../../base/text/well-formed.ts';
import { socketMessage } from '../../protocol/agent-server/requests.ts';
import { check } from '../../protocol/detail.ts';
import { parseJson } from '../http/request.ts';
import { httpErrorOf } from '../http/router.ts';
import { agentErrorOf } from './app.ts';
import type { Conversation, ConversationListener } from './conversation.ts';
import type { ConversationEntry } from './conversations.ts';
import { type NewEvent, stateUpdate } from './events.ts';
import type { RunLoop } from './run-loop.ts';
import { conversationView } from './views.ts';

const BATCH = 50;
// openhands-sdk 1.58.0 ignores a full state that arrives before it has read the answer to `POST
// …/run`; a short run has ended by then. Genuine servers send the state 33 ms after the end.
const STATE_AFTER_MS = 100;

/** A position in the log of a conversation that advances as the socket of its client writes. */
export class EventFeed implements ConversationListener {
  readonly wantsDeltas: boolean;
  readonly #client: WebSocket;
  readonly #conversation: Conversation;
  readonly #loop: RunLoop;
  #position: number;
  #isPumping = false;
  #isStateDue = false;
  #timer: NodeJS.Timeout | undefined;

  /** `since`: the time from which stored events are sent, empty for all; null: only new ones. */
  constructor(
    client: WebSocket,
    { conversation, loop }: ConversationEntry,
    { since, deltas }: { since: string | null; deltas: boolean },
  ) {
    this.wantsDeltas = deltas;
    this.#client = client;
    this.#conversation = conversation;
    this.#loop = loop;
    const { shown: log, listeners } = conversation;
    this.#position = since === null ? log.lastSequence() : log.sequenceBefore(since.slice(0, -1));
    listeners.add(this);
    client.once('close', () => {
      listeners.delete(this);
      clearTimeout(this.#timer);
    });
    client.on('message', (data: RawData) => this.#receive(data));
    this.#sendState();
    void this.#pump();
  }

  onEvents(runEnded: boolean): void {
    void this.#pump();
    if (!runEnded) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isStateDue = true;
      void this.#pump();
    }, STATE_AFTER_MS);
  }

  onPassing(event: NewEvent): void {
    this.#client.send(wellFormedJson(JSON.stringify(this.#conversation.stamp(event))));
  }

  onGone(): void {
    this.#client.close(1001, 'The conversation is gone');
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      for (const json of this.#unsent()) {
        await new Promise<void>((resolve, reject) =>
          this.#client.send(json, (error) => (error ? reject(error) : resolve())),
        );
      }
      if (this.#isStateDue) this.#sendState();
    } catch {
      this.#client.terminate();
    } finally {
      this.#isPumping = false;
    }
  }

  *#unsent(): Generator<string> {
    while (this.#client.readyState === this.#client.OPEN) {
      const batch = this.#conversation.shown.readAfter(this.#position, BATCH);
      if (batch.length === 0) return;
      for (const { sequence, json } of batch) {
        this.#position = sequence;
        yield json;
      }
    }
  }

  /** openhands-sdk 1.58.0 takes this event alone as the end of a run. */
  #sendState(): void {
    this.#isStateDue = false;
    this.onPassing(stateUpdate('full_state', conversationView(this.#conversation)));
  }

  #receive(data: RawData): void {
    const refuse = (code: string, detail: string): void =>
      this.onPassing({ source: 'environment', code, detail, kind: 'ServerErrorEvent' });
    const message = check(socketMessage, parseFrame(data), 'body');
    if (!message.ok) {
      const mistakes = message.detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`);
      return refuse('ValidationError', mistakes.join('; '));
    }
    try {
      this.#loop.assertNotWaiting();
      this.#conversation.addMessage(message.value.role, message.value.content);
      this.#loop.startOrJoin();
    } catch (error) {
      const { status, body } = httpErrorOf(error as Error, agentErrorOf);
      refuse(status === 409 ? 'Conflict' : 'InternalError', (body as { detail: string }).detail);
    }
  }
}

/** The JSON of a frame; undefined when it is not JSON or nested too deeply. */
export function parseFrame(data: RawData): unknown {
  try {
    return parseJson((data as Buffer).toString('utf8'));
  } catch {
    return undefined;
  }
}
