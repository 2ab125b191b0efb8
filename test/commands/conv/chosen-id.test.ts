import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { useNewWorld } from './new-world.ts';
import { finish, json, replayFile, run } from './support.ts';

const at = useNewWorld();
const { acs, sent } = at;

describe('conv new', () => {
  it('does not start the same id twice', async () => {
    const id = 'ab'.repeat(16);
    const first = await acs('--no-repo', '--replay', 'demo', '--id', id, '--wait', '--json');
    expect(json(first)).toMatchObject({ id, changed: true });
    at.proxy.requests.length = 0;
    const second = await acs('--no-repo', '--replay', 'demo', '--id', id, '--json');
    expect(second.code).toBe(0);
    expect(json(second)).toMatchObject({ id, changed: false });
    const dry = await acs('--no-repo', '--replay', 'demo', '--id', id, '--dry-run', '--json');
    expect(json(dry)).toEqual({ dry_run: true, requests: [] });
    const other = await acs('something else', '--no-repo', '--id', id, '--json');
    expect(other.code).toBe(6);
    expect(sent()).toEqual([]);
  });

  it('--wait waits for the run of an earlier start with the same id', async () => {
    const id = 'ac'.repeat(16);
    const file = path.join(at.world.dir, 'earlier-id');
    const replay = await replayFile(at.world, 'short.json', [run('sleep 1'), finish('done')]);
    const start = ['--no-repo', '--replay', replay, '--id', id];
    expect((await acs(...start, '--json')).code).toBe(0);
    const again = await acs(...start, '--wait', '--json', '--id-file', file);
    expect(again.code, again.err).toBe(0);
    expect(json(again)).toMatchObject({ id, changed: false, outcome: { status: 'finished', exit_code: 0 } });
    expect(await readFile(file, 'utf8')).toBe(`${id}\n`);
    const lines = (await acs(...start, '--follow', '--format', 'ndjson')).out.trimEnd().split('\n');
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect([types[0], types[1], types.at(-1)]).toEqual(['started', 'event', 'outcome']);
    expect((await acs(...start, '-q', '--wait')).out).toBe(`${id}\n`);
  });
});
