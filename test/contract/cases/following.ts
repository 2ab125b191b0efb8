/** Events: complete, once, in order, with whole times; live and afterwards. */
import { expect } from 'vitest';
import {
  conversation,
  endedRun,
  errorOf,
  events,
  expectCode,
  finished,
  inEachDialect,
  json,
  lines,
  ok,
  relayTo,
  show,
  started,
  until,
  untilAtWork,
  type EventJson,
  type OutcomeJson,
} from '../support.ts';
import type { FrameFault, RelayOptions } from '../../support/relay.ts';
import type { ContractCase, Dialect, Target } from '../target.ts';
import { chat, KEYS } from '../../commands/conv/support.ts';

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

const isEvent = (line: { type: string }): boolean => line.type === 'event';
/** Those whose place is certain: a sandbox stores and sends its counters when it gets to it. */
const inOrder = (all: EventJson[]): string[] =>
  withoutDeltas(all.filter(({ text }) => text !== 'stats'));
/**
 * Every stored event was printed, once and in order, except the counters of the last step, which
 * may be stored after the end.
 */
function expectAllPrinted(printed: EventJson[], stored: EventJson[]): void {
  const ids = new Set(printed.map(({ id }) => id));
  const late = stored.filter(({ id, text }) => text === 'stats' && !ids.has(id)).slice(-1);
  expect(withoutDeltas(printed).sort()).toEqual(
    withoutDeltas(stored.filter((event) => !late.includes(event))).sort(),
  );
  expect(inOrder(printed)).toEqual(inOrder(stored));
}

/** The events of a run that has ended, when none is added any more. */
async function settledEvents(target: Target, id: string): Promise<EventJson[]> {
  let known: EventJson[] = [];
  let same = 0;
  await until('the last event', async () => {
    const now = await events(target, id);
    same = now.length === known.length ? same + 1 : 0;
    known = now;
    return same >= 3;
  });
  return known;
}
const withoutDeltas = (all: EventJson[]): string[] =>
  all.filter(({ kind }) => kind !== 'StreamingDeltaEvent').map(({ id }) => id);

/**
 * Cuts every third frame and every fourth answer of events, so often in all; duplicates and swaps
 * others.
 */
function cutting(
  most: number,
): Required<Pick<RelayOptions, 'faults' | 'answer'>> & { cuts: () => number } {
  const kinds: FrameFault[] = ['cut', 1001, 'torn', 1013];
  const others: FrameFault[] = ['twice', 'swap', 'delay'];
  let [cuts, frames, reads] = [0, 0, 0];
  return {
    cuts: () => cuts,
    faults: {
      frame() {
        frames += 1;
        if (frames % 3 !== 0 || cuts >= most) return others[frames % others.length] ?? 'none';
        cuts += 1;
        return kinds[cuts % kinds.length] ?? 'cut';
      },
    },
    answer(request) {
      if (!/^GET .*\/events(\/search)?$/.test(request) || (reads += 1) % 4 !== 0 || cuts >= most)
        return null;
      cuts += 1;
      return 'cut';
    },
  };
}

