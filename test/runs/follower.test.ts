import { beforeEach, describe, expect, it } from 'vitest';
import type { Conversation } from '../../src/domain/conversation.ts';
import { AppError } from '../../src/errors.ts';
import { ScriptedSource, sighting, unreachable } from './support/scripted-source.ts';

const ENDS = ['finished', 'failed', 'stuck', 'waiting', 'paused', 'stopped', 'archived'] as const;

let source: ScriptedSource;
beforeEach(() => {
  source = new ScriptedSource();
});

describe('the start of following', () => {
  it('delivers the stored events in their order, and then the state', async () => {
    source.stored = [sighting('a'), sighting('b'), sighting('snapshot', { event: null })];
    await source.start();
    expect(source.lines).toEqual(['a', 'b', '=running']);
    expect(source.asked).toEqual(['look@0', 'open@0', 'read@0']);
  });

  it('passes the time to start at to the source', async () => {
    await source.start({ since: '1970-01-01T00:01:00Z' });
    expect(source.readsSinceMs).toEqual([60_000]);
  });

  it('starts at the beginning without a time', async () => {
    await source.start();
    expect(source.readsSinceMs).toEqual([null]);
  });

  it('delivers only events after the one to start after', async () => {
    source.stored = [sighting('a'), sighting('b'), sighting('c')];
    await source.start({ afterEventId: 'b' });
    expect(source.lines).toEqual(['c', '=running']);
  });

  it('ends with not-found when the event to start after does not exist', async () => {
    source.stored = [sighting('a')];
    await source.start({ afterEventId: 'x'.repeat(101) });
    expect(source.lines).toEqual([]);
    expect(source.endedWith).toMatchObject({
      kind: 'not-found',
      message: `there is no event ${'x'.repeat(100)} in this conversation`,
    });
  });

  it('reads the record again when a stored event reports another status', async () => {
    source.stored = [sighting('a', { word: 'finished' }), sighting('b')];
    source.onRead = () => source.set({ status: 'finished', execution_status: 'finished' });
    await source.start();
    expect(source.lines).toEqual(['a', 'b', '=finished']);
    expect(source.timesOf('look')).toEqual([0, 0]);
  });

  it('reads the record until it is as new as a stored event', async () => {
    source.stored = [sighting('a', { word: 'finished' })];
    source.onLook = () => {
      if (source.clock.now() >= 300) source.set({ status: 'finished', execution_status: 'finished' });
    };
    await source.start();
    await source.clock.pass(900);
    expect(source.timesOf('look')).toEqual([0, 0, 125, 312.5]);
    expect(source.lines).toEqual(['a', '=finished']);
  });

  it('does not read the record again when a stored event reports the same status', async () => {
    source.stored = [sighting('a', { word: 'running' })];
    await source.start();
    await source.clock.pass(500);
    expect(source.timesOf('look')).toEqual([0]);
  });

  it('is retried after network errors, with the socket of the failed try closed', async () => {
    source.hasSocket = true;
    source.onRead = () => {
      if (source.timesOf('read').length === 1) throw unreachable();
    };
    await source.start();
    expect(source.lines).toEqual([]);
    await source.clock.pass(500);
    expect(source.lines).toEqual(['=running']);
    expect(source.sockets.map(({ closedByFollower }) => closedByFollower)).toEqual([true, false]);
  });

  it('is retried when reading the state fails, without delivering an event again', async () => {
    source.stored = [sighting('a')];
    source.set({ status: 'finished', execution_status: 'finished' });
    source.completedAs = (conversation) => {
      if (source.timesOf('complete').length === 1) throw unreachable();
      return conversation;
    };
    await source.start();
    await source.clock.pass(500);
    expect(source.lines).toEqual(['a', '=finished']);
  });

  it('ends with an error that does not pass', async () => {
    source.onLook = () => {
      throw new AppError('auth', 'refused');
    };
    await source.start();
    expect(source.endedWith).toMatchObject({ kind: 'auth' });
    const other = new ScriptedSource();
    other.set({ status: 'finished' });
    other.completedAs = () => {
      throw new AppError('not-found', 'deleted');
    };
    await other.start();
    expect(other.endedWith).toMatchObject({ kind: 'not-found' });
  });
});

