/**
 * Fault injection between acs and a web socket: frames are duplicated, delayed and swapped, and
 * connections end.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';

/**
 * `cut` ends the TCP connection, `torn` does so within a frame, a number closes the socket with
 * that code.
 */
export type CutKind = 'cut' | 'torn' | number;
export type FrameFault = 'none' | 'twice' | 'swap' | 'delay' | CutKind;

export interface Faults {
  /** What happens to the next frame on its way to acs. */
  frame(): FrameFault;
}

/**
 * How long a frame waits that is delayed, with all behind it; and one that is swapped when no other
 * frame comes.
 */
const PAUSE_MS = 4;

/** A generator of numbers from 0 to 1 that gives the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Passes a web socket on to `target` with the headers of the request; a refusal is passed back. */
export function linkSockets(
  request: IncomingMessage,
  { socket, head }: { socket: Duplex; head: Buffer },
  target: { url: string; host: string },
  faults: Faults,
): void {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const key = request.headers['x-session-api-key'];
  const far = new WebSocket(target.url, {
    perMessageDeflate: false,
    headers: { host: target.host, ...(key === undefined ? {} : { 'x-session-api-key': key }) },
  });
  const early: string[] = [];
  const keep = (data: unknown): void => void early.push(String(data));
  far.on('message', keep);
  far.on('error', () => socket.destroy());
  far.on('unexpected-response', (_, { statusCode }) => {
    socket.end(`HTTP/1.1 ${statusCode} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  });
  socket.on('close', () => far.terminate());
  far.on('open', () => {
    server.handleUpgrade(request, socket, head, (near) => {
      const link = new Link(near, socket, faults);
      far.off('message', keep);
      for (const text of early) link.pass(text);
      far.on('message', (data) => link.pass(String(data)));
      far.on('close', (code) => link.close(code));
      near.on('message', (data) => far.send(String(data)));
      near.on('error', () => far.terminate());
    });
  });
}

class Link {
  private readonly near: WebSocket;
  private readonly socket: Duplex;
  private readonly faults: Faults;
  private queue: string[] = [];
  private held: string | null = null;
  private isPaused = false;

  constructor(near: WebSocket, socket: Duplex, faults: Faults) {
    this.near = near;
    this.socket = socket;
    this.faults = faults;
  }

  pass(text: string): void {
    this.queue.push(text);
    this.flush();
  }

  close(code: number): void {
    if (code >= 1000 && code !== 1005 && code !== 1006) this.near.close(code);
    else this.near.terminate();
  }

  private flush(): void {
    while (!this.isPaused && this.near.readyState === this.near.OPEN) {
      const text = this.queue.shift();
      if (text === undefined) return;
      this.one(text, this.faults.frame());
    }
  }

  private one(text: string, fault: FrameFault): void {
    if (fault === 'swap' && this.held === null) return this.hold(text);
    if (fault === 'delay') {
      this.queue.unshift(text);
      this.isPaused = true;
      return this.later(() => {
        this.isPaused = false;
        const next = this.queue.shift();
        if (next !== undefined) this.send(next);
        this.flush();
      });
    }
    if (fault === 'cut') return this.near.terminate();
    if (fault === 'torn') {
      // The head of a text frame of 100 bytes, and not all of them.
      this.socket.write(Buffer.concat([Buffer.from([0x81, 100]), Buffer.from(text.slice(0, 40))]));
      this.socket.end();
      return;
    }
    if (typeof fault === 'number') return this.near.close(fault);
    this.send(text);
    if (fault === 'twice') this.send(text);
  }

  /** Kept back until another frame was sent. */
  private hold(text: string): void {
    this.held = text;
    this.later(() => this.release());
  }

  private send(text: string): void {
    this.near.send(text);
    this.release();
  }

  private release(): void {
    const { held } = this;
    this.held = null;
    if (held !== null && this.near.readyState === this.near.OPEN) this.near.send(held);
  }

  private later(what: () => void): void {
    setTimeout(what, PAUSE_MS).unref();
  }
}
