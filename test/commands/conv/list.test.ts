import { describe, expect, it } from 'vitest';
import { useTwoRuns } from './conv-world.ts';
import { type ConversationJson, errorOf, json, jsonLines } from './support.ts';

const at = useTwoRuns();
const { conv } = at;

interface ListJson {
  items: ConversationJson[];
  has_more: boolean;
}

describe('conv list', () => {
  it('prints a table that fits the terminal', async () => {
    const { out } = await at.world.invoke({ args: ['conv', 'list', '--no-color'], columns: 100 });
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
      at.second,
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
    expect(list.items.map(({ id }) => id)).toEqual([at.second, at.first]);
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

  it('prints one object per line with ndjson, and ids with -q', async () => {
    const { out } = await conv('list', '--format', 'ndjson');
    expect(jsonLines<{ id: string }>(out).map(({ id }) => id)).toEqual([at.second, at.first]);
    expect((await conv('list', '-q')).out).toBe(`${at.second}\n${at.first}\n`);
  });

  it('stops at the limit and reports that there are more', async () => {
    const ended = await conv('list', '-L', '1', '--json');
    expect(json<ListJson>(ended)).toMatchObject({ items: [{ id: at.second }], has_more: true });
    expect(ended.err).toContain('--all-pages');
  });

  it('selects by each selector and by its negation', async () => {
    expect((await conv('list', '--status', 'finished', '-q')).out).toBe(`${at.second}\n${at.first}\n`);
    expect((await conv('list', '--not-status', 'finished', '--json')).out).toBe(
      '{\n  "items": [],\n  "has_more": false\n}\n',
    );
    expect((await conv('list', '--older-than', '1d', '-q')).out).toBe('');
    expect((await conv('list', '--spec', 'process', '-q')).out).toBe(`${at.second}\n${at.first}\n`);
    expect((await conv('list', '--repo', 'acme/*', '-q')).out).toBe('');
  });

  it('--fields selects members, and an unknown one exits 2 with the known ones', async () => {
    expect((await conv('list', '--fields', 'title,status')).out.split('\n')[1]).toBe('The first\tfinished');
    const wrong = await conv('list', '--fields', 'colour', '--json');
    expect(wrong.code).toBe(2);
    expect(errorOf(wrong).hint).toContain('execution_status');
  });
});
