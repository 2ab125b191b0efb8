import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { pastDeadline, useNewWorld } from './new-world.ts';
import { json, jsonLines } from './support.ts';

const at = useNewWorld();
const { acs, sent } = at;

describe('conv new', () => {
  it('prints an id that conv show accepts at once', async () => {
    for (let start = 0; start < 3; start += 1) {
      const id = (await acs('--no-repo', '--replay', 'demo', '--no-wait', '-q')).out.trim();
      expect((await at.world.acs('conv', 'show', id, '--json')).code).toBe(0);
      expect((await at.world.acs('conv', 'wait', id)).code).toBe(0);
    }
  });

  it.each(['nowhere/run.id', '.'])(
    'exits 3 and starts nothing when the id file cannot be written: %s',
    async (file) => {
      const ended = await acs('--no-repo', '--replay', 'demo', '--id-file', file);
      expect(ended.code).toBe(3);
      expect(ended.err).toContain('--id-file');
      expect(sent()).toEqual([]);
    },
  );

  it('-q prints only the id', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--wait', '-q');
    expect(ended.code).toBe(0);
    expect(ended.out).toMatch(/^[0-9a-f]{32}\n$/);
  });

  it('--follow prints the id first, then the events, and the outcome last', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--follow', '--format', 'ndjson');
    const lines = jsonLines<{ type: string; id?: string; exit_code?: number }>(ended.out);
    expect(lines[0]).toEqual({ type: 'started', id: expect.stringMatching(/^[0-9a-f]{32}$/) as string, url: null });
    expect(new Set(lines.slice(1, -1).map(({ type }) => type))).toEqual(new Set(['event']));
    expect(lines.at(-1)).toMatchObject({ type: 'outcome', exit_code: 0 });
  });

  it('prints the id on stderr and writes it to --id-file', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--id-file', 'run.id', '--json');
    const { id } = json(ended);
    expect(ended.err).toContain(`conversation ${id}`);
    expect(await readFile(path.join(at.world.dir, 'run.id'), 'utf8')).toBe(`${id}\n`);
  });

  it('prints the deadline once while it follows', async () => {
    const ended = await pastDeadline(at.world, '--follow', '--stop-on-timeout');
    expect(ended.code).toBe(124);
    expect(`${ended.out}${ended.err}`.match(/was stopped|continues|still running/g)).toEqual(['was stopped']);
  });
});
