/** `conv follow` through a proxy that cuts, delays, duplicates and reorders: 10,000 events, 50 cuts, each dialect. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { startRelay, type OwnAnswer, type Relay } from '../contract/relay.ts';
import { startFake, type FakeServer } from '../servers/support/fake-server.ts';
import { event, ID, status, userMessage } from '../servers/support/v1-world.ts';
import { seeded, type CutKind, type FrameFault } from '../support/faulty-link.ts';
import { until } from '../support/until.ts';
import type { Ended } from '../support/world.ts';
import { commandsAt, REAL_TIME, v1Trap, type Commands, type V1Trap } from './support/trap.ts';
import { createV0Server, happens, stateChanges, userSays, V0_ID, type V0Server } from './support/v0.ts';

const EVENTS = 10_000;
const CUTS = 50;
const BATCH = EVENTS / CUTS;

/** The ids that ndjson lines have, and the last line. */
class Printed {
  readonly ids: string[] = [];
  last: Record<string, unknown> = {};
  private rest = '';

  add(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      this.last = JSON.parse(line) as Record<string, unknown>;
      if (this.last['type'] === 'event') this.ids.push(String(this.last['id']));
    }
  }
}

const ofWork = (index: number): Record<string, unknown> => ({
  source: 'agent',
  tool_name: 'terminal',
  action: { kind: 'TerminalAction', command: `make step-${index}` },
});

const BAD_GATEWAY: OwnAnswer = { status: 502, headers: {}, body: { detail: 'Bad Gateway' } };
const UNAVAILABLE: OwnAnswer = { status: 503, headers: {}, body: { detail: 'Service Unavailable' } };

const follow = (commands: Commands, id: string, printed: Printed, ...args: string[]): Promise<Ended> =>
  commands.invoke({
    args: ['conv', 'follow', id, '--format', 'ndjson', ...args],
    clock: id === ID ? REAL_TIME : commands.clock,
    onOut: (text) => printed.add(text),
  });

