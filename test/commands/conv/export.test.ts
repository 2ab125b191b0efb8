import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ID, userMessage } from '../../client/support/v1-server.ts';
import type { Reply } from '../../support/server.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { useWorld } from '../../support/use-world.ts';
import { endedRun, finish, json, makeRepository, replayFile, run } from './support.ts';

const RECONSTRUCTED = 'reconstructed from edit events; changes made by commands are not included';
const edit = (members: Record<string, unknown>) => ({
  action: 'edit',
  args: { impl_source: 'oh_aci', ...members },
});

describe('conv export', () => {
  const at = useWorld({ spec: 'process', noun: 'conv' });
  const runEdits = async () =>
    json(await at.ends('new --no-repo --replay edits.json --wait --json --title Edits', {}));
  const read = (name: string) => readFileSync(path.join(at.dir, name), 'utf8');
  /** The export, which has all of these and not the key. */
  const has = async (line: string, parts: readonly (string | RegExp)[]) => {
    const { out } = await at.ends(`export ${line}`, { hides: at.world.service.key });
    for (const part of parts)
      if (typeof part === 'string') expect(out).toContain(part);
      else expect(out).toMatch(part);
  };

  /** Id of a run with one file by the editor and one by a command. */
  let edited: string;
  beforeAll(async () => {
    await replayFile(at, 'edits.json', [
      edit({ command: 'create', path: 'notes/a b.txt', file_text: 'one\ntwo\n' }),
      edit({ command: 'str_replace', path: 'notes/a b.txt', old_str: 'two', new_str: 'zwei' }),
      run(`echo made > by-command.txt; echo "key ${at.world.service.key}"`),
      finish('done'),
    ]);
    edited = (await runEdits()).id;
  });

  it('has all events and the diff of the edit events of a conversation whose sandbox is deleted', async () => {
    const { id, sandbox_id } = await runEdits();
    const steps = (page: string) => page.match(/<li class=/g)?.length;
    const whole = (await at.ends(`export ${id} --as html`, {})).out;
    await at.world.acs('sandbox', 'delete', sandbox_id ?? '', '-y');

    const { out, err } = await at.ends(`export ${id} --as html`, {});
    expect(err).toBe(`warning: the diff is ${RECONSTRUCTED}\n`);
    expect(steps(out)).toBe(steps(whole));
    expect(out).toContain(`This diff is ${RECONSTRUCTED}.`);
    expect(out).toContain('1 file changed, lines added: 2, removed: 0');
    await at.ends(`show ${id} --json`, { out: { sandbox_status: 'missing' } });
  });

  it('reads the workspace of a paused sandbox where the server can, and names what is missing where not', async () => {
    const { id, sandbox_id } = await runEdits();
    await at.world.acs('sandbox', 'pause', sandbox_id ?? '');
    const read = await at.ends(`export ${id} --as html`, { out: /2 files changed/, err: '' });
    expect(read.out).not.toMatch(/reconstructed|the sandbox is paused/);
    at.script({
      [`GET /local/conversations/${id}/changes`]: { status: 404, json: { detail: 'gone' } },
    });
    const missing = 'changes made by commands: the sandbox is paused';
    for (const form of ['md', 'html'])
      await at.ends(`export ${id} --as ${form}`, {
        out: new RegExp(missing),
        err: `left out of the diff: ${missing}`,
      });
    await at.ends(`export ${id} --as html --resume`, { out: /2 files changed/, hides: 'warning' });
  });

  it('--as md has the answer, the commands and the diff', async () => {
    const parts = [
      '\n> done\n',
      'Commands (1)',
      '$ echo made > by-command.txt',
      '+zwei\n',
      '2 files, +3 -0',
    ];
    await has(`${edited} --as md`, [
      /^# Edits\n\n- \*\*Outcome\*\*: finished\n- \*\*Conversation/,
      ...parts,
    ]);
  });

  it('--as html is one page with the commands, outputs, edits and the diff', async () => {
    const parts = [
      '<h1 id="title">Edits</h1>',
      'echo made &gt; by-command.txt',
      '>+zwei</span>',
      '>+made</span>',
    ];
    await has(`${edited} --as html`, [/^<!doctype html>[\s\S]*<\/html>\n$/, ...parts]);
  });

  it('has the changed files of diff --stat, as Markdown, as a page and on the live page', async () => {
    const repository = await makeRepository(path.join(at.dir, 'named'));
    await replayFile(at, 'names.json', [
      run(
        `git mv README.md moved.md; echo x > 'ü "q".txt'; touch ' b' "$(printf 't\\tb')"; ` +
          `printf '\\0' > z`,
      ),
      finish('done'),
    ]);
    const { id } = json(
      await at.ends(`new --repo ${repository} --replay names.json --wait --json`, {}),
    );
    const stat = (await at.ends(`diff ${id} --stat`, {})).out;
    expect(stat).toBe(
      ' b\tadded\t\t\nmoved.md\trenamed\t\t\nt\\tb\tadded\t\t\nz\tadded\t\t\nü ' +
        '"q".txt\tadded\t1\t0\n',
    );
    const filesOf = (page: string) =>
      [
        ...page.matchAll(
          /<summary><span class="path">(.*)<\/span> <span class="quiet">(\w+)(?: \+(\d+) −(\d+))?</g,
        ),
      ]
        .map(
          ([, name = '', ...facts]) => [name.replaceAll('&quot;', '"'), ...facts].join('\t') + '\n',
        )
        .join('');
    expect(filesOf((await at.ends(`export ${id} --as html`, {})).out)).toBe(stat);
    const url = (await at.ends(`open ${id}`, {})).out.trim();
    const link = await fetch(url, { redirect: 'manual' });
    const cookie = link.headers.get('set-cookie')?.replace(/;.*/, '') ?? '';
    const live = await fetch(url.replace(/\?.*/, ''), { headers: { cookie } });
    expect(filesOf(await live.text())).toBe(stat);
    const stats =
      'added     b\nrenamed  moved.md\nadded    t\\tb\nadded    z\nadded    ü "q".txt  +1 ' +
      '-0\n5 files, +1 -0';
    await has(`${id} --as md`, [stats]);
  });

  it('has the commands and the diff over V0', async () => {
    await has(`${await endedRun(at.world, '--api', 'v0')} --as md`, [
      '+++ b/acs-demo.sh',
      'Commands (',
    ]);
  });

  it.each(['', '--as pdf', '--as zip', '--as md --json'])(
    'exits 2 with the form: %s',
    async (flags) => {
      await at.ends(`export ${edited} ${flags}`, { code: 2, out: '' });
    },
  );

  it('exits 5 for an unknown conversation, and the file stays as it was', async () => {
    await at.file('kept', 'older');
    await at.ends(`export ${'f'.repeat(32)} --as md -o kept`, { code: 5 });
    expect(read('kept')).toBe('older');
  });

  it('replaces a file once it is complete, and leaves no other file', async () => {
    await at.file('run.html', 'older');
    const names = readdirSync(at.dir).sort();
    await at.ends(`export ${edited} --as html -o run.html`, { out: '' });
    expect(read('run.html')).toContain('</html>');
    expect(readdirSync(at.dir).sort()).toEqual(names);
  });
});

