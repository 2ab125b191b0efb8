/**
 * Commands that a client runs in the sandbox beside the agent (`/api/bash/...`), and their events. These are no events
 * of a conversation: the newest of them are kept in memory while the worker runs.
 */
import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import type { BashCommandRequest, BashEventSearch, SocketQuery } from '../../protocol/agent-server/requests.ts';
import { zonedTimestamp } from '../lifecycle/clock.ts';
import type { RunResult, Sandbox } from './sandbox.ts';

const KEPT_EVENTS = 2000;
const KEPT_CHARACTERS = 64 * 1024 * 1024;
/** Of one command's output. */
const KEPT_HEAD = 8 * 1024 * 1024;
const KEPT_IN_ONE = 2 * 1024 * 1024;
const KEPT_TAIL = 1024 * 1024;
/** A running command has an event for each output of this size, as on genuine servers; the last event has the rest. */
const PIECE_CHARACTERS = 1024 * 1024;
/** A subscriber that is this far behind is disconnected; it reconnects and requests the events it missed. */
const LARGEST_LAG = 32 * 1024 * 1024;

export interface BashCommandEvent {
  command: string;
  cwd: string | null;
  timeout: number;
  id: string;
  timestamp: string;
  kind: 'BashCommand';
}

/** `exit_code` is null until the last piece; -1: ended by its timeout or not started. */
export interface BashOutputEvent {
  id: string;
  timestamp: string;
  command_id: string;
  order: number;
  exit_code: number | null;
  stdout: string | null;
  stderr: string | null;
  kind: 'BashOutput';
}

export type BashEvent = BashCommandEvent | BashOutputEvent;

export class BashService {
  readonly listeners = new Set<(event: BashEvent) => void>();
  readonly #sandbox: Sandbox;
  readonly #nowMicroseconds: () => number;
  #events: BashEvent[] = [];
  #characters = 0;

  constructor(sandbox: Sandbox, nowMicroseconds: () => number) {
    this.#sandbox = sandbox;
    this.#nowMicroseconds = nowMicroseconds;
  }

  get events(): readonly BashEvent[] {
    return this.#events;
  }

  /** Runs a command to its end and returns all of its output in one event. */
  async execute(wanted: BashCommandRequest): Promise<BashOutputEvent> {
    const { id } = this.#begin(wanted);
    const result = await this.#run(wanted);
    return this.#addOutput(id, 0, result.exitCode, result.stdout, result.stderr);
  }

  /** Starts a command; its output follows when it has ended, and in parts before when there is much of it. */
  start(wanted: BashCommandRequest): BashCommandEvent {
    const command = this.#begin(wanted);
    const waiting = { stdout: '', stderr: '' };
    let sent = { stdout: 0, stderr: 0 };
    let order = 0;
    const flush = (): void => {
      this.#addOutput(command.id, order, null, waiting.stdout, waiting.stderr);
      sent = { stdout: sent.stdout + waiting.stdout.length, stderr: sent.stderr + waiting.stderr.length };
      waiting.stdout = waiting.stderr = '';
      order += 1;
    };
    const collect = (stream: 'stdout' | 'stderr', text: string): void => {
      waiting[stream] += text;
      if (waiting.stdout.length + waiting.stderr.length >= PIECE_CHARACTERS) flush();
    };
    this.#run(wanted, collect)
      .catch((error: unknown) => notRun((error as Error).message))
      .then((result) => {
        const rest = [result.stdout.slice(sent.stdout), result.stderr.slice(sent.stderr)] as const;
        this.#addOutput(command.id, order, result.exitCode, ...rest);
      })
      .catch(() => undefined);
    return command;
  }

  search(wanted: BashEventSearch): { items: BashEvent[]; next_page_id: string | null } {
    const found = this.#events.filter(
      (event) =>
        (wanted.kind__eq === undefined || event.kind === wanted.kind__eq) &&
        (wanted.command_id__eq === undefined || isOutputOf(event, wanted.command_id__eq)) &&
        (wanted.timestamp__gte === undefined || event.timestamp >= wanted.timestamp__gte) &&
        (wanted.timestamp__lt === undefined || event.timestamp < wanted.timestamp__lt) &&
        (wanted.order__gt === undefined || (event.kind === 'BashOutput' && event.order > wanted.order__gt)),
    );
    if (wanted.sort_order === 'TIMESTAMP_DESC') found.reverse();
    const start = Math.max(
      0,
      found.findIndex((event) => event.id === wanted.page_id),
    );
    const next = found[start + wanted.limit];
    return { items: found.slice(start, start + wanted.limit), next_page_id: next?.id ?? null };
  }

  #begin(wanted: BashCommandRequest): BashCommandEvent {
    const { command, cwd, timeout } = wanted;
    const event = {
      command,
      cwd: cwd ?? null,
      timeout,
      id: newId(),
      timestamp: this.#now(),
      kind: 'BashCommand' as const,
    };
    this.#add(event, command.length);
    return event;
  }

  #run(wanted: BashCommandRequest, onOutput?: (stream: 'stdout' | 'stderr', text: string) => void): Promise<RunResult> {
    return this.#sandbox.run(
      {
        command: wanted.command,
        session: null,
        reset: false,
        startIn: '.',
        cwd: wanted.cwd ?? null,
        env: {},
        merged: false,
        live: onOutput !== undefined,
        keepHead: onOutput === undefined ? KEPT_IN_ONE : KEPT_HEAD,
        keepTail: KEPT_TAIL,
      },
      { timeoutMs: wanted.timeout * 1000, ...(onOutput === undefined ? {} : { onOutput }) },
    );
  }

  #addOutput(command: string, order: number, exitCode: number | null, stdout: string, stderr: string): BashOutputEvent {
    const event: BashOutputEvent = {
      id: newId(),
      timestamp: this.#now(),
      command_id: command,
      order,
      exit_code: exitCode,
      stdout: stdout === '' ? null : stdout,
      stderr: stderr === '' ? null : stderr,
      kind: 'BashOutput',
    };
    this.#add(event, stdout.length + stderr.length);
    return event;
  }

  #add(event: BashEvent, size: number): void {
    this.#events.push(event);
    this.#characters += size;
    while (this.#events.length > KEPT_EVENTS || (this.#characters > KEPT_CHARACTERS && this.#events.length > 1)) {
      const oldest = this.#events.shift();
      if (oldest !== undefined) this.#characters -= sizeOf(oldest);
    }
    for (const listener of this.listeners) listener(event);
  }

  #now(): string {
    return zonedTimestamp(this.#nowMicroseconds());
  }
}

/** One subscriber of the events. */
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

/** The command itself has no `command_id`, so a search for one does not find it. */
function isOutputOf(event: BashEvent, command: string): boolean {
  return event.kind === 'BashOutput' && event.command_id === command;
}

function sizeOf(event: BashEvent): number {
  return event.kind === 'BashCommand'
    ? event.command.length
    : (event.stdout?.length ?? 0) + (event.stderr?.length ?? 0);
}

function notRun(stderr: string): RunResult {
  return { exitCode: -1, timedOut: false, killed: false, stdout: '', stderr, cwd: '', pid: -1 };
}

/** Bash events have ids without dashes, unlike events of conversations. */
function newId(): string {
  return randomUUID().replaceAll('-', '');
}
