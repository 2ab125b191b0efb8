import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../../src/base/errors.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useAutomations } from './service.ts';

const at = useAutomations();

const CRON = { type: 'cron', schedule: '0 3 * * *', timezone: 'UTC' };
const ROOT = '/api/automation/v1';

beforeEach(() => mkdir(path.join(at.dir, 'folder')));
afterEach(() => rm(path.join(at.dir, 'folder'), { recursive: true }));

const file = (name: string, content: unknown) => at.file(`folder/${name}`, content);
/** The requests about automations. */
const asked = () =>
  at.server.asked
    .filter(({ path: of }) => of.startsWith(ROOT))
    .map(({ method, path: of }) => `${method} ${of.slice(ROOT.length)}`);

const PROGRAM = {
  name: 'P',
  tarball_path: 'https://g.example/x',
  entrypoint: 'x',
  trigger: CRON,
};

describe('automation apply', () => {
  beforeEach(async () => {
    await file('a.yaml', 'name: A\nprompt: one\ntrigger: {type: cron, schedule: 0 3 * * *}\n');
    await file('b.json', {
      name: 'B',
      prompt: 'two',
      trigger: CRON,
      repos: ['https://g.example/x'],
    });
    await file('c.yml', {
      name: 'C',
      prompt: '/x:y',
      trigger: { type: 'event', source: 'ci', on: 'push' },
      plugins: [{ source: 'github:acme/x' }],
    });
    await file('notes.md', 'no automation');
  });

  it('creates an automation for each file of a folder, and sends one read when it runs again', async () => {
    await at.ends('apply folder', {
      out:
        'folder/a.yaml\tA\tcreated\t00000001-0000-4000-8000-000000000000\t\n' +
        'folder/b.json\tB\tcreated\t00000002-0000-4000-8000-000000000000\t\n' +
        'folder/c.yml\tC\tcreated\t00000003-0000-4000-8000-000000000000\t\n',
    });
    expect(asked()).toEqual([
      'GET ',
      'POST /validate',
      'POST /validate',
      'POST /validate',
      'POST /preset/prompt',
      'POST /preset/prompt',
      'POST /preset/plugin',
    ]);
    const marks = at.service.automations.map(({ preset_metadata: of }) => of);
    expect(marks).toMatchObject([{ template: { id: 'acs/A' } }, {}, { template: { id: 'acs/C' } }]);

    at.server.asked.length = 0;
    const { items } = await at.json<{ items: object[] }>('apply folder');
    expect(items).toMatchObject([1, 2, 3].map(() => ({ action: 'unchanged', changed: false })));
    expect(asked()).toEqual(['GET ']);
  });

  it('sends a PATCH of the members that differ, and leaves members that the file lacks', async () => {
    await at.acs('apply', 'folder');
    for (const automation of at.service.automations) automation['enabled'] = false;
    await file('a.yaml', 'name: A\nprompt: other\ntrigger: {type: cron, schedule: 0 4 * * *}\n');
    at.server.asked.length = 0;
    await at.ends('apply folder', {
      out: /a\.yaml\tA\tupdated/,
      err: ['folder/a.yaml: prompt: "one" → "other"', 'trigger: '],
    });
    const patches = at.server.asked.filter(({ method }) => method === 'PATCH');
    expect(patches.map(({ body }) => body)).toEqual([
      { prompt: 'other', trigger: { type: 'cron', schedule: '0 4 * * *' } },
    ]);
    expect(at.service.automations[0]).toMatchObject({ enabled: false });
  });

  it('prints and refuses a difference that the server cannot change, which --recreate carries out', async () => {
    await at.acs('apply', 'folder');
    await file('b.json', {
      name: 'B',
      prompt: 'two',
      trigger: CRON,
      repos: ['https://g.example/y'],
    });
    at.server.asked.length = 0;
    await at.ends('apply folder', {
      code: 6,
      out: '',
      err: [
        'folder/b.json: repos: [{"url":"https://g.example/x"}] → [{"url":"https://g.example/y"}]',
      ],
      writes: [],
    });
    await at.ends('apply folder --recreate', { out: /b\.json\tB\trecreated/ });
    expect(asked().slice(-2)).toEqual([
      'DELETE /00000002-0000-4000-8000-000000000000',
      'POST /preset/prompt',
    ]);
  });

  it('prints the differences with --dry-run and changes nothing', async () => {
    const { items, ...counts } = await at.json<{ items: object[] }>('apply folder --dry-run');
    expect(items).toMatchObject([1, 2, 3].map(() => ({ action: 'created', id: null, ok: true })));
    expect(counts).toEqual({ has_more: false, matched: 3, failed: 0, dry_run: true });
    expect(asked()).toEqual(['GET ', 'POST /validate', 'POST /validate', 'POST /validate']);
    expect(at.service.automations).toEqual([]);
  });

  it('exits 2 before the first change when the server refuses one file, and names file and field', async () => {
    at.service.problems['B'] = [
      { field: 'trigger.schedule', code: 'value_error', message: 'Value error, no such day' },
      { field: null, code: 'value_error', message: 'all of it' },
    ];
    await at.ends('apply folder', {
      code: 2,
      out: '',
      err: [
        'warning: folder/b.json: trigger.schedule: no such day\n',
        'warning: folder/b.json: all of it\n',
        'not valid, and nothing was changed: folder/b.json',
      ],
    });
    expect(at.service.automations).toEqual([]);
  });

  it('prunes what apply has created and no file has, and nothing else', async () => {
    await at.acs('apply', 'folder');
    at.service.add({ name: 'Made in the page' });
    at.service.add({ name: 'D', preset_metadata: { template: { id: 'catalog', version: '1' } } });
    await rm(path.join(at.dir, 'folder/a.yaml'));
    at.server.asked.length = 0;
    await at.ends('apply folder --prune', { code: 2, err: 'add -y', writes: expectValidations(2) });
    await at.ends('apply folder --prune -y', { out: /\n\tA\tdeleted\t00000001/ });
    expect(at.service.automations.map(({ name }) => name)).toEqual([
      'B',
      'C',
      'Made in the page',
      'D',
    ]);
  });

  it('prunes for folders only', async () => {
    const err = '--prune takes folders only, and folder/a.yaml is a file';
    await at.ends('apply folder folder/a.yaml --prune -y', { code: 2, err, requests: 0 });
  });

  it('keeps one of its own whose name in the page is that of a file', async () => {
    await at.acs('apply', 'folder/a.yaml');
    const [renamed = {}] = at.service.automations;
    renamed['name'] = 'New';
    await mkdir(path.join(at.dir, 'folder/sub'));
    await file('sub/new.yaml', 'name: New\nprompt: other\n');
    await at.ends('apply folder/sub --prune -y', {
      out: /^folder\/sub\/new.yaml\tNew\tupdated\t\S+\t\n$/,
    });
    expect(at.service.automations).toEqual([renamed]);

    await at.ends('apply folder/a.yaml folder/sub/new.yaml', {
      out: /\tA\tupdated\t00000001.*\n.*\tNew\tcreated\t00000002/,
    });
  });

  it('reports the failure of one file, carries out the others, and exits 1', async () => {
    at.script((request) =>
      request.method === 'POST' && (request.body as { name?: string }).name === 'B'
        ? { status: 403, json: { detail: 'Only admins may' } }
        : null,
    );
    await at.ends('apply folder', {
      code: 1,
      out: /a\.yaml\tA\tcreated.*\n.*b\.json\tB\tnot created\t\t.*Only admins may.*\n.*c\.yml\tC\tcreated/,
      err: '1 of 3 could not be applied',
    });
  });

  it('keeps one that is created again disabled where the file does not say it', async () => {
    await at.acs('apply', 'folder');
    for (const automation of at.service.automations) automation['enabled'] = false;
    await file('b.json', { name: 'B', prompt: 'two', trigger: CRON });
    await at.ends('apply folder/b.json --recreate', { out: /\tB\trecreated\t/ });
    expect(at.service.automations.at(-1)).toMatchObject({ name: 'B', enabled: false });
  });

  it('disables a program of its own after the creation, whose request has no such member', async () => {
    await file('p.json', { ...PROGRAM, enabled: false });
    await at.ends('apply folder/p.json', {
      writes: [
        `POST ${ROOT}/validate`,
        `POST ${ROOT}`,
        `PATCH ${ROOT}/00000001-0000-4000-8000-000000000000`,
      ],
    });
    expect(at.service.automations).toMatchObject([{ name: 'P', enabled: false }]);
    expect(at.server.writes().map(({ text }) => text.includes('enabled'))).toEqual([
      false,
      false,
      true,
    ]);
    await at.ends('apply folder/p.json', { out: /\tunchanged\t/ });
    expect(await at.json('export P')).toMatchObject({ ...PROGRAM, enabled: false });
  });

  it('keeps what the file of a program lacks when it creates it again', async () => {
    await file('p.json', { ...PROGRAM, timeout: 60 });
    await at.acs('apply', 'folder/p.json');
    await file('p.json', { ...PROGRAM, repos: ['https://g.example/r'] });
    await at.ends('apply folder/p.json --recreate', { out: /\tP\trecreated\t/ });
    expect(at.service.automations).toMatchObject([{ name: 'P', timeout: 60 }]);
  });

  it('says so when the old automation is deleted and the new one is refused', async () => {
    await at.acs('apply', 'folder');
    await file('b.json', { name: 'B', prompt: 'two', trigger: CRON });
    at.script({ [`POST ${ROOT}/preset/prompt`]: { status: 409, json: { detail: 'limit' } } });
    await at.ends('apply folder/b.json --recreate', {
      code: 6,
      err: 'the old automation B is deleted, and not created again: the server refuses this: limit',
    });
  });

  it('reports what is done and what is not when it is interrupted', async () => {
    const interruption = new AbortController();
    at.script(({ method, body }) => {
      if (method === 'POST' && (body as { name?: string }).name === 'B')
        interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      return null;
    });
    await at.ends('apply folder', {
      signal: interruption.signal,
      code: 130,
      out: /a\.yaml\tA\tcreated.*\n.*b\.json\tB\tunknown\t\t.*\n.*c\.yml\tC\tnot created\t\t.*\n/,
      err: '2 of 3 could not be applied',
    });
  });

  it('says so when it is interrupted after the deletion', async () => {
    await at.acs('apply', 'folder');
    await file('b.json', { name: 'B', prompt: 'two', trigger: CRON });
    const interruption = new AbortController();
    at.script(({ path: of }) => {
      if (of === `${ROOT}/preset/prompt`)
        interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      return null;
    });
    await at.ends('apply folder/b.json --recreate', {
      signal: interruption.signal,
      code: 130,
      err: 'the old automation B is deleted, and perhaps not created again: interrupted by SIGINT',
    });
  });

  it('repeats a creation whose answer was lost, because its template finds the automation', async () => {
    let isLost = false;
    at.script((request) => {
      if (isLost || request.path !== `${ROOT}/preset/prompt`) return null;
      isLost = true;
      at.service.add({
        name: 'A',
        preset_metadata: { preset_type: 'prompt', template: { id: 'acs/A', version: '1' } },
      });
      return { cut: true };
    });
    await at.ends('apply folder/a.yaml', { out: /\tcreated\t00000001/ });
    expect(at.service.automations).toHaveLength(1);
  });
});

