import { beforeAll, describe, expect, it } from 'vitest';
import { useConvWorld } from './conv-world.ts';
import { endedRun, finish, json, jsonLines, replayFile, run, startHeldRun } from './support.ts';

const at = useConvWorld({ spec: 'process' });
const { conv } = at;
let id: string;
beforeAll(async () => {
  id = await endedRun(at.world);
});

interface Line {
  type: string;
  id: string;
  kind: string;
  exit_code?: number;
}

describe('conv follow', () => {
  it('prints each event once and in order, and the outcome last', async () => {
    const followed = jsonLines<Line>((await conv('follow', id, '--format', 'ndjson')).out);
    const stored = json<{ items: Line[] }>(await conv('events', id, '--json')).items;
    expect(followed.slice(0, -1).map((event) => event.id)).toEqual(stored.map((event) => event.id));
    expect(followed.at(-1)).toMatchObject({ type: 'outcome', exit_code: 0 });
  });

  it('prints events while the run is in progress', async () => {
    const held = await startHeldRun(at.world);
    const following = conv('follow', held.id, '--json');
    await held.release();
    const ended = await following;
    expect(ended.code).toBe(0);
    const lines = jsonLines<Line>(ended.out);
    expect(new Set(lines.map((line) => line.id)).size).toBe(lines.length);
    expect(lines.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['MessageEvent', 'ActionEvent', 'ObservationEvent']),
    );
    expect(lines.at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
  });

  it('--since, --tail and the filters select the events', async () => {
    const all = json<{ items: Line[] }>(await conv('events', id, '--json')).items;
    const ids = async (...args: string[]) => {
      const lines = jsonLines<Line>((await conv('follow', id, '--json', ...args)).out);
      expect(lines.at(-1)).toMatchObject({ type: 'outcome', exit_code: 0 });
      return lines.slice(0, -1).map((line) => line.id);
    };
    expect(await ids('--tail', '3')).toEqual(all.slice(-3).map((event) => event.id));
    expect(await ids('--tail', '0')).toEqual([]);
    expect(await ids('--since', all[4]?.id ?? '')).toEqual(all.slice(5).map((event) => event.id));
    expect(await ids('--since', '1h')).toHaveLength(all.length);
    const actions = all.filter(({ kind }) => kind === 'ActionEvent').map((event) => event.id);
    expect(await ids('--kind', 'ActionEvent')).toEqual(actions);
    expect(await ids('--kind', 'ActionEvent', '--tail', '1')).toEqual(actions.slice(-1));
  });

  it('--tail 0 prints only events after the start of the command', async () => {
    const held = await startHeldRun(at.world);
    const past = json<{ items: Line[] }>(await conv('events', held.id, '--json')).items.map((event) => event.id);
    const following = conv('follow', held.id, '--tail', '0', '--json');
    await held.release();
    const lines = jsonLines<Line>((await following).out);
    expect(lines.filter((line) => past.includes(line.id))).toEqual([]);
    expect(lines.at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
  });

  it('exits 5 for a starting event that does not exist', async () => {
    expect((await conv('follow', id, '--since', 'f'.repeat(32))).code).toBe(5);
  });

  it('is the same command as events -f and logs -f', async () => {
    const { out } = await conv('follow', id);
    expect((await conv('events', id, '-f')).out).toBe(out);
    expect((await conv('logs', id, '-f')).out).toBe(out);
  });

  it('prints one line for each event on a terminal', async () => {
    const file = await replayFile(at.world, 'talk.json', [
      { action: 'run', args: { command: 'seq 20', thought: 'Counting helps.' } },
      run('exit 3'),
      finish('Counted.'),
    ]);
    const followed = await conv('new', 'Count to twenty.', '--no-repo', '--replay', file, '--follow');
    expect(followed.code).toBe(0);
    const lines = followed.out.split('\n').map((line) => line.replace(/^ +\d+:\d\d /, 'TIME '));
    const start = lines.findIndex((line) => line.includes('Count to twenty.'));
    expect(lines.slice(start)).toEqual([
      'TIME  you    Count to twenty.',
      'TIME  · running',
      'TIME  Counting helps.',
      '       $ seq 20',
      'TIME  1',
      ...[2, 3, 4, 5, 6, 7, 8].map((number) => `       ${number}`),
      '       … 12 more lines',
      'TIME  $ exit 3',
      'TIME  ✗ exit 3',
      'TIME  ✓ Counted.',
      'TIME  · finished',
      '✓ finished',
      '',
    ]);
  });

  it('--format tsv prints rows and nothing else', async () => {
    const { out } = await conv('follow', id, '--format', 'tsv');
    expect(
      out
        .trimEnd()
        .split('\n')
        .every((line) => line.split('\t').length === 5),
    ).toBe(true);
    expect((await conv('follow', id, '--format', 'table')).code).toBe(2);
  });
});
