/** One subscriber of the events of the client's own commands. */
import type { WebSocket } from 'ws';
import type { SocketQuery } from '../../protocol/agent-server/requests.ts';
import type { BashEvent, BashService } from './bash.ts';

/** A client that is this far behind is disconnected; it reconnects and requests the events it missed. */
const LARGEST_LAG = 32 * 1024 * 1024;

export class BashFeed {
  readonly #client: WebSocket;
  readonly #bash: BashService;
  readonly #query: SocketQuery;

  constructor(client: WebSocket, bash: BashService, query: SocketQuery) {
    this.#client = client;
    this.#bash = bash;
    this.#query = query;
  }

  start(): void {
    for (const event of this.#bash.events) if (this.#isWanted(event)) this.#send(event);
    const listener = (event: BashEvent): void => {
      this.#send(event);
    };
    this.#bash.listeners.add(listener);
    this.#client.once('close', () => this.#bash.listeners.delete(listener));
  }

  #isWanted(event: BashEvent): boolean {
    const { resend_mode, resend_all, after_timestamp } = this.#query;
    if (resend_mode === 'since') return after_timestamp !== undefined && event.timestamp >= after_timestamp;
    return resend_mode === 'all' || resend_all === true;
  }

  #send(event: BashEvent): void {
    this.#client.send(JSON.stringify(event));
    if (this.#client.bufferedAmount > LARGEST_LAG) this.#client.close(1013, 'Too slow');
  }
}
