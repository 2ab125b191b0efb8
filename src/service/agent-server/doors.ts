/** The loopback port of a worker: opened, closed while the sandbox is paused, and opened again. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpServer } from '../http/server.ts';
import type { Sockets } from './sockets.ts';

export class Doors {
  readonly #fetch: (request: Request) => Response | Promise<Response>;
  readonly #sockets: Sockets;
  #server: Server | null = null;
  /** Where it listens, or listened last. */
  port = 0;

  constructor(fetch: (request: Request) => Response | Promise<Response>, sockets: Sockets) {
    this.#fetch = fetch;
    this.#sockets = sockets;
  }

  /** Listens on the wanted port (0: any), or on another one when it is in use. Gives the port. */
  async open(wanted: number): Promise<number> {
    if (this.#server !== null) return this.port;
    const server = createHttpServer(this.#fetch);
    server.on('upgrade', this.#sockets.upgrade);
    try {
      await listen(server, wanted);
    } catch (error) {
      if (wanted === 0) throw error;
      await listen(server, 0);
    }
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    return this.port;
  }

  /** Takes no more connections and ends those that are there. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#sockets.close();
    if (server === null) return;
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