const expectValidations = (count: number) =>
  Array.from({ length: count }, () => `POST ${ROOT}/validate`);

describe('an automation that apply has not created', () => {
  const draft = { name: 'Nightly tests', prompt: 'QUICK run the tests', trigger: CRON };

  it('is changed when it has the name of a file', async () => {
    at.service.add();
    await file('a.json', { ...draft, timeout: 60 });
    await at.ends('apply folder', { out: /updated\t00000001/ });
    expect(at.service.automations).toMatchObject([{ timeout: 60, trigger: CRON }]);
  });

  it('is a conflict when two have the name, and nothing is sent', async () => {
    at.service.add();
    at.service.add();
    await file('a.json', draft);
    await at.ends('apply folder', { code: 6, err: '2 automations have the name', writes: [] });
  });

  it('is equal to its own export, in YAML and in JSON', async () => {
    at.service.add({
      preset_metadata: { preset_type: 'prompt', repos: [{ url: 'https://g.example/x' }] },
    });
    for (const [name, flags] of [
      ['a.yaml', []],
      ['a.json', ['--json']],
    ] as const) {
      const { out } = await at.ends(['export', 'Nightly tests', ...flags], {});
      await file(name, out);
      await at.ends(`apply folder/${name}`, { out: /\tunchanged\t/, writes: [] });
    }
  });
});