export const FOLLOWING: ContractCase[] = [
  ...inEachDialect(
    'events: live ones are those read afterwards, each once and in order',
    async (target, dialect) => {
      const ended = expectCode(
        await conversation(target, dialect, 'WORK', '--follow', '--format', 'ndjson'),
        0,
      );
      const all = lines<EventJson>(ended);
      const id = all[0]?.id ?? '';
      const live = all.filter(isEvent);
      const read = await events(target, id);
      expect(new Set(read.map((event) => event.id)).size).toBe(read.length);
      expect(new Set(live.map((event) => event.id)).size).toBe(live.length);
      expectAllPrinted(live, read);
      for (const event of read) expect(event.timestamp).toMatch(RFC3339);
      expect(read.every((event) => event.conversation_id === id)).toBe(true);
      expect(read.map(({ text }) => text)).toContain('WORK please');
      expect((await ok(target, 'conv', 'result', id)).out).toBe('All done.');
    },
  ),
  ...inEachDialect('events: from a place, the newest, and by kind', async (target, dialect) => {
    const id = await endedRun(target, dialect, 'WORK');
    const all = await settledEvents(target, id);
    const middle = all[Math.floor(all.length / 2)] as EventJson;
    expect((await events(target, id, '--tail', '3')).map((event) => event.id)).toEqual(
      all.slice(-3).map((event) => event.id),
    );
    const after = all.slice(all.indexOf(middle) + 1).map((event) => event.id);
    expect((await events(target, id, '--since', middle.id)).map((event) => event.id)).toEqual(
      after,
    );
    const since = await events(target, id, '--since', middle.timestamp);
    expect(since.map((event) => event.id)).toContain(middle.id);
    const kind = middle.kind;
    expect((await events(target, id, '--kind', kind)).every((event) => event.kind === kind)).toBe(
      true,
    );
    const users = await events(target, id, '--source', 'user');
    expect(users.every((event) => event.source === 'user')).toBe(true);
    expect(users.map(({ text }) => text)).toContain('WORK please');
  }),
  ...inEachDialect(
    'follow: an ended run is shown whole, with its outcome',
    async (target, dialect) => {
      const id = await endedRun(target, dialect, 'QUICK');
      await settledEvents(target, id);
      const followed = lines<EventJson>(await ok(target, 'conv', 'follow', id, '--json'));
      expect(followed.at(-1)).toMatchObject({ type: 'outcome', status: 'finished', exit_code: 0 });
      expect(withoutDeltas(followed.filter(isEvent))).toEqual(
        withoutDeltas(await events(target, id)),
      );
      expect((await ok(target, 'conv', 'follow', id)).out).toContain('Done at once.');
    },
  ),
  ...inEachDialect(
    'follow: prints the same events over a socket and by reading',
    async (target, dialect) => {
      const { id } = await started(target, dialect, 'SLOW');
      const relays = [await relayTo(target), await relayTo(target, { sockets: 'refused' })];
      try {
        const args = ['conv', 'follow', id, '--json'];
        const printing = new Set<unknown>();
        const follows = relays.map((each) =>
          target.invoke({ args, env: each.env, onOut: () => void printing.add(each) }),
        );
        await until('the first event of both', () =>
          Promise.resolve(printing.size === relays.length),
        );
        await target.releaseCommands();
        const printed = (await Promise.all(follows)).map((ended) =>
          lines<EventJson>(expectCode(ended, 0)),
        );
        for (const all of printed) {
          expect(all.at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
          const stored = await events(target, id);
          expectAllPrinted(all.filter(isEvent), stored);
        }
        // Over V0 acs reads: its socket leaves out events that the store has. Agent servers before
        // 1.12 refuse a key in the header, and acs requests the socket again.
        const { sockets, refusedSockets } = relays[0]!.relay;
        expect(sockets.length > 0).toBe((await show(target, id)).dialect !== 'v0');
        expect(sockets.length - refusedSockets.length).toBeLessThanOrEqual(1);
      } finally {
        await Promise.all(relays.map(({ relay }) => relay.close()));
      }
    },
  ),
  ...inEachDialect(
    'follow: prints each event once through a proxy that cuts',
    async (target, dialect) => {
      const { id } = await started(target, dialect, 'SLOW');
      const faults = cutting(12);
      const { relay, env } = await relayTo(target, faults);
      try {
        let isPrinting = false;
        const follow = target.invoke({
          args: ['conv', 'follow', id, '--json'],
          env,
          onOut: () => (isPrinting = true),
        });
        await until('the first event', () => Promise.resolve(isPrinting));
        await target.releaseCommands();
        const all = lines<EventJson>(expectCode(await follow, 0));
        expect(all.at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
        expectAllPrinted(all.filter(isEvent), await events(target, id));
        expect(faults.cuts()).toBeGreaterThan(0);
      } finally {
        await relay.close();
      }
    },
  ),
  ...inEachDialect('wait: several, and for a state', async (target, dialect) => {
    const [one, two] = [
      await endedRun(target, dialect, 'WORK'),
      await endedRun(target, dialect, 'QUICK'),
    ];
    const { items } = json<{ items: OutcomeJson[] }>(
      await ok(target, 'conv', 'wait', one, two, '--json'),
    );
    expect(items.map(({ conversation_id }) => conversation_id)).toEqual([one, two]);
    expectCode(await target.acs('conv', 'wait', one, '--for', 'finished'), 0);
  }),
  {
    name: 'an unknown conversation is exit 5 for every verb',
    async run(target) {
      const id = 'abcdef0123456789abcdef0123456789';
      const asked = [
        ['show', id],
        ['events', id],
        ['follow', id],
        ['wait', id],
        ['result', id],
        ['send', id, 'hello'],
        ['stop', id],
        ['rename', id, 'x'],
        ['delete', id, '-y'],
        ['diff', id],
      ];
      for (const args of asked) expectCode(await target.acs('conv', ...args), 5, args.join(' '));
    },
  },
];

// Messages to conversations in each state, stopping them, and confirmations.

export const SENDING: ContractCase[] = [
  ...inEachDialect(
    'send: a message continues a finished run, and the outcome is that of the new message',
    async (target, dialect) => {
      const id = await finished(target, dialect, 'WORK');
      const sent = await ok(target, 'conv', 'send', id, 'QUICK now', '--wait', '--json');
      expect(json<{ status: string }>(sent)).toMatchObject({
        status: 'finished',
        conversation_id: id,
      });
      expect((await ok(target, 'conv', 'result', id)).out).toBe('Done at once.');
      const said = (await events(target, id, '--source', 'user')).map(({ text }) => text);
      expect(said.filter((text) => text === 'QUICK now')).toHaveLength(1);
    },
  ),
  ...inEachDialect(
    'chat: a message at the prompt gets its answer, and /quit leaves with 0',
    async (target, dialect) => {
      const id = await finished(target, dialect, 'WORK');
      const terminal = chat(target, id, '--tail', '0');
      await terminal.prompt();
      terminal.type(`QUICK now${KEYS.enter}`);
      await terminal.sees('you    QUICK now');
      await terminal.sees('Done at once.');
      await terminal.prompt();
      terminal.type(`/quit${KEYS.enter}`);
      expect(await terminal.ended).toBe(0);
      expect((await ok(target, 'conv', 'result', id)).out).toBe('Done at once.');
    },
  ),
  ...inEachDialect('send: to a run in progress', async (target, dialect) => {
    const { id } = await started(target, dialect, target.hasModel ? 'COUNT' : 'WORK');
    if (target.hasModel) await untilAtWork(target, id);
    expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--wait'), 0);
    expect((await show(target, id)).status).toBe('finished');
    expect((await ok(target, 'conv', 'result', id)).out).toMatch(/Done at once\.|All done\./);
  }),
  ...inEachDialect(
    'stop: while a command runs; a message continues the run',
    async (target, dialect) => {
      const { id } = await started(target, dialect, 'SLOW');
      await untilAtWork(target, id);
      const stopped = json(await ok(target, 'conv', 'stop', id, '--json'));
      expect(stopped.changed).toBe(true);
      expect(['paused', 'stopped']).toContain(stopped.status);
      expect(json(await ok(target, 'conv', 'stop', id, '--json')).changed).toBe(false);
      expectCode(await target.acs('conv', 'wait', id), 6);
      await target.releaseCommands();
      expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--wait', '--resume'), 0);
    },
  ),
  ...inEachDialect(
    'confirmation: the run waits, a message is refused, and nothing is carried out',
    async (target, dialect) => {
      await ok(target, 'settings', 'set', 'confirmation_mode=true', 'security_analyzer=llm');
      try {
        await refusesWhileWaiting(target, dialect);
      } finally {
        await ok(target, 'settings', 'set', 'confirmation_mode=false');
      }
    },
  ),
];

async function refusesWhileWaiting(target: Target, dialect: Dialect): Promise<void> {
  const made = expectCode(await conversation(target, dialect, 'RISKY', '--wait', '--json'), 8);
  const { id, status } = json(made);
  expect(status).toBe('waiting');
  expect((await show(target, id)).waiting_for).not.toBeNull();
  expectCode(await target.acs('conv', 'wait', id), 8);
  expect(
    errorOf(expectCode(await target.acs('conv', 'send', id, 'QUICK now', '--json'), 8)).code,
  ).toBe('needs-input');
  expect((await show(target, id)).status).toBe('waiting');
  await ok(target, 'conv', 'stop', id);
  await until('the state after stop', async () => (await show(target, id)).status !== 'running');
  const observed = (await events(target, id)).filter(
    ({ kind }) => kind === 'ObservationEvent' || kind === 'observation:run',
  );
  expect(observed.map(({ text }) => text)).toEqual([]);
}
