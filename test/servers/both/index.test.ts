import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import {
  endedRun,
  finish,
  json,
  replayFile,
  run,
  startHeldRun,
  type ConversationJson,
  type OutcomeJson,
} from '../../commands/conv/support.ts';
import type { BulkResult } from '../../../src/output/bulk.ts';

interface ListJson {
  items: ConversationJson[];
  has_more: boolean;
}

let world: World;
beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
});
afterAll(() => world.close());

const conv = (...args: string[]): Promise<Ended> => world.acs('conv', ...args);
const list = async (...flags: string[]): Promise<ListJson> => json<ListJson>(await conv('list', '--json', ...flags));
/** A V0 run that has ended, and its file. */
async function endedV0(name: string): Promise<string> {
  const file = await replayFile(world, `${name}.json`, [run(`echo ${name} > ${name}.txt`), finish(`made ${name}`)]);
  const args = ['new', 'please', '--no-repo', '--replay', file, '--api', 'v0', '--wait', '--json'];
  const ended = await conv(...args);
  expect([ended.code, ended.err]).toEqual([0, ended.err]);
  return json(ended).id;
}

describe('conversations of both dialects on one server', () => {
  it('are listed once each, newest first, with the dialect they were started over', async () => {
    const first = await endedRun(world);
    const second = await endedV0('one');
    const third = await endedRun(world);
    const { items } = await list();
    expect(items.slice(0, 3).map(({ id, dialect, status }) => [id, dialect, status])).toEqual([
      [third, 'v1', 'finished'],
      [second, 'v0', 'finished'],
      [first, 'v1', 'finished'],
    ]);
    const page = await list('-L', '2');
    expect([page.items.map(({ id }) => id), page.has_more]).toEqual([[third, second], true]);
    const all = (await list('--all-pages')).items.map(({ id }) => id);
    expect(new Set(all).size).toBe(all.length);
    expect((await list('--older-than', '1d')).items).toEqual([]);
  });

  it('exit 12 for a start in a named sandbox over V0', async () => {
    const { sandbox_id: known } = json(await conv('show', await endedRun(world), '--json'));
    for (const sandbox of [known ?? '', 'A1b2C3d4E5f6G7h8I9j0K1'])
      for (const flags of [[], ['--dry-run']]) {
        const ended = await conv('new', 'x', '--no-repo', '--api', 'v0', '--sandbox', sandbox, ...flags);
        expect([ended.code, ended.err]).toEqual([12, expect.stringContaining('--sandbox')]);
      }
  });

  it('are found by id, id with dashes, prefix, URL and @last', async () => {
    const id = await endedV0('two');
    const dashed = id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    for (const word of [id, dashed, id.slice(0, 12), `http://127.0.0.1:3000/conversations/${id}`, '@last']) {
      expect([word, json(await conv('show', word, '--json'))]).toMatchObject([
        word,
        { id, dialect: 'v0', status: 'finished' },
      ]);
    }
  });

  it('are read, renamed and deleted by the same commands', async () => {
    const id = await endedV0('three');
    expect((await conv('result', id)).out).toBe('made three');
    const kinds = (await conv('events', id, '--format', 'ndjson')).out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds).toContain('action:finish');
    const followed = (await conv('follow', id, '--format', 'ndjson')).out.trimEnd().split('\n');
    expect(JSON.parse(followed.at(-1) ?? '')).toMatchObject({ type: 'outcome', status: 'finished', exit_code: 0 });
    expect(json<OutcomeJson>(await conv('wait', id, '--json'))).toMatchObject({ status: 'finished', exit_code: 0 });
    expect((await conv('diff', id)).out).toContain('three.txt');
    expect(json(await conv('rename', id, 'A new name', '--json'))).toMatchObject({
      title: 'A new name',
      changed: true,
    });
    expect((await conv('confirm', id, '--accept')).code).toBe(6);
    expect((await conv('delete', id, '-y')).code).toBe(0);
    expect((await conv('show', id)).code).toBe(5);
  });

  it('are stopped and resumed by the same commands', async () => {
    const { id, release } = await startHeldRun(world, '--api', 'v0');
    expect((await list('--status', 'running')).items.map((one) => one.id)).toContain(id);
    expect(json(await conv('stop', id, '--json'))).toMatchObject({ id, dialect: 'v0', changed: true });
    await release();
    expect((await conv('resume', id, '--wait')).code).toBe(0);
    expect(json(await conv('show', id, '--json'))).toMatchObject({ status: 'finished', dialect: 'v0' });
  });

  it('refuse an id of the other dialect for a new one', async () => {
    const [one] = (await list()).items.filter(({ dialect }) => dialect === 'v0');
    const args = ['new', 'again', '--no-repo', '--replay', 'demo', '--api', 'v1', '--id', one?.id ?? '', '--json'];
    expect((await conv(...args)).code).toBe(6);
  });
});

describe('sandboxes in which V0 conversations run', () => {
  it('list them, and are not deleted while they run', async () => {
    await world.acs('sandbox', 'delete', '--all', '-y', '--force');
    const { id, release } = await startHeldRun(world, '--api', 'v0');
    const { sandbox_id: sandbox } = json(await conv('show', id, '--json'));
    expect(sandbox).not.toBeNull();
    const shown = json<{ conversation_ids: string[] }>(await world.acs('sandbox', 'show', sandbox ?? '', '--json'));
    expect(shown.conversation_ids).toEqual([id]);
    const listed = json<{ items: { conversation_ids: string[] }[] }>(await world.acs('sandbox', 'list', '--json'));
    expect(listed.items.map((one) => one.conversation_ids)).toEqual([[id]]);
    const spared = await world.acs('sandbox', 'pause', '--all', '-y', '--json');
    expect(spared.code).toBe(1);
    expect(json<BulkResult>(spared).items).toMatchObject([{ id: sandbox, ok: false, error: { code: 'conflict' } }]);
    expect((await world.acs('sandbox', 'delete', sandbox ?? '', '-y')).code).toBe(6);
    expect(json<ListJson>(await world.acs('sandbox', 'list', '--idle', '0s', '--json')).items).toEqual([]);
    await release();
    await conv('wait', id);
    expect(json<ListJson>(await world.acs('sandbox', 'list', '--idle', '0s', '--json')).items).toHaveLength(1);
    expect((await world.acs('sandbox', 'pause', '--all', '-y')).code).toBe(0);
    expect(json(await conv('show', id, '--json'))).toMatchObject({ status: 'finished', sandbox_status: 'paused' });
  });

  it('are resumed by conv send --resume', async () => {
    const id = await endedV0('four');
    await world.acs('sandbox', 'pause', json(await conv('show', id, '--json')).sandbox_id ?? '');
    expect((await conv('send', id, 'go on')).code).toBe(6);
    expect((await conv('send', id, 'go on', '--resume')).code).toBe(0);
    expect(json(await conv('show', id, '--json'))).toMatchObject({ sandbox_status: 'running' });
  });
});