describe('conv export of a running sandbox whose workspace cannot be compared', () => {
  const at = useV1({ noun: 'conv' });
  it('has the diff of the edit events', async () => {
    at.v1.addConversation({ execution_status: 'finished' });
    const files = { path: '/workspace/a', old_content: 'one\n', new_content: 'two\n' };
    const event = {
      id: 'e2',
      timestamp: '2026-11-21T10:00:01',
      source: 'environment',
      kind: 'ObservationEvent',
    };
    at.v1.agentEvents.push(userMessage('go'), {
      ...event,
      observation: { kind: 'FileEditorObservation', ...files },
    });
    const { out } = await at.ends(`export ${ID} --as md`, {
      err: [
        /^warning: the workspace could not be compared: /,
        `warning: the diff is ${RECONSTRUCTED}\n`,
      ],
    });
    expect(out).toContain('1 file, +1 -1');
    expect(out).toContain(`This diff is ${RECONSTRUCTED}.`);
  });

  it.each<[string, Reply]>([
    ['no body', { status: 204, none: true }],
    ['a deeply nested document', { text: '['.repeat(100_000), type: 'application/json' }],
  ])('exits 9 when the sandbox answers the comparison with %s', async (_, reply) => {
    at.v1.addConversation({ execution_status: 'finished' });
    at.v1.before = ({ path }) => (/\/(bash|git)\//.test(path) ? reply : null);
    await at.ends(`export ${ID} --as md`, { code: 9, out: '' });
  });
});
