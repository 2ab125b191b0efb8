import { beforeEach, describe, expect, it } from 'vitest';
import type { Conversation } from '../../src/domain/conversation.ts';
import { AppError } from '../../src/base/errors.ts';
import { ReadRequest } from '../../src/runs/follow-source.ts';
import { ScriptedSource, sourceEvent, unreachable } from './support/source.ts';

const ENDS = ['finished', 'failed', 'stuck', 'waiting', 'paused', 'stopped', 'archived'] as const;

let source: ScriptedSource;
beforeEach(() => {
  source = new ScriptedSource();
});

describe('the start of following', () => {
  it('delivers the stored events in their order, and then the state', async () => {
    source.stored = [sourceEvent('a'), sourceEvent('b'), sourceEvent('snapshot', { event: null })];
    await source.start();
    expect(source.lines).toEqual(['a', 'b', '=running']);
    expect(source.asked).toEqual(['record@0', 'open@0', 'read@0']);
  });

  it.each([
    [{ since: '1970-01-01T00:01:00Z' }, 60_000],
    [{}, null],
  ])('starts at the time that is given: %j', async (options, sinceMs) => {
    await source.start(options);
    expect(source.readsSinceMs).toEqual([sinceMs]);
  });

  it('delivers only events after the one to start after', async () => {
    source.stored = [sourceEvent('a'), sourceEvent('b'), sourceEvent('c')];
    await source.start({ afterEventId: 'b' });
    expect(source.lines).toEqual(['c', '=running']);
  });

  it('ends with not-found when the event to start after does not exist', async () => {
    source.stored = [sourceEvent('a')];
    await source.start({ afterEventId: 'x'.repeat(101) });
    expect(source.lines).toEqual([]);
    expect(source.endedWith).toMatchObject({
      kind: 'not-found',
      message: `there is no event ${'x'.repeat(100)} in this conversation`,
    });
  });

  it('reads the record again when a stored event reports another status', async () => {
    source.stored = [sourceEvent('a', { execution_status: 'finished' }), sourceEvent('b')];
    source.onRead = () => source.set({ status: 'finished', execution_status: 'finished' });
    await source.start();
    expect(source.lines).toEqual(['a', 'b', '=finished']);
    expect(source.timesOf('record')).toEqual([0, 0]);
  });

  it('reads the record until it is as new as a stored event', async () => {
    source.stored = [sourceEvent('a', { execution_status: 'finished' })];
    source.onLook = () => {
      if (source.clock.now() >= 300)
        source.set({ status: 'finished', execution_status: 'finished' });
    };
    await source.start();
    await source.clock.pass(900);
    expect(source.timesOf('record')).toEqual([0, 0, 125, 312.5]);
    expect(source.lines).toEqual(['a', '=finished']);
  });

  it('does not read the record again when a stored event reports the same status', async () => {
    source.stored = [sourceEvent('a', { execution_status: 'running' })];
    await source.start();
    await source.clock.pass(500);
    expect(source.timesOf('record')).toEqual([0]);
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
    source.stored = [sourceEvent('a')];
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
    source.stored = [sourceEvent('a')];
    await source.start();
    source.stored.push(sourceEvent('b'));
    await source.clock.pass(2_500);
    expect(source.lines).toEqual(['a', '=running', 'b']);
    expect(source.asked).toEqual(
      [0, 1_000, 2_000].flatMap((at) => [`record@${at}`, `open@${at}`, `read@${at}`]),
    );
    expect(source.clock.pauses).toEqual([1_000, 1_000, 1_000]);
  });

  it('reads again soon after an event where the source has it so, and less often the longer none comes', async () => {
    const quick = Object.assign(source, {
      pollMs: { reading: 1_000, listening: 1_000, afterEvent: 100 },
    });
    await quick.start();
    await quick.clock.pass(2_500);
    quick.stored = [sourceEvent('a')];
    await quick.clock.pass(4_000);
    expect(quick.timesOf('read').map((at) => Math.round(at))).toEqual([
      0, 1_000, 2_000, 3_000, 3_100, 3_200, 3_300, 3_400, 3_500, 3_600, 3_720, 3_864, 4_037, 4_244,
      4_493, 4_792, 5_150, 5_580, 6_096,
    ]);
  });

  const idle = { status: 'idle', execution_status: 'idle' } as const;
  const because = (code: string, text = code) => ({ reason: { code, text } });
  it.each<[string, Partial<Conversation>[], string]>([
    [
      'status and title, once',
      [{ title: 'another' }, idle, { sandbox_status: 'paused' }, { execution_status: 'sleeping' }],
      '=running =running =idle =idle =idle',
    ],
    [
      'the reason of a run that is in progress',
      [
        because('no-progress'),
        because('no-progress', 'in other words'),
        { reason: null },
        idle,
        because('of idle'),
      ],
      '=running =running =running =idle',
    ],
    [
      'a status in a running sandbox',
      [{ execution_status: null }, { status: 'starting' }],
      '=running =running =starting',
    ],
    [
      'a status in an unknown sandbox',
      [{ execution_status: null, sandbox_status: null }, { status: 'starting' }],
      '=running =running =starting',
    ],
    [
      'a status of a run that has one in its paused sandbox',
      [{ sandbox_status: 'paused' }, { status: 'starting' }],
      '=running =running =starting',
    ],
  ])('delivers each change of %s', async (_, changes, lines) => {
    await source.start();
    for (const members of changes) {
      source.set(members);
      await source.clock.pass(3_000);
    }
    expect(source.lines.join(' ')).toBe(lines);
    expect(source.timesOf('complete')).toEqual([]);
  });

  it.each(ENDS)(
    'completes the record of a run that is %s, and delivers its last events first',
    async (status) => {
      await source.start();
      source.set({ status, execution_status: status });
      source.onRead = () => {
        // Stored between the read of this round and the end.
        if (source.timesOf('read').length === 3) source.stored = [sourceEvent('last')];
      };
      source.completedAs = (conversation) => ({ ...conversation, status: 'stuck' });
      await source.clock.pass(2_000);
      expect(source.lines).toEqual(['=running', 'last', '=stuck']);
      expect(source.timesOf('complete')).toHaveLength(status === 'stuck' ? 1 : 2);
    },
  );

  it.each([
    ['read-again', ['=running', 'last', '=finished'], 3],
    ['complete', ['=running', '=finished'], 2],
  ] as const)(
    'reads the last events of a run when the source says so: %s',
    async (answer, lines, reads) => {
      await source.start();
      source.set({ status: 'finished', execution_status: 'finished' });
      source.catchUp = () => {
        source.stored = [sourceEvent('last')];
        return Promise.resolve(answer);
      };
      await source.clock.pass(1_000);
      expect([source.lines, source.timesOf('read').length - 1]).toEqual([lines, reads]);
    },
  );

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

  it('ends by itself when the conversation is archived', async () => {
    await source.start();
    source.set({ status: 'archived' });
    await source.clock.pass(1_000);
    expect([source.lines, source.endedWith]).toEqual([['=running', '=archived'], 'the end']);
    expect(source.clock.pauses).toEqual([1_000]);
    const atOnce = new ScriptedSource();
    atOnce.set({ status: 'archived' });
    await atOnce.start();
    expect([atOnce.endedWith, atOnce.timesOf('record')]).toEqual(['the end', [0]]);
  });
});

