import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import {
  endedRun,
  errorOf,
  finish,
  json,
  jsonLines,
  replayFile,
  run,
  startHeldRun,
  until,
  type ConversationJson,
  type OutcomeJson,
} from './support.ts';

let world: World;
let first: string;
let second: string;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  first = await endedRun(world, '--title', 'The first', '--id', `aaaa${'1'.repeat(28)}`);
  second = await endedRun(world, '--title', 'The second\nof two', '--id', `aaaa${'2'.repeat(28)}`);
});
afterAll(() => world.close());

const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);
const show = async (word: string) => json(await conv('show', word, '--json'));

interface ListJson {
  items: ConversationJson[];
  has_more: boolean;
}

describe('conv list', () => {
  it('prints a fitted table on a terminal', async () => {
    const { out } = await world.invoke({ args: ['conv', 'list', '--no-color'], columns: 100 });
    const lines = out.split('\n').map((line) =>
      line
        .trimEnd()
        .replace(/now|\d+[smh] ago/, '<age>')
        .replace(/ {2,}/g, '  '),
    );
    expect(lines).toEqual([
      'ID  STATUS  TITLE  REPOSITORY  BRANCH  UPDATED AT',
      'aaaa2222  finished  The second of two  <age>',
      'aaaa1111  finished  The first  <age>',
      '',
    ]);
  });

  it('prints rows of whole values in a pipe', async () => {
    const { out } = await conv('list');
    const [{ created_at: created, updated_at: updated, sandbox_id: sandbox }] = json<{
      items: [{ created_at: string; updated_at: string; sandbox_id: string }];
    }>(await conv('list', '--json')).items;
    expect(out.split('\n')[0]?.split('\t')).toEqual([
      second,
      'finished',
      'The second\\nof two',
      '',
      '',
      '',
      created,
      updated,
      '',
      sandbox,
      '',
    ]);
    expect(created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
  });

  it('prints one document with --json', async () => {
    const list = json<ListJson>(await conv('list', '--json'));
    expect(list.has_more).toBe(false);
    expect(list.items.map(({ id }) => id)).toEqual([second, first]);
    expect(Object.keys(list.items[0] ?? {})).toEqual([
      ...[
        'id',
        'start_task_id',
        'title',
        'status',
        'reason',
        'waiting_for',
        'dialect',
        'execution_status',
        'sandbox_id',
      ],
      ...['sandbox_status', 'repository', 'branch', 'git_provider', 'model', 'created_at', 'updated_at', 'cost_usd'],
      ...['tokens', 'url'],
    ]);
  });

  it('prints one object a line with ndjson, and ids with -q', async () => {
    const { out } = await conv('list', '--format', 'ndjson');
    expect(jsonLines<{ id: string }>(out).map(({ id }) => id)).toEqual([second, first]);
    expect((await conv('list', '-q')).out).toBe(`${second}\n${first}\n`);
  });

  it('stops at the limit and says that there is more', async () => {
    const ended = await conv('list', '-L', '1', '--json');
    expect(json<ListJson>(ended)).toMatchObject({ items: [{ id: second }], has_more: true });
    expect(ended.err).toContain('--all-pages');
  });

  it('takes selectors, each with its opposite', async () => {
    expect((await conv('list', '--status', 'finished', '-q')).out).toBe(`${second}\n${first}\n`);
    expect((await conv('list', '--not-status', 'finished', '--json')).out).toBe(
      '{\n  "items": [],\n  "has_more": false\n}\n',
    );
    expect((await conv('list', '--older-than', '1d', '-q')).out).toBe('');
    expect((await conv('list', '--spec', 'process', '-q')).out).toBe(`${second}\n${first}\n`);
    expect((await conv('list', '--repo', 'acme/*', '-q')).out).toBe('');
  });

  it('chooses fields, and names those there are', async () => {
    expect((await conv('list', '--fields', 'title,status')).out.split('\n')[1]).toBe('The first\tfinished');
    const wrong = await conv('list', '--fields', 'colour', '--json');
    expect(wrong.code).toBe(2);
    expect(errorOf(wrong).hint).toContain('execution_status');
  });
});

describe('an id', () => {
  it.each([
    ['whole', () => first],
    ['with dashes', () => first.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')],
    ['in capitals', () => first.toUpperCase()],
    ['by its beginning', () => 'aaaa1'],
    ['in a URL', () => `https://acs.example/conversations/${first}#files`],
  ])('%s', async (_, word) => {
    expect((await show(word())).id).toBe(first);
  });

  it('@last is the last that was started', async () => {
    expect((await show('@last')).id).toBe(second);
  });

  it('that several begin with is refused with all of them', async () => {
    const ended = await conv('show', 'aaaa', '--json');
    expect(ended.code).toBe(2);
    expect(errorOf(ended)).toMatchObject({ code: 'usage', candidates: [second, first] });
  });

  it('that nothing begins with is not found, and says where it looked', async () => {
    const ended = await conv('show', 'bbbb', '--json');
    expect(ended.code).toBe(5);
    expect(errorOf(ended).hint).toContain('1000');
  });

  it('that is unknown is not found', async () => {
    expect((await conv('show', 'f'.repeat(32))).code).toBe(5);
  });

  it.each(['abc', 'a b', 'https://acs.example/'])('%j is none', async (word) => {
    for (const verb of ['show', 'follow', 'wait', 'events', 'result', 'diff', 'stop']) {
      expect((await conv(verb, word)).code, verb).toBe(2);
    }
  });

  it('@last is not found where nothing was started', async () => {
    const ended = await world.invoke({
      args: ['conv', 'show', '@last'],
      env: { ACS_CONFIG_DIR: `${world.dir}/empty` },
    });
    expect(ended.code).toBe(5);
  });
});

describe('conv show', () => {
  it('prints key and value rows on a terminal', async () => {
    const { out } = await world.invoke({ args: ['conv', 'show', first, '--no-color'], columns: 100 });
    expect(out).toContain(`id                ${first}\n`);
    expect(out).toContain('status            finished\n');
  });

  it('ends with the code of the state when asked to', async () => {
    expect((await conv('show', first, '--exit-status')).code).toBe(0);
    const held = await startHeldRun(world);
    expect((await conv('show', held.id, '--exit-status')).code).toBe(6);
    expect((await conv('show', held.id)).code).toBe(0);
    await held.release();
    await conv('wait', held.id);
  });

  it('knows that a run finished when its sandbox sleeps', async () => {
    const id = await endedRun(world);
    await world.acs('sandbox', 'pause', (await show(id)).sandbox_id ?? '');
    expect(await show(id)).toMatchObject({ status: 'finished', sandbox_status: 'paused' });
    expect((await conv('wait', id)).code).toBe(0);
  });
});

describe('conv events', () => {
  const rows = async (...args: string[]) => (await conv('events', first, ...args)).out.trimEnd().split('\n');

  it('prints rows in a pipe, one document with --json, ids with -q', async () => {
    const cells = (await rows()).map((row) => row.split('\t'));
    const { items, has_more } = json<{ items: Record<string, unknown>[]; has_more: boolean }>(
      await conv('events', first, '--json'),
    );
    expect(has_more).toBe(false);
    expect(cells.map(([id]) => id)).toEqual(items.map(({ id }) => id));
    expect(cells[1]?.slice(2)).toEqual(['user', 'MessageEvent', 'Show what you can do.']);
    expect(Object.keys(items[0] ?? {})).toEqual([
      'type',
      'id',
      'conversation_id',
      'timestamp',
      'source',
      'kind',
      'text',
      'payload',
    ]);
    expect(await rows('-q')).toEqual(items.map(({ id }) => id));
    expect(jsonLines((await conv('events', first, '--format', 'ndjson')).out)).toEqual(items);
  });

  it('prints a table on a terminal', async () => {
    const { out } = await world.invoke({ args: ['conv', 'events', first, '--no-color'], columns: 90 });
    const [heading, ...lines] = out.trimEnd().split('\n');
    expect(heading?.trimEnd().split(/ {2,}/)).toEqual(['TIMESTAMP', 'SOURCE', 'KIND', 'TEXT']);
    expect(lines.every((line) => line.length <= 90)).toBe(true);
  });

  it('takes the newest, the kinds, the sources and a starting point', async () => {
    const all = await rows('-q');
    expect(await rows('-q', '--tail', '2')).toEqual(all.slice(-2));
    expect(json(await conv('events', first, '--tail', '0', '--json'))).toEqual({ items: [], has_more: false });
    expect(await rows('-q', '-L', '2')).toEqual(all.slice(0, 2));
    expect(await rows('-q', '--since', all[2] ?? '')).toEqual(all.slice(3));
    expect(await rows('-q', '--since', '1h')).toEqual(all);
    const kinds = (await rows('--kind', 'ActionEvent', '--source', 'agent')).map((row) => row.split('\t')[3]);
    expect(new Set(kinds)).toEqual(new Set(['ActionEvent']));
  });

  it('refuses a starting point that is none', async () => {
    expect((await conv('events', first, '--since', 'yesterday')).code).toBe(2);
    expect((await conv('events', first, '--since', '0'.repeat(32))).code).toBe(5);
  });
});

describe('conv result', () => {
  it('prints the answer byte for byte', async () => {
    const file = await replayFile(world, 'answer.json', [finish('  zwei\n\tZeilen ü\u202e ')]);
    const id = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json')).id;
    expect((await conv('result', id)).out).toBe('  zwei\n\tZeilen ü\u202e ');
  });

  it('is made safe on a terminal', async () => {
    const file = await replayFile(world, 'bad-answer.json', [finish('\u001b[2Jgone')]);
    const id = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json')).id;
    const { out } = await world.invoke({ args: ['conv', 'result', id], columns: 80 });
    expect(out).toBe('\\x1b[2Jgone\n');
  });

  it('is not found while there is none', async () => {
    const held = await startHeldRun(world);
    const ended = await conv('result', held.id);
    expect(ended).toMatchObject({ code: 5, out: '' });
    expect(ended.err).toContain(`wait for it: acs conv wait ${held.id}`);
    await held.release();
    await conv('wait', held.id);
  });

  it('names no wait where no answer can come', async () => {
    const { id } = json(await conv('new', '--no-repo', '--replay', 'demo', '--wait', '--json'));
    await conv('send', id, 'go on', '--wait');
    const failed = await conv('result', id);
    expect(failed).toMatchObject({ code: 5, out: '' });
    expect(failed.err).toContain('is failed and gave no answer to the latest message');
    expect(failed.err).not.toContain('conv wait');
  });

  it('has no other format', async () => {
    expect((await conv('result', first, '--json')).code).toBe(2);
  });
});

describe('conv diff', () => {
  it('prints what changed, or says that nothing did', async () => {
    expect((await conv('diff', first)).out).toContain('+++ b/acs-demo.sh');
    const file = await replayFile(world, 'idle.json', [run('true'), finish('nothing')]);
    const id = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json')).id;
    const ended = await conv('diff', id);
    expect(ended).toMatchObject({ code: 0, out: '' });
    expect(ended.err).toContain('nothing changed');
  });

  it('lists the files with --stat', async () => {
    expect((await conv('diff', first, '--stat')).out).toBe('acs-demo.sh\tadded\t4\t0\n');
    expect(json(await conv('diff', first, '--stat', '--json'))).toEqual({
      items: [{ path: 'acs-demo.sh', status: 'added', added: 4, removed: 0 }],
      has_more: false,
    });
  });

  it('names a repository that the agent made in the workspace, and prints the other changes', async () => {
    const made = 'git init -q lib && git -C lib -c user.name=a -c user.email=a@b commit -q --allow-empty -m first';
    const steps = [run(`${made} && echo one > lib/one.txt && echo two > two.txt`), finish('done')];
    const file = await replayFile(world, 'nested.json', steps);
    const { id } = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json'));
    const { code, out, err } = await conv('diff', id);
    expect({ code, err }).toEqual({
      code: 0,
      err: 'warning: left out: lib: it is a repository of its own, and its files are not compared\n',
    });
    expect(out).toContain('+two');
    expect(out).not.toContain('lib');
    expect((await conv('diff', id, '--stat')).out).toBe('two.txt\tadded\t1\t0\n');
  });

  it('resumes a paused sandbox only with --resume', async () => {
    const id = await endedRun(world);
    await world.acs('sandbox', 'pause', (await show(id)).sandbox_id ?? '');
    const refused = await conv('diff', id);
    expect(refused.code).toBe(6);
    expect(refused.err).toContain('--resume');
    expect((await conv('diff', id, '--resume')).out).toContain('acs-demo.sh');
  });
});

describe('conv wait', () => {
  it('prints the outcome of one, and one for each of several', async () => {
    expect(json<OutcomeJson>(await conv('wait', first, '--json'))).toMatchObject({
      type: 'outcome',
      conversation_id: first,
      status: 'finished',
      exit_code: 0,
    });
    const both = await conv('wait', first, second, '--json');
    expect(json<{ items: OutcomeJson[] }>(both).items.map(({ conversation_id: id }) => id)).toEqual([first, second]);
  });

  it('reads ids from stdin', async () => {
    const ended = await world.invoke({ args: ['conv', 'wait', '-', '-q'], stdin: `${first}\n${second}\n` });
    expect(ended).toMatchObject({ code: 0, out: `${first}\n${second}\n` });
  });

  it('ends with the worst code of all, and with --any when the first has ended', async () => {
    const failed = await endedRun(world);
    await conv('send', failed, 'more', '--wait');
    expect((await conv('wait', first, failed)).code).toBe(1);
    const held = await startHeldRun(world);
    const any = await conv('wait', held.id, first, '--any', '--json');
    expect(any.code).toBe(0);
    expect(json<{ items: OutcomeJson[] }>(any).items.map(({ conversation_id: id }) => id)).toEqual([first]);
    await held.release();
    expect((await conv('wait', held.id)).code).toBe(0);
  });

  it('prints an item with its error for an id that cannot be read, and ends with the worst code', async () => {
    const unknown = 'f'.repeat(32);
    const ended = await conv('wait', first, unknown, '--json');
    expect(ended.code).toBe(5);
    expect(json<{ items: unknown[]; has_more: boolean }>(ended)).toMatchObject({
      items: [
        { type: 'outcome', conversation_id: first, status: 'finished', exit_code: 0 },
        { id: unknown, ok: false, error: { code: 'not-found' } },
      ],
      has_more: false,
    });
    expect(errorOf(ended)).toMatchObject({ code: 'not-found' });
    const rows = await conv('wait', unknown, first, '--format', 'tsv');
    expect(rows.code).toBe(5);
    const cells = rows.out.split('\n').map((row) => row.split('\t').slice(0, 3));
    expect(cells).toEqual([[unknown, '', '5'], [first, 'finished', '0'], ['']]);
    expect(await conv('wait', unknown, first, '-q')).toMatchObject({ code: 5, out: `${first}\n` });
    const lines = jsonLines((await conv('wait', unknown, 'ffff', first, '--format', 'ndjson')).out);
    expect(lines).toMatchObject([{ id: unknown, ok: false }, { id: 'ffff', ok: false }, { conversation_id: first }]);
  });

  it('--any takes the first that ended, and warns of an id that cannot be read', async () => {
    const unknown = 'f'.repeat(32);
    const held = await startHeldRun(world);
    const waiting = conv('wait', unknown, held.id, '--any', '--json');
    await held.release();
    const ended = await waiting;
    expect(ended.code).toBe(0);
    expect(json<{ items: unknown[] }>(ended).items).toMatchObject([{ conversation_id: held.id, exit_code: 0 }]);
    expect(ended.err).toContain(unknown);
    const none = await conv('wait', unknown, 'e'.repeat(32), '--any', '--json');
    expect(none.code).toBe(5);
    expect(json<{ items: unknown[] }>(none).items).toMatchObject([{ ok: false }, { ok: false }]);
  });

  it('waits for a state, and ends at once when it can no longer come', async () => {
    const held = await startHeldRun(world);
    expect((await conv('wait', held.id, '--for', 'running')).code).toBe(0);
    const finished = conv('wait', held.id, '--for', 'finished');
    await held.release();
    expect((await finished).code).toBe(0);
    expect((await conv('wait', held.id, '--for', 'waiting')).code).toBe(6);
    expect((await conv('wait', held.id, '--for', 'asleep')).code).toBe(2);
  });

  it('ends with 124 at its deadline and names the last state', async () => {
    const held = await startHeldRun(world);
    const ended = await conv('wait', held.id, '--timeout', '300ms', '--json');
    expect(ended.code).toBe(124);
    expect(errorOf(ended)).toMatchObject({ code: 'timeout', last_status: 'running' });
    await held.release();
    await conv('wait', held.id);
  });

  it('ends with 124 when nothing happens for too long', async () => {
    const held = await startHeldRun(world);
    const ended = await conv('wait', held.id, '--fail-on-stall', '300ms', '--json');
    expect(ended.code).toBe(124);
    expect(json<OutcomeJson>(ended).reason?.code).toBe('no-events');
    await held.release();
    await conv('wait', held.id);
  });

  it('ends with 6 when the run is stopped, and with 5 when it is deleted', async () => {
    const stopped = await startHeldRun(world);
    const waiting = conv('wait', stopped.id);
    expect((await conv('stop', stopped.id)).code).toBe(0);
    expect((await waiting).code).toBe(6);
    const deleted = await startHeldRun(world);
    let shown = '';
    const following = world.invoke({
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