describe('a file', () => {
  at.rows({
    'that does not exist exits 3': { acs: 'apply nowhere.yaml', code: 3, requests: 0 },
    'that is refused where the server is neither a backend nor a cloud': {
      acs: 'list',
      server: { '/api/v1/web-client/config': { json: { app_mode: 'oss' } } },
      code: 12,
      err: ['has no automations', 'cron'],
    },
  });

  it.each([
    ['x.yaml', 'a: b: c', 'is not YAML: Nested mappings are not allowed'],
    ['x.json', '{"a":', 'is not JSON'],
    ['x.json', '[]', 'is not an object'],
    ['x.yaml', 'prompt: x', 'name: must be a text'],
    ['x.yaml', 'name: x\ntemplate: {id: y}', 'template: is set by apply'],
    ['x.yaml', 'name: x\nenabled: yes', 'enabled: must be true or false'],
    ['x.yaml', Buffer.from([0xff, 0xfe]), 'is not UTF-8'],
    ['x.yaml', `name: ${'x'.repeat(1024 * 1024)}`, 'is larger than 1 MiB'],
    ['x.yaml', 'name: x\na: &a [*a]', 'is nested too deeply, or contains itself'],
    ['x.json', `{"a":${'['.repeat(101)}${']'.repeat(101)}}`, 'is nested too deeply'],
    ['x.yaml', 'a: &a [x]\nb: [*a, *a]\n'.repeat(1), 'name: must be a text'],
  ])('%s that is not valid exits 2 before any request (%#)', async (name, content, err) => {
    await file(name, content);
    await at.ends('apply folder', { code: 2, err: `folder/${name}: ${err}`, requests: 0 });
  });

  it('has a name that no other file has', async () => {
    await file('x.json', { name: 'X' });
    await file('y.yaml', 'name: X');
    const err = 'folder/y.yaml: name: is that of folder/x.json too';
    await at.ends('apply folder', { code: 2, err, requests: 0 });
  });

  it('is required in a folder', async () => {
    await at.ends('apply folder --prune', {
      code: 2,
      err: 'has no JSON or YAML file',
      requests: 0,
    });
  });

  it('with a filter that never matches is applied with a warning', async () => {
    const trigger = { type: 'event', source: 'ci', on: 'push', filter: '!pull_request.draft' };
    await file('x.json', { name: 'X', prompt: 'x', trigger });
    await at.ends('apply folder', {
      out: /created/,
      err: 'x.json: trigger.filter: !pull_request.draft is never true: write !(pull_request.draft)',
    });
  });
});
