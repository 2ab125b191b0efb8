import { describe, expect, it } from 'vitest';
import { useTwoRuns } from './conv-world.ts';
import { endedRun, errorOf, json, jsonLines, type OutcomeJson, startHeldRun, until } from './support.ts';

const at = useTwoRuns();
const { conv } = at;

describe('conv wait', () => {
  it('prints one outcome for each id', async () => {
    expect(json<OutcomeJson>(await conv('wait', at.first, '--json'))).toMatchObject({
      type: 'outcome',
      conversation_id: at.first,
      status: 'finished',
      exit_code: 0,
    });
    const both = await conv('wait', at.first, at.second, '--json');
    expect(json<{ items: OutcomeJson[] }>(both).items.map(({ conversation_id: id }) => id)).toEqual([
      at.first,
      at.second,
    ]);
  });

  it('reads ids from stdin', async () => {
    const ended = await at.world.invoke({ args: ['conv', 'wait', '-', '-q'], stdin: `${at.first}\n${at.second}\n` });
    expect(ended).toMatchObject({ code: 0, out: `${at.first}\n${at.second}\n` });
  });

  it('exits with the worst code of all, and with --any when the first run has ended', async () => {
    const failed = await endedRun(at.world);
    await conv('send', failed, 'more', '--wait');
    expect((await conv('wait', at.first, failed)).code).toBe(1);
    const held = await startHeldRun(at.world);
    const any = await conv('wait', held.id, at.first, '--any', '--json');
    expect(any.code).toBe(0);
    expect(json<{ items: OutcomeJson[] }>(any).items.map(({ conversation_id: id }) => id)).toEqual([at.first]);
    await held.release();
    expect((await conv('wait', held.id)).code).toBe(0);
  });

  it('--for waits for a status, and exits at once when it can no longer be reached', async () => {
    const held = await startHeldRun(at.world);
    expect((await conv('wait', held.id, '--for', 'running')).code).toBe(0);
    const finished = conv('wait', held.id, '--for', 'finished');
    await held.release();
    expect((await finished).code).toBe(0);
    expect((await conv('wait', held.id, '--for', 'waiting')).code).toBe(6);
    expect((await conv('wait', held.id, '--for', 'asleep')).code).toBe(2);
  });

  it('exits 124 at its deadline and names the last status', async () => {
    const held = await startHeldRun(at.world);
    const ended = await conv('wait', held.id, '--timeout', '300ms', '--json');
    expect(ended.code).toBe(124);
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', last_status: 'running' });
    await held.release();
    await conv('wait', held.id);
  });

  it('exits 124 after the limit of --no-events-timeout', async () => {
    const held = await startHeldRun(at.world);
    const ended = await conv('wait', held.id, '--fail-on-stall', '300ms', '--json');
    expect(ended.code).toBe(124);
    expect(json<OutcomeJson>(ended).reason?.code).toBe('no-events');
    await held.release();
    await conv('wait', held.id);
  });

  it('exits 6 when the run is stopped, and 5 when it is deleted', async () => {
    const stopped = await startHeldRun(at.world);
    const waiting = conv('wait', stopped.id);
    expect((await conv('stop', stopped.id)).code).toBe(0);
    expect((await waiting).code).toBe(6);
    const deleted = await startHeldRun(at.world);
    let shown = '';
    const following = at.world.invoke({
      args: ['conv', 'follow', deleted.id, '--json'],
      onOut: (text) => (shown += text),
    });
    await until(() => shown.includes('"type":"event"'));
    expect((await conv('delete', deleted.id, '-y')).code).toBe(0);
    const ended = await following;
    expect(ended.code).toBe(5);
    expect(jsonLines(ended.out).at(-1)).toMatchObject({ type: 'outcome', status: 'deleted', exit_code: 5 });
  });
});
