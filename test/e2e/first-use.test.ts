import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startModel, type ScriptedModel } from '../genuine/model.ts';
import { hasBubblewrap } from '../support/bubblewrap.ts';
import { shell, start, type Start } from './processes.ts';

const KEY = 'sk-key-of-the-model';

let dir: string;
let place: Start;
let model: ScriptedModel;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-e2e-'));
  const [home, cwd] = [path.join(dir, 'home'), path.join(dir, 'calculator')];
  for (const folder of [home, cwd]) await mkdir(folder);
  place = { cwd, env: { PATH: process.env.PATH, HOME: home, ACS_PROFILE: 'local' } };
  model = await startModel('/nowhere');
});
afterEach(async () => {
  await start(['serve', '--stop'], place).ended;
  await model.close();
  await rm(dir, { recursive: true, force: true });
});

async function acs(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const running = start(args, place);
  running.child.stdin?.end(`${KEY}\n`);
  const ended = await running.ended;
  expect(ended.out + ended.err).not.toContain(KEY);
  return ended;
}

const REPAIRED =
  'a model is set up on a fresh machine, repairs a failing test in a sandbox, and its ' +
  'change is pulled';

it.each(['v1', 'v0'])(`${REPAIRED}: %s`, async (api) => {
  const { cwd = '' } = place;
  await writeFile(path.join(cwd, 'sum.sh'), 'echo $(($1 - $2))\n');
  await writeFile(path.join(cwd, 'check.sh'), '[ "$(sh sum.sh 2 2)" = 4 ]\n');
  const commit =
    'git init -qb main && git add . && git -c user.name=T -c user.email=t@example.com ' +
    'commit -qm first';
  expect(await shell(commit, place).ended).toMatchObject({ code: 0 });
  expect((await shell('sh check.sh', place).ended).code).toBe(1);

  const spec = hasBubblewrap ? [] : ['--spec', 'process'];
  const task = 'Fix the failing tests (REPAIR).';
  const without = await acs('conv', 'new', task, '--wait', ...spec);
  expect(without).toMatchObject({
    code: 3,
    err: expect.stringMatching(/settings set llm_model.*\n.*--replay/) as string,
  });

  const set = await acs(
    'settings',
    'set',
    'llm_model=gpt-4o',
    `llm_base_url=${model.url}`,
    'llm_api_key=-',
  );
  expect(set.code, set.err).toBe(0);
  expect((await acs('doctor')).out).toContain(`gpt-4o at ${model.url} answers`);

  const run = await acs('conv', 'new', task, '--follow', '--api', api, ...spec);
  expect(run.code, run.out + run.err).toBe(0);
  expect(run.out).toMatch(/\$ sh check\.sh[^]*sum\.sh[^]*\$ sh check\.sh[^]*finished/);
  expect(await readFile(path.join(cwd, 'sum.sh'), 'utf8')).toContain('-');

  const pulled = await acs('conv', 'pull', '@last');
  expect(pulled.code, pulled.err).toBe(0);
  expect((await shell('sh check.sh', place).ended).code).toBe(0);
});

it('a model with the key test: the task, the files that are pulled and what acs prints keep the word', async () => {
  const run = (args: string[], stdin = '') => {
    const running = start(args, place);
    running.child.stdin?.end(stdin);
    return running.ended;
  };
  const commit =
    'git init -qb main && git -c user.name=T -c user.email=t@example.com commit -q ' +
    '--allow-empty -m first';
  expect(await shell(commit, place).ended).toMatchObject({ code: 0 });
  const settings = ['llm_model=gpt-4o', `llm_base_url=${model.url}`, 'llm_api_key=-'];
  const set = await run(['settings', 'set', ...settings, '--debug'], 'test\n');
  expect(set).toMatchObject({
    code: 0,
    err: expect.stringContaining('warning: the value of llm_api_key') as string,
  });
  expect(set.err).not.toMatch(/"api_key": *"test"/);

  place.env = { ...place.env, PORT: '1' };
  const create = {
    command: 'create',
    path: 'test_add.py',
    file_text: 'def test_add(): return 1 + 10\n',
  };
  const calls = [
    `file_editor ${JSON.stringify(create)}`,
    'terminal {"command":"cat test_add.py # latest"}',
  ];
  const task = ['CALL the tests, the latest 11', ...calls].join('\n');
  const spec = hasBubblewrap ? [] : ['--spec', 'process'];
  const started = await run(['conv', 'new', task, '--wait', '--secret', 'PORT', ...spec]);
  expect(started.code, started.err).toBe(0);
  expect(started.err).toContain('warning: the value of PORT');
  const events = await run(['conv', 'events', '@last', '--json', '--debug']);
  expect(events.out).toContain('the tests, the latest 11');
  expect(events.out).toContain('"text": "def test_add(): return 1 + 10"');
  expect(events.out + events.err).not.toContain('<secret-hidden>s');
  expect(await run(['conv', 'pull', '@last'])).toMatchObject({ code: 0 });
  expect(await readFile(path.join(place.cwd ?? '', 'test_add.py'), 'utf8')).toBe(create.file_text);
});

const FAILURES: [word: string, said: RegExp][] = [
  [
    'FAIL401',
    /answered with HTTP 401: Incorrect API key provided\. Set another key: acs settings set llm_api_key=-/,
  ],
  ['FAIL429', /answered with HTTP 429: .*Continue the conversation later/],
  ['FAIL500', /answered with HTTP 500: .*Continue the conversation later/],
  ['CUT', /was cut off/],
  ['LOOP', /stuck/],
];

it('a run that its model fails ends with exit code 1 and the reason', async () => {
  const url = `llm_base_url=${model.url}`;
  const set = await acs(
    'settings',
    'set',
    'llm_model=gpt-4o',
    url,
    'agent_settings.llm.num_retries=0',
  );
  expect(set.code, set.err).toBe(0);
  const spec = hasBubblewrap ? [] : ['--spec', 'process'];
  for (const [word, said] of FAILURES) {
    const run = await acs('conv', 'new', word, '--no-repo', '--wait', ...spec);
    expect(run, word).toMatchObject({ code: 1, err: expect.stringMatching(said) as string });
  }
});
