import { unzipSync } from 'fflate';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useConvWorld } from './conv-world.ts';
import { endedRun, finish, json, jsonLines, replayFile, run } from './support.ts';

const at = useConvWorld({ spec: 'process' });
const { conv, show } = at;

const edit = (members: Record<string, unknown>) => ({ action: 'edit', args: { impl_source: 'oh_aci', ...members } });

interface DiffLine {
  source: string;
  files: { path: string; status: string; added: number | null }[];
  omissions: string[];
  patch: string;
}

const RECONSTRUCTED = 'reconstructed from edit events; changes made by commands are not in it';

/** Id of a run with one file by the editor and one by a command. */
let edited: string;
beforeAll(async () => {
  const steps = [
    edit({ command: 'create', path: 'notes/a b.txt', file_text: 'one\ntwo\n' }),
    edit({ command: 'str_replace', path: 'notes/a b.txt', old_str: 'two', new_str: 'zwei' }),
    run(`echo made > by-command.txt; echo "key ${at.world.service.key}"`),
    finish('done'),
  ];
  const file = await replayFile(at.world, 'edits.json', steps);
  edited = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json', '--title', 'Edits')).id;
});

const diffIn = (out: string) => jsonLines(out).at(-1) as unknown as DiffLine;
const pathsOf = ({ files }: DiffLine) => files.map((file) => file.path).sort();

describe('conv export --as ndjson', () => {
  it('prints the conversation, every event as conv events does, and the diff', async () => {
    const { code, out, err } = await conv('export', edited, '--as', 'ndjson');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const [first, ...rest] = jsonLines(out);
    expect(first).toEqual({ type: 'conversation', ...json<object>(await conv('show', edited, '--json')) });
    const events = jsonLines((await conv('events', edited, '--format', 'ndjson')).out);
    expect(rest.slice(0, -1)).toEqual(events);
    const diff = diffIn(out);
    expect(diff).toMatchObject({ type: 'diff', source: 'workspace', omissions: [] });
    expect(pathsOf(diff)).toEqual(['by-command.txt', 'notes/a b.txt']);
    expect(diff.patch).toBe((await conv('diff', edited)).out);
  });

  it('has no secret', async () => {
    const { out } = await conv('export', edited, '--as', 'ndjson');
    expect(out).toContain('<redacted>');
    expect(out).not.toContain(at.world.service.key);
  });
});

describe('conv export of a conversation whose sandbox does not run', () => {
  it.each(['paused', 'deleted'])('has all events and the diff of the edit events: %s', async (state) => {
    const file = path.join(at.world.dir, 'edits.json');
    const { id, sandbox_id } = json(await conv('new', '--no-repo', '--replay', file, '--wait', '--json'));
    const before = jsonLines((await conv('events', id, '--format', 'ndjson')).out);
    await at.world.acs('sandbox', state === 'paused' ? 'pause' : 'delete', sandbox_id ?? '', '-y');
    const { code, out, err } = await conv('export', id, '--as', 'ndjson');
    expect({ code, err }).toEqual({ code: 0, err: `warning: the diff is ${RECONSTRUCTED}\n` });
    expect(
      jsonLines(out)
        .filter(({ type }) => type === 'event')
        .map((event) => event['id']),
    ).toEqual(before.map((event) => event['id']));
    const diff = diffIn(out);
    expect(diff).toMatchObject({ source: 'edit-events', omissions: [RECONSTRUCTED] });
    expect(diff.files).toEqual([{ path: 'notes/a b.txt', status: 'added', added: 2, removed: 0 }]);
    expect(diff.patch).toContain('+one\n+zwei\n');
    expect(await show(id)).toMatchObject({ sandbox_status: state === 'paused' ? 'paused' : 'missing' });
  });
});