describe('following without a socket', () => {
  it('reads record and events at the interval of the source, and delivers each event once', async () => {
    source.stored = [sighting('a')];
    await source.start();
    source.stored.push(sighting('b'));
    await source.clock.pass(2_500);
    expect(source.lines).toEqual(['a', '=running', 'b']);
    expect(source.asked).toEqual([0, 1_000, 2_000].flatMap((at) => [`look@${at}`, `open@${at}`, `read@${at}`]));
    expect(source.clock.pauses).toEqual([1_000, 1_000, 1_000]);
  });

  it('reads again soon after an event where the source has it so, and less often the longer none comes', async () => {
    const quick = Object.assign(source, { pollMs: { reading: 1_000, listening: 1_000, afterEvent: 100 } });
    await quick.start();
    await quick.clock.pass(2_500);
    quick.stored = [sighting('a')];
    await quick.clock.pass(4_000);
    expect(quick.timesOf('read').map((at) => Math.round(at))).toEqual([
      0, 1_000, 2_000, 3_000, 3_100, 3_200, 3_300, 3_400, 3_500, 3_600, 3_720, 3_864, 4_037, 4_244, 4_493, 4_792, 5_150,
      5_580, 6_096,
    ]);
  });

  it('delivers each change of the status and of the title once', async () => {
    await source.start();
    source.set({ title: 'another' });
    await source.clock.pass(3_000);
    source.set({ status: 'idle', execution_status: 'idle' });
    await source.clock.pass(3_000);
    source.set({ sandbox_status: 'paused' });
    await source.clock.pass(3_000);
    source.set({ execution_status: 'sleeping' });
    await source.clock.pass(3_000);
    expect(source.lines).toEqual(['=running', '=running', '=idle', '=idle', '=idle']);
  });

  it('delivers a change of the reason of a run that is in progress', async () => {
    const reason = (code: string) => ({ reason: { code, text: code } });
    await source.start();
    source.set(reason('no-progress'));
    await source.clock.pass(3_000);
    source.set({ reason: { code: 'no-progress', text: 'the same in other words' } });
    await source.clock.pass(3_000);
    source.set({ reason: null });
    await source.clock.pass(3_000);
    expect(source.lines).toEqual(['=running', '=running', '=running']);
    source.set({ status: 'idle' });
    await source.clock.pass(3_000);
    source.set(reason('of an idle run'));
    await source.clock.pass(3_000);
    expect(source.lines).toEqual(['=running', '=running', '=running', '=idle']);
  });

  it.each(ENDS)('completes the record of a run that is %s, and delivers its last events first', async (status) => {
    await source.start();
    source.set({ status, execution_status: status });
    source.onRead = () => {
      // Stored between the read of this round and the end.
      if (source.timesOf('read').length === 3) source.stored = [sighting('last')];
    };
    source.completedAs = (conversation) => ({ ...conversation, status: 'stuck' });
    await source.clock.pass(2_000);
    expect(source.lines).toEqual(['=running', 'last', '=stuck']);
    expect(source.timesOf('complete')).toHaveLength(status === 'stuck' ? 1 : 2);
  });

  it.each(['running', 'idle', 'starting'] as const)(
    'does not complete the record of a run that is %s',
    async (status) => {
      source.set({ status });
      await source.start();
      expect([source.lines, source.timesOf('complete')]).toEqual([[`=${status}`], []]);
    },
  );

  it.each([
    ['read-again', ['last', '=finished'], 3],
    ['complete', ['=finished'], 2],
  ] as const)('reads the last events of a run when the source says so: %s', async (answer, lines, reads) => {
    source.set({ status: 'finished', execution_status: 'finished' });
    source.catchUp = () => {
      source.stored = [sighting('last')];
      return Promise.resolve(answer);
    };
    await source.start();
    expect([source.lines, source.timesOf('read').length]).toEqual([lines, reads]);
  });

  it('does not deliver again a record that is the same once it is complete', async () => {
    await source.start();
    const before: Conversation = source.record;
    source.set({ status: 'failed', execution_status: 'error' });
    source.completedAs = () => before;
    await source.clock.pass(1_000);
    expect([source.lines, source.timesOf('complete')]).toEqual([['=running'], [1_000]]);
  });

  it('delivers the complete status of a conversation whose sandbox is paused once', async () => {
    source.set({ status: 'paused', execution_status: null, sandbox_status: 'paused' });
    source.completedAs = (conversation) => ({ ...conversation, status: 'finished' });
    await source.start();
    await source.clock.pass(3_000);
    expect([source.lines, source.timesOf('complete')]).toEqual([['=finished'], [0]]);
  });

  it.each<[string, Partial<Conversation>]>([
    ['whose sandbox runs', { execution_status: null, sandbox_status: 'running' }],
    ['whose sandbox is unknown', { execution_status: null, sandbox_status: null }],
    ['whose run has a status', { execution_status: 'x', sandbox_status: 'paused' }],
  ])('compares the complete status of a conversation %s with the record', async (_, members) => {
    source.set({ status: 'idle', ...members });
    await source.start();
    source.set({ status: 'starting' });
    await source.clock.pass(1_000);
    expect(source.lines).toEqual(['=idle', '=starting']);
  });

  it('ends by itself when the conversation is archived', async () => {
    await source.start();
    source.set({ status: 'archived' });
    await source.clock.pass(1_000);
    expect([source.lines, source.endedWith]).toEqual([['=running', '=archived'], 'the end']);
    expect(source.clock.pauses).toEqual([1_000]);
    const atOnce = new ScriptedSource();
    atOnce.set({ status: 'archived' });
    await atOnce.start();
    expect([atOnce.endedWith, atOnce.timesOf('look')]).toEqual(['the end', [0]]);
  });
});

describe('a record that may recover', () => {
  it('is not delivered, and is read again every 500 ms until it is another', async () => {
    await source.start();
    source.set({ status: 'failed', may_recover: true });
    await source.clock.pass(15_999);
    expect(source.lines).toEqual(['=running']);
    expect(source.timesOf('look').slice(0, 5)).toEqual([0, 1_000, 1_500, 2_000, 2_500]);
    const { may_recover: _, ...lasting } = source.record;
    source.record = lasting;
    await source.clock.pass(1);
    expect(source.lines).toEqual(['=running', '=failed']);
  });
});