describe('conv follow over a socket, through a proxy', () => {
  let trap: V1Trap;
  let relay: Relay;
  let commands: Commands;
  let printed: Printed;
  /** Frames until the next cut. */
  let cutIn: number;
  let cuts: CutKind[];
  let random: () => number;

  const KINDS: CutKind[] = ['cut', 1001, 'torn', 1013];
  const frame = (): FrameFault => {
    cutIn -= 1;
    if (cutIn === 0) {
      const kind = KINDS[cuts.length % KINDS.length] ?? 'cut';
      cuts.push(kind);
      return kind;
    }
    const luck = random();
    if (luck < 0.05) return 'twice';
    if (luck < 0.1) return 'swap';
    return luck < 0.11 ? 'delay' : 'none';
  };

  beforeEach(async () => {
    random = seeded(20_261);
    cuts = [];
    cutIn = 0;
    printed = new Printed();
    trap = await v1Trap();
    trap.addConversation();
    trap.fake.onSocket = resend;
    relay = await startRelay(trap.fake.url, {
      faults: { frame },
      answer: () => (random() < 0.02 ? (random() < 0.5 ? BAD_GATEWAY : UNAVAILABLE) : random() < 0.02 ? 'cut' : null),
    });
    commands = await commandsAt(relay.url);
  });
  afterEach(async () => {
    await commands.close();
    await relay.close();
    await trap.close();
  });

  /** As an agent server does: the events since the time that the client has named. */
  function resend(socket: WebSocket, path: string): void {
    const since = new URL(path, 'http://fake').searchParams.get('after_timestamp');
    if (since === null) return;
    for (const one of trap.agentEvents) if (String(one['timestamp']) >= since) socket.send(JSON.stringify(one));
  }

  function emit(one: Record<string, unknown>): void {
    trap.agentEvents.push(one);
    for (const socket of trap.fake.sockets) socket.send(JSON.stringify(one));
  }

  /** The events of one cut: the socket breaks somewhere among them, and more events follow. */
  async function emitBatch(): Promise<void> {
    const { length } = cuts;
    await until(() => trap.fake.sockets.some(({ readyState, OPEN }) => readyState === OPEN));
    cutIn = 1 + Math.floor(random() * BATCH * 0.8);
    for (let index = 0; index < BATCH; index++) {
      emit(event('ActionEvent', ofWork(trap.agentEvents.length)));
      if (index % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => printed.ids.length >= trap.agentEvents.length && cuts.length > length);
  }

  it('prints 10,000 events once and in order through 50 cuts, and exits with the outcome', async () => {
    emit(userMessage('begin'));
    const ended = follow(commands, ID, printed);
    await until(() => trap.fake.sockets.length > 0);
    for (let batch = 0; batch < CUTS; batch++) await emitBatch();
    trap.conversations.get(ID)!['execution_status'] = 'finished';
    emit(status('finished'));
    const { code, err } = await ended;
    expect(code, err).toBe(0);
    expect(printed.ids).toEqual(trap.agentEvents.map(({ id }) => id));
    expect(printed.last).toMatchObject({ type: 'outcome', status: 'finished' });
    expect([printed.ids.length, cuts.length]).toEqual([EVENTS + 2, CUTS]);
  });

  it('--since continues after any event: 20 parts are the whole', async () => {
    for (let index = 0; index < 400; index++) trap.agentEvents.push(event('ActionEvent', ofWork(index)));
    trap.agentEvents.push(status('finished'));
    trap.conversations.get(ID)!['execution_status'] = 'finished';
    const all = trap.agentEvents.map(({ id }) => String(id));
    const places = Array.from({ length: 20 }, () => Math.floor(random() * all.length)).sort((a, b) => a - b);
    let from = -1;
    const parts: string[][] = [];
    for (const place of [...new Set(places), all.length - 1]) {
      const part = new Printed();
      const since = from < 0 ? [] : ['--since', all[from] ?? ''];
      const { code, err } = await follow(commands, ID, part, ...since);
      expect(code, err).toBe(0);
      expect(part.ids).toEqual(all.slice(from + 1));
      parts.push(part.ids.slice(0, place - from));
      from = place;
    }
    expect(parts.flat()).toEqual(all);
  });
});

describe('conv follow over V0, through a proxy', () => {
  let server: V0Server;
  let fake: FakeServer;
  let relay: Relay;
  let commands: Commands;
  let cuts = 0;

  beforeEach(async () => {
    const random = seeded(7);
    cuts = 0;
    server = createV0Server();
    server.record['status'] = 'RUNNING';
    fake = await startFake(server.handler);
    relay = await startRelay(fake.url, {
      answer(request) {
        const luck = random();
        if (luck < 0.02) return luck < 0.01 ? BAD_GATEWAY : UNAVAILABLE;
        if (luck > 0.4 || !request.endsWith('/events')) return null;
        cuts += 1;
        return 'cut';
      },
    });
    commands = await commandsAt(relay.url);
  });
  afterEach(async () => {
    await commands.close();
    await relay.close();
    await fake.close();
  });

  it('prints 10,000 events once and in order through more than 50 cut answers, and exits with the outcome', async () => {
    const printed = new Printed();
    userSays(server, 'begin');
    stateChanges(server, 'running');
    const ended = follow(commands, V0_ID, printed);
    while (server.events.length < EVENTS) {
      for (let index = 0; index < BATCH; index++)
        happens(server, { source: 'agent', action: 'run', args: { command: `make step-${server.events.length}` } });
      await until(() => printed.ids.length >= server.events.length);
    }
    stateChanges(server, 'finished');
    const { code, err } = await ended;
    expect(code, err).toBe(0);
    expect(printed.ids).toEqual(server.events.map(({ id }) => String(id)));
    expect(printed.last).toMatchObject({ type: 'outcome', status: 'finished' });
    expect(cuts).toBeGreaterThan(CUTS);
  });
});