describe('a record that may recover', () => {
  it('is not delivered, and is read again every 500 ms until it is another', async () => {
    await source.start();
    source.set({ status: 'failed', may_recover: true });
    await source.clock.pass(15_999);
    expect(source.lines).toEqual(['=running']);
    expect(source.timesOf('record').slice(0, 5)).toEqual([0, 1_000, 1_500, 2_000, 2_500]);
    const { may_recover: _, ...lasting } = source.record;
    source.record = lasting;
    await source.clock.pass(1);
    expect(source.lines).toEqual(['=running', '=failed']);
  });
});

describe('a record that is requested', () => {
  const request = new ReadRequest();

  it('is delivered at once although it is the same', async () => {
    await source.start({ request });
    await source.clock.pass(400);
    request.make();
    await source.clock.pass(100);
    expect(source.lines).toEqual(['=running', '=running']);
    expect(source.timesOf('record')).toEqual([0, 400]);
  });

  it('is delivered after the events before it when it is an end', async () => {
    source.set({ status: 'finished', execution_status: 'finished' });
    await source.start({ request });
    source.stored = [sourceEvent('a')];
    request.make();
    await source.clock.pass(100);
    expect(source.lines).toEqual(['=finished', 'a', '=finished']);
  });

  it('is delivered when the server answers again', async () => {
    await source.start({ request });
    source.onLook = () => {
      throw unreachable();
    };
    request.make();
    await source.clock.pass(2_000);
    expect(source.lines).toEqual(['=running']);
    source.onLook = () => undefined;
    await source.clock.pass(4_000);
    expect(source.lines).toEqual(['=running', '=running']);
  });

  it('is not delivered while it may recover', async () => {
    await source.start({ request });
    source.set({ status: 'failed', may_recover: true });
    request.make();
    await source.clock.pass(2_000);
    expect(source.lines).toEqual(['=running']);
    delete source.record.may_recover;
    await source.clock.pass(1_000);
    expect(source.lines).toEqual(['=running', '=failed']);
  });
});

describe('a follower that reads once', () => {
  it('yields the record of a run in progress alone, and ends', async () => {
    source.stored = [sourceEvent('a')];
    source.hasSocket = true;
    await source.start({ extent: 'once' });
    expect([source.lines, source.asked, source.endedWith]).toEqual([
      ['=running'],
      ['record@0'],
      'the end',
    ]);
  });

  it('yields the events before an end, also of a record that may recover, and opens no socket', async () => {
    source.set({ status: 'failed', may_recover: true });
    source.stored = [sourceEvent('a'), sourceEvent('b')];
    source.hasSocket = true;
    await source.start({ extent: 'once', afterEventId: 'a' });
    expect([source.lines, source.asked]).toEqual([
      ['b', '=failed'],
      ['record@0', 'read@0', 'complete@0'],
    ]);
  });

  it('yields an end whose events cannot be read', async () => {
    source.set({ status: 'finished' });
    source.onRead = () => {
      throw unreachable();
    };
    await source.start({ extent: 'once' });
    expect(source.lines).toEqual(['=finished']);
  });

  it('throws what does not pass', async () => {
    source.set({ status: 'finished' });
    const error = new AppError('auth', 'refused');
    source.onRead = () => {
      throw error;
    };
    await source.start({ extent: 'once' });
    expect(source.endedWith).toBe(error);
  });
});
