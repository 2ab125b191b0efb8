import { randomUUID } from 'node:crypto';
import type * as v from 'valibot';
import type { WebSocket } from 'ws';
import type { BashCommandRequest, BashEventSearch } from '../../protocol/agent-server/requests.ts';
import { zonedTimestamp } from '../lifecycle/clock.ts';
import { cursorPage } from '../http/request.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import type { bashCommandEvent, bashOutputEvent } from './records.ts';
import { BoundedText, runShell, type ShellCommand, type ShellResult } from './shell.ts';

const KEPT_EVENTS = 2000;
const KEPT_CHARACTERS = 64 * 1024 * 1024;
const KEPT_IN_ONE = 2 * 1024 * 1024;
const KEPT_HEAD = 8 * 1024 * 1024;
const KEPT_TAIL = 1024 * 1024;
/** A running command has an event for each output of this size, as on genuine servers. */
const PIECE_CHARACTERS = 1024 * 1024;
const LARGEST_LAG = 32 * 1024 * 1024;

type BashCommandEvent = v.InferOutput<typeof bashCommandEvent>;
type BashOutputEvent = v.InferOutput<typeof bashOutputEvent>;
type BashEvent = BashCommandEvent | BashOutputEvent;

/** Commands of clients (`/api/bash/...`), whose newest events are kept in memory only. */
export class BashService {
  readonly #listeners = new Set<(event: BashEvent) => void>();
  readonly #sandbox: Sandbox;
  readonly #nowMicroseconds: () => number;
  readonly #events: BashEvent[] = [];
  #characters = 0;

  constructor(sandbox: Sandbox, nowMicroseconds: () => number) {
    this.#sandbox = sandbox;
    this.#nowMicroseconds = nowMicroseconds;
  }

  get(id: string): BashEvent | null {
    return this.#events.find((event) => event.id === id) ?? null;
  }

  async execute(request: BashCommandRequest): Promise<BashOutputEvent> {
    const { id } = this.#begin(request);
    const { exitCode, stdout, stderr } = await this.#run(request, KEPT_IN_ONE);
    return this.#addOutput(id, 0, exitCode, stdout, stderr);
  }

  start(request: BashCommandRequest): BashCommandEvent {
    const command = this.#begin(request);
    const waiting = { stdout: '', stderr: '' };
    const sent = { stdout: 0, stderr: 0 };
    let order = 0;
    this.#run(request, KEPT_HEAD, (stream, text) => {
      waiting[stream] += text;
      if (waiting.stdout.length + waiting.stderr.length < PIECE_CHARACTERS) return;
      this.#addOutput(command.id, order, null, waiting.stdout, waiting.stderr);
      order += 1;
      for (const name of ['stdout', 'stderr'] as const) {
        sent[name] += waiting[name].length;
        waiting[name] = '';
      }
    })
      .catch((error: unknown) => ({ exitCode: -1, stdout: '', stderr: (error as Error).message }))
      .then(({ exitCode, stdout, stderr }) => {
        this.#addOutput(
          command.id,
          order,
          exitCode,
          stdout.slice(sent.stdout),
          stderr.slice(sent.stderr),
        );
      })
      .catch(() => undefined);
    return command;
  }

  search(query: BashEventSearch) {
    const { timestamp__gte = '', timestamp__lt = '9999' } = query;
    const events = this.#events.filter((event) => {
      const { command_id = null, order = -Infinity } = event as Partial<BashOutputEvent>;
      const { kind__eq = event.kind, command_id__eq = command_id, order__gt = null } = query;
      return (
        event.kind === kind__eq &&
        command_id === command_id__eq &&
        event.timestamp >= timestamp__gte &&
        event.timestamp < timestamp__lt &&
        (order__gt === null || order > order__gt)
      );
    });
    if (query.sort_order === 'TIMESTAMP_DESC') events.reverse();
    return cursorPage(query, events, ({ id }) => id);
  }

  subscribe(client: WebSocket, since: string | null): void {
    const send = (event: BashEvent): void => {
      client.send(JSON.stringify(event));
      if (client.bufferedAmount > LARGEST_LAG) client.close(1013, 'Too slow');
    };
    const kept = this.#events.filter(({ timestamp }) => since !== null && timestamp >= since);
    for (const event of kept) send(event);
    this.#listeners.add(send);
    client.once('close', () => this.#listeners.delete(send));
  }

  async #run(
    { command, cwd, timeout }: BashCommandRequest,
    keepHead: number,
    onOutput?: ShellCommand['onOutput'],
  ): Promise<ShellResult> {
    const { bases } = await this.#sandbox.folders();
    const shellCommand = {
      command,
      cwd: cwd ?? '.',
      env: { ACS_BASES: bases },
      stdout: new BoundedText(keepHead, KEPT_TAIL),
      stderr: new BoundedText(keepHead, KEPT_TAIL),
      timeoutMs: timeout * 1000,
      onOutput,
    };
    return runShell(this.#sandbox, shellCommand, null);
  }

  #begin({ command, cwd = null, timeout }: BashCommandRequest): BashCommandEvent {
    return this.#add({ command, cwd, timeout, ...this.#stamp(), kind: 'BashCommand' });
  }

  #addOutput(
    command_id: string,
    order: number,
    exit_code: number | null,
    out: string,
    err: string,
  ): BashOutputEvent {
    const output = { exit_code, stdout: out || null, stderr: err || null };
    return this.#add({ ...this.#stamp(), command_id, order, ...output, kind: 'BashOutput' });
  }

  #stamp(): { id: string; timestamp: string } {
    return {
      id: randomUUID().replaceAll('-', ''),
      timestamp: zonedTimestamp(this.#nowMicroseconds()),
    };
  }

  #add<Event extends BashEvent>(event: Event): Event {
    this.#events.push(event);
    this.#characters += sizeOf(event);
    while (
      this.#events.length > KEPT_EVENTS ||
      (this.#characters > KEPT_CHARACTERS && this.#events.length > 1)
    ) {
      const oldest = this.#events.shift();
      if (oldest !== undefined) this.#characters -= sizeOf(oldest);
    }
    for (const listener of this.#listeners) listener(event);
    return event;
  }
}

function sizeOf(event: BashEvent): number {
  if (event.kind === 'BashCommand') return event.command.length;
  return (event.stdout?.length ?? 0) + (event.stderr?.length ?? 0);
}
