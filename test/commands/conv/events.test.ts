/** `conv events` and `conv follow`: what they select and print. */
import { describe, expect, it } from 'vitest';
import { finish, jsonLines, replayFile, run, startHeldRun, useEndedRun } from './support.ts';

const at = useEndedRun({ spec: 'process', noun: 'conv' });

interface Line {
  type: string;
  id: string;
  kind: string;
}

const eventsOf = async (id: string) => (await at.json<{ items: Line[] }>(`events ${id}`)).items;
const rows = async (flags: string) =>
  (await at.ends(`events ${at.id} ${flags}`, {})).out.trimEnd().split('\n');

describe('conv events', () => {
  it('prints rows in a pipe, one document with --json, ids with -q', async () => {
    const cells = (await rows('')).map((row) => row.split('\t'));
    const { items, has_more } = await at.json<{ items: Line[]; has_more: boolean }>(
      `events ${at.id}`,
    );
    const ids = items.map(({ id }) => id);
    expect([has_more, cells.map(([id]) => id)]).toEqual([false, ids]);
    expect(cells[1]?.slice(2)).toEqual(['user', 'MessageEvent', 'Show what you can do.']);
    const members = [
      'type',
      'id',
      'conversation_id',
      'timestamp',
      'source',
      'kind',
      'text',
      'payload',
    ];
    expect(Object.keys(items[0] ?? {})).toEqual(members);
    expect(await rows('-q')).toEqual(ids);
    expect(jsonLines((await at.ends(`events ${at.id} --format ndjson`, {})).out)).toEqual(items);
  });

  it('prints a table on a terminal', async () => {
    const { out } = await at.ends(`events ${at.id} --no-color`, { columns: 90 });
    const [heading, ...lines] = out.trimEnd().split('\n');
    expect(heading?.trimEnd().split(/ {2,}/)).toEqual(['TIME', 'SOURCE', 'KIND', 'TEXT']);
    expect(out).toMatch(/^0:\d\d {2}agent {8}action {6,}\S/m);
    expect(lines.every((line) => line.length <= 90)).toBe(true);
  });

  it('selects the newest, by kind, by source and from a starting point', async () => {
    const all = await rows('-q');
    expect(await rows('-q --tail 2')).toEqual(all.slice(-2));
    await at.ends(`events ${at.id} --tail 0 --json`, { out: { items: [], has_more: false } });
    expect(await rows('-q -L 2')).toEqual(all.slice(0, 2));
    expect(await rows(`-q --since ${all[2]}`)).toEqual(all.slice(3));
    expect(await rows('-q --since 1h')).toEqual(all);
    const kinds = (await rows('--kind ActionEvent --source agent')).map(
      (row) => row.split('\t')[3],
    );
    expect(new Set(kinds)).toEqual(new Set(['ActionEvent']));
    expect(await rows('--kind action,Message')).toEqual(
      await rows('--kind ActionEvent,MessageEvent'),
    );
    for (const line of ['events', 'events --tail 99', 'follow'])
      await at.ends(`${line} ${at.id} --kind actionevent,Foo`, {
        err: /^no event has the kind Foo; there are .*MessageEv/,
      });
  });

  it.each([
    [2, '--source agnet', 'agent, user, environment, hook'],
    [2, '--tail -1', 'it must be a non-negative integer.'],
    [2, '--since yesterday', 'is not a time'],
    [5, `--since ${'0'.repeat(32)}`, 'there is no event'],
  ])('exits %i for %s', async (code, flags, err) => {
    await at.ends(`events ${at.id} ${flags}`, { code, err });
  });
});

describe('conv follow', () => {
  it('prints each event once and in order, and the outcome last', async () => {
    const followed = jsonLines<Line>((await at.ends(`follow ${at.id} --format ndjson`, {})).out);
    expect(followed.slice(0, -1).map(({ id }) => id)).toEqual(
      (await eventsOf(at.id)).map(({ id }) => id),
    );
    expect(followed.at(-1)).toMatchObject({ type: 'outcome', exit_code: 0 });
  });

  it('prints events while the run is in progress, with --tail 0 only those after its start', async () => {
    const held = await startHeldRun(at.world);
    const past = (await eventsOf(held.id)).map(({ id }) => id);
    const following = ['', '--tail 0'].map((flags) =>
      at.ends(`follow ${held.id} ${flags} --json`, {}),
    );
    await held.release();
    const [all = [], tail = []] = (await Promise.all(following)).map(({ out }) =>
      jsonLines<Line>(out),
    );
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    const kinds = ['MessageEvent', 'ActionEvent', 'ObservationEvent'];
    expect(all.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds));
    expect(tail.filter(({ id }) => past.includes(id))).toEqual([]);
    for (const lines of [all, tail])
      expect(lines.at(-1)).toMatchObject({ type: 'outcome', status: 'finished' });
  });

  it('--since, --tail and the filters select the events', async () => {
    const all = await eventsOf(at.id);
    const idsOf = (events: Line[]) => events.map(({ id }) => id);
    const ids = async (flags: string) => {
      const lines = jsonLines<Line>((await at.ends(`follow ${at.id} --json ${flags}`, {})).out);
      expect(lines.at(-1)).toMatchObject({ type: 'outcome', exit_code: 0 });
      return idsOf(lines.slice(0, -1));
    };
    expect(await ids('--tail 3')).toEqual(idsOf(all.slice(-3)));
    expect(await ids('--tail 0')).toEqual([]);
    expect((await at.ends(`follow ${at.id} --fields id`, {})).out.trimEnd().split('\n')).toEqual(
      idsOf(all),
    );
    expect(await ids(`--since ${all[4]?.id}`)).toEqual(idsOf(all.slice(5)));
    expect(await ids('--since 1h')).toHaveLength(all.length);
    const actions = idsOf(all.filter(({ kind }) => kind === 'ActionEvent'));
    expect(await ids('--kind ActionEvent')).toEqual(actions);
    expect(await ids('--kind ActionEvent --tail 1')).toEqual(actions.slice(-1));
  });

  it('is the same command as events -f and logs -f', async () => {
    const { out } = await at.ends(`follow ${at.id}`, {});
    for (const verb of ['events', 'logs']) await at.ends(`${verb} ${at.id} -f`, { out });
  });

  it('prints one line for each event on a terminal', async () => {
    await replayFile(at.world, 'talk.json', [
      { action: 'run', args: { command: 'seq 20', thought: 'Counting helps.' } },
      run('exit 3'),
      finish('Counted.'),
    ]);
    const words = ['new', 'Count to twenty.', '--no-repo', '--replay', 'talk.json', '--follow'];
    const { out } = await at.ends(words, {});
    const lines = out.split('\n').map((line) => line.replace(/^ +\d+:\d\d /, 'TIME '));
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
      '✓ finished',
      '',
    ]);
  });

  it('--format tsv prints rows and nothing else, and a table or an unknown starting event is refused', async () => {
    const { out } = await at.ends(`follow ${at.id} --format tsv`, {});
    expect(
      out
        .trimEnd()
        .split('\n')
        .filter((line) => line.split('\t').length !== 5),
    ).toEqual([]);
    await at.ends(`follow ${at.id} --format table`, { code: 2 });
    await at.ends(`follow ${at.id} --since ${'f'.repeat(32)}`, { code: 5 });
  });
});