describe('conv export --as zip', () => {
  it('has the members of a server, and the diff', async () => {
    const { code, bytes } = await conv('export', edited, '--as', 'zip');
    const files = unzipSync(new Uint8Array(bytes));
    const events = jsonLines<{ id: string; payload: object }>((await conv('events', edited, '--format', 'ndjson')).out);
    expect({ code, names: Object.keys(files) }).toEqual({
      code: 0,
      names: [
        ...events.map(({ id }, number) => `event_${String(number).padStart(6, '0')}_${id}.json`),
        'meta.json',
        'changes.patch',
      ],
    });
    const text = (name: string) => Buffer.from(files[name] ?? []).toString('utf8');
    expect(JSON.parse(text(`event_000000_${events[0]?.id}.json`))).toEqual(events[0]?.payload);
    expect(JSON.parse(text('meta.json'))).toMatchObject({ id: edited, title: 'Edits', diff: { source: 'workspace' } });
    expect(text('changes.patch')).toBe((await conv('diff', edited)).out);
    expect(Object.keys(files).map(text).join('')).not.toContain(at.world.service.key);
  });

  it('replaces a file once it is complete, and leaves no other file', async () => {
    const folder = at.world.dir;
    writeFileSync(path.join(folder, 'run.zip'), 'older');
    const names = readdirSync(folder).sort();
    expect(await conv('export', edited, '--as', 'zip', '-o', 'run.zip')).toMatchObject({ code: 0, out: '' });
    expect(Object.keys(unzipSync(new Uint8Array(readFileSync(path.join(folder, 'run.zip')))))).toContain('meta.json');
    expect(readdirSync(folder).sort()).toEqual(names);
  });

  it('is refused on a terminal before any request, with the way out', async () => {
    const refused = await at.world.invoke({ args: ['conv', 'export', edited, '--as', 'zip'], columns: 80 });
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('-o run.zip');
  });
});

describe('conv export --as md', () => {
  it('has the answer, the commands and the diff', async () => {
    const { code, out } = await conv('export', edited, '--as', 'md');
    expect(code).toBe(0);
    expect(out).toMatch(/^# Edits\n\n- \*\*Outcome\*\*: finished\n- \*\*Cost\*\*: \$0\.00/);
    for (const part of ['\n> done\n', 'Commands (1)', '$ echo made > by-command.txt', '+zwei\n', '2 files, +3 -0']) {
      expect(out).toContain(part);
    }
    expect(out).not.toContain(at.world.service.key);
  });
});

describe('conv export --as html', () => {
  it('is one page with the commands, outputs, edits and the diff', async () => {
    const { code, out } = await conv('export', edited, '--as', 'html');
    expect(code).toBe(0);
    expect(out).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
    for (const part of [
      '<h1 id="title">Edits</h1>',
      'echo made &gt; by-command.txt',
      '>+zwei</span>',
      '>+made</span>',
    ]) {
      expect(out).toContain(part);
    }
    expect(out).not.toContain(at.world.service.key);
  });
});

describe('conv export', () => {
  it('exits 2 without --as, with an unknown form, and with --json', async () => {
    for (const flags of [[], ['--as', 'pdf'], ['--as', 'zip', '--json']]) {
      expect(await conv('export', edited, ...flags), flags.join(' ')).toMatchObject({ code: 2, out: '' });
    }
  });

  it('exits 5 for an unknown conversation, and the file stays as it was', async () => {
    writeFileSync(path.join(at.world.dir, 'kept'), 'older');
    const { code } = await conv('export', 'f'.repeat(32), '--as', 'zip', '-o', 'kept');
    expect({ code, kept: readFileSync(path.join(at.world.dir, 'kept'), 'utf8') }).toEqual({ code: 5, kept: 'older' });
  });

  it('has the same parts over V0', async () => {
    const id = await endedRun(at.world, '--api', 'v0');
    const { code, out } = await conv('export', id, '--as', 'ndjson');
    const types = jsonLines(out).map(({ type }) => type);
    expect({ code, first: types[0], last: types.at(-1) }).toEqual({ code: 0, first: 'conversation', last: 'diff' });
    expect(pathsOf(diffIn(out))).toEqual(['acs-demo.sh']);
    expect(Object.keys(unzipSync(new Uint8Array((await conv('export', id, '--as', 'zip')).bytes)))).toContain(
      'event_000000_0.json',
    );
  });
});
