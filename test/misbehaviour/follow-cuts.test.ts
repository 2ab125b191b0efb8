/**
 * `conv follow` through a proxy that cuts, delays, duplicates and reorders: 10,000 events, 50 cuts,
 * each dialect.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clockFrom } from '../../src/base/clock.ts';
import {
  seeded,
  startRelay,
  type CutKind,
  type FrameFault,
  type OwnAnswer,
  type Relay,
} from '../support/relay.ts';
import { event, ID, status, userMessage } from '../client/support/v1-server.ts';
import { idleClock, until } from '../support/test-clock.ts';
import type { Ended } from '../support/world.ts';
import { happens, stateChanges, userSays, useV0, useV1, V0_ID } from '../support/use-scripted.ts';
import type { Suite } from '../support/use-world.ts';

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
const UNAVAILABLE: OwnAnswer = {
  status: 503,
  headers: {},
  body: { detail: 'Service Unavailable' },
};

const follow = (
  at: Suite,
  relay: Relay,
  id: string,
  printed: Printed,
  ...args: string[]
): Promise<Ended> =>
  at.invoke({
    args: ['conv', 'follow', id, '--format', 'ndjson', ...args],
    env: { ACS_BASE_URL: relay.url },
    onOut: (text) => printed.add(text),
  });

describe('conv follow over a socket, through a proxy', () => {
  const at = useV1({ clock: () => clockFrom(() => Date.now()) });
  let relay: Relay;
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
    at.v1.addConversation();
    relay = await startRelay(at.server.url, {
      faults: { frame },
      answer: () =>
        random() < 0.02
          ? random() < 0.5
            ? BAD_GATEWAY
            : UNAVAILABLE
          : random() < 0.02
            ? 'cut'
            : null,
    });
  });
  afterEach(() => relay.close());

  function emit(one: Record<string, unknown>): void {
    at.v1.agentEvents.push(one);
    for (const socket of at.server.sockets) socket.send(JSON.stringify(one));
  }

  /** The events of one cut: the socket breaks somewhere among them, and more events follow. */
  async function emitBatch(): Promise<void> {
    const { length } = cuts;
    await until(() => at.server.sockets.some(({ readyState, OPEN }) => readyState === OPEN));
    cutIn = 1 + Math.floor(random() * BATCH * 0.8);
    for (let index = 0; index < BATCH; index++) {
      emit(event('ActionEvent', ofWork(at.v1.agentEvents.length)));
      if (index % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => printed.ids.length >= at.v1.agentEvents.length && cuts.length > length);
  }

  it('prints 10,000 events once and in order through 50 cuts, and exits with the outcome', async () => {
    emit(userMessage('begin'));
    const ended = follow(at, relay, ID, printed);
    await until(() => at.server.sockets.length > 0);
    for (let batch = 0; batch < CUTS; batch++) await emitBatch();
    at.v1.conversations.get(ID)!['execution_status'] = 'finished';
    emit(status('finished'));
    const { code, err } = await ended;
    expect(code, err).toBe(0);
    expect(printed.ids).toEqual(at.v1.agentEvents.map(({ id }) => id));
    expect(printed.last).toMatchObject({ type: 'outcome', status: 'finished' });
    expect([printed.ids.length, cuts.length]).toEqual([EVENTS + 2, CUTS]);
  });

  it('--since continues after any event: 20 parts are the whole', async () => {
    for (let index = 0; index < 400; index++)
      at.v1.agentEvents.push(event('ActionEvent', ofWork(index)));
    at.v1.agentEvents.push(status('finished'));
    at.v1.conversations.get(ID)!['execution_status'] = 'finished';
    const all = at.v1.agentEvents.map(({ id }) => String(id));
    const places = Array.from({ length: 20 }, () => Math.floor(random() * all.length)).sort(
      (a, b) => a - b,
    );
    let from = -1;
    const parts: string[][] = [];
    for (const place of [...new Set(places), all.length - 1]) {
      const part = new Printed();
      const since = from < 0 ? [] : ['--since', all[from] ?? ''];
      const { code, err } = await follow(at, relay, ID, part, ...since);
      expect(code, err).toBe(0);
      expect(part.ids).toEqual(all.slice(from + 1));
      parts.push(part.ids.slice(0, place - from));
      from = place;
    }
    expect(parts.flat()).toEqual(all);
  });
});

describe('conv follow over V0, through a proxy', () => {
  let relay: Relay;
  let cuts = 0;
  const clock = idleClock(30);
  const at = useV0({ clock: () => clock });

  beforeEach(async () => {
    const random = seeded(7);
    cuts = 0;
    at.v0.record['status'] = 'RUNNING';
    relay = await startRelay(at.server.url, {
      answer(request) {
        const luck = random();
        if (luck < 0.02) return luck < 0.01 ? BAD_GATEWAY : UNAVAILABLE;
        if (luck > 0.4 || !request.endsWith('/events')) return null;
        cuts += 1;
        return 'cut';
      },
    });
  });
  afterEach(() => relay.close());

  it('prints 10,000 events once and in order through more than 50 cut answers, and exits with the outcome', async () => {
    const printed = new Printed();
    userSays(at.v0, 'begin');
    stateChanges(at.v0, 'running');
    const ended = follow(at, relay, V0_ID, printed);
    while (at.v0.events.length < EVENTS) {
      for (let index = 0; index < BATCH; index++)
        happens(at.v0, {
          source: 'agent',
          action: 'run',
          args: { command: `make step-${at.v0.events.length}` },
        });
      await until(() => printed.ids.length >= at.v0.events.length);
    }
    stateChanges(at.v0, 'finished');
    const { code, err } = await ended;
    expect(code, err).toBe(0);
    expect(printed.ids).toEqual(at.v0.events.map(({ id }) => String(id)));
    expect(printed.last).toMatchObject({ type: 'outcome', status: 'finished' });
    expect(cuts).toBeGreaterThan(CUTS);
  });
});
