/**
 * A table of command × format: what each command prints in each of them, in
 * `formats/<command>.txt`. What differs from run to run (ids, times, places) is put as a word in
 * angle brackets. `vitest run … --update` takes a change over.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explanationOf } from '../../src/commands/shared/declare.ts';
import { RECORDS } from '../../src/commands/help/index.ts';
import { JSON_FORMS } from '../../src/commands/help/page.ts';
import type { RecordShape } from '../../src/output/view.ts';
import { allCommands, realTree } from '../../scripts/commands.ts';
import { GIT_TOKEN, startGitHost, type GitHost } from '../genuine/git-host.ts';
import { createWorld, type Ended, type World } from '../support/world.ts';
import {
  endedRun,
  git,
  json,
  makeRepository,
  startWaitingRun,
  type ConversationJson,
} from './conv/support.ts';

/** The forms in the help of a command, `conv list`. */
export function formsOf(root: Command, words: string): string[] {
  let command: Command | undefined = root;
  for (const word of words.split(' '))
    command = command?.commands.find((each) => each.name() === word);
  const forms = (command && explanationOf(command)?.json?.(JSON_FORMS)) ?? [];
  return forms.map((form) => (typeof form === 'string' ? form : form[1]));
}

/** The nouns that a form names, such as `conversation`; `{"<name>":<value>}` names none. */
export function nounsOf(form: string): string[] {
  return [...form.matchAll(/<([^>]+)>/g)]
    .map(([, noun = '']) => noun)
    .filter((noun) => !/^(name|value)$/.test(noun));
}

/** Texts that are documents, or one document a line. */
export function documentsOf(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
  }
}

export function fits(value: unknown, form: string): boolean {
  const shapes = nounsOf(form).map((noun) => RECORDS.find((record) => record.noun === noun));
  if (shapes.includes(undefined)) return false;
  const known = shapes as RecordShape[];
  if (known.length === 0) return true;
  if (!form.startsWith('{"items":')) return fitsRecord(value, known, quoted(form));
  const { items, ...rest } = value as { items: unknown[] };
  return (
    Object.keys(rest).join() === 'has_more' && items.every((item) => fitsRecord(item, known, []))
  );
}

function fitsRecord(
  value: unknown,
  shapes: readonly RecordShape[],
  also: readonly string[],
): boolean {
  const record = value as Record<string, unknown>;
  return shapes.some(({ fields }) => {
    const names = fields.map(({ name }) => name);
    const keys = Object.keys(record);
    if (
      names.some((name) => !keys.includes(name)) ||
      keys.some((key) => ![...names, ...also].includes(key))
    )
      return false;
    return fields.every(({ name, json }) => json === undefined || fitsMember(record[name], json));
  });
}

function fitsMember(
  value: unknown,
  { list, members }: NonNullable<RecordShape['fields'][number]['json']>,
): boolean {
  if (value === null) return true;
  if (list && !Array.isArray(value)) return false;
  if (members === undefined || members.includes('…')) return true;
  const objects = list ? (value as object[]) : [value as object];
  return objects.every(
    (object) => Object.keys(object).sort().join() === [...members].sort().join(),
  );
}

function quoted(form: string): string[] {
  return [...form.matchAll(/"(\w+)"/g)].map(([, name = '']) => name);
}

const FORMATS = ['table', 'tsv', 'json', 'ndjson', 'id'] as const;

let world: World;
let gitHost: GitHost;
let ended: ConversationJson;
let waiting: string;
let asleep: string;
/** The sandbox of the conversations that rows start. */
let box: string;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  const repository = await makeRepository(path.join(world.dir, 'repository'));
  await git(repository, 'branch', 'other');
  const id = await endedRun(world, '--repo', repository, '--title', 'One');
  ended = json(await world.acs('conv', 'show', id, '--json'));
  waiting = (await startWaitingRun(world)).id;
  box = json(await world.acs('sandbox', 'start', '--json')).id;
  asleep = json(await world.acs('sandbox', 'start', '--json')).id;
  await world.acs('sandbox', 'pause', asleep);
  await writeFile(path.join(world.dir, 'value'), 'hush-hush-value');
  await world.acs('secret', 'set', 'TOKEN=@value', '--description', 'for the forge');
  await world.acs(
    'settings',
    'set',
    'llm_model=openai/some-model',
    'llm_api_key=@value',
    'max_iterations=7',
  );
  await world.acs('settings', 'profile', 'save', 'usual');
  await world.acs('settings', 'profile', 'use', 'usual');
  await writeFile(path.join(world.dir, 'key'), world.service.key);
  await writeFile(path.join(world.dir, 'nightly.yaml'), 'name: Nightly tests');
  gitHost = await startGitHost(path.join(world.dir, 'git-host'));
  await writeFile(path.join(world.dir, 'token'), GIT_TOKEN);
  await world.acs('git-provider', 'set', 'forgejo', '--host', gitHost.url, '--token-file', 'token');
  await world.acs('login', 'work', '--base-url', world.service.url);
  await world.acs('login', 'other', '--base-url', 'https://acs.example', '--no-check');
});
afterAll(async () => {
  await gitHost.close();
  await world.close();
});

interface Row {
  args: string[];
  /** Where the others depend on the machine. */
  fields?: string;
  /** Run before each format; what it gives comes after the words above. */
  before?: () => Promise<string[]>;
}

const given =
  (...words: (() => string)[]) =>
  (): Promise<string[]> =>
    Promise.resolve(words.map((word) => word()));
const finished = given(() => ended.id);
const sandbox = given(() => ended.sandbox_id ?? '');
const START = ['conv', 'new', '--no-repo', '--replay', 'demo'];
const newConversation = async (): Promise<string[]> => [
  json(await world.acs(...START, '--sandbox', box, '--wait', '--json')).id,
];
/** A batch that has ended: the results are read from its state. */
const endedBatch = async (): Promise<string[]> => {
  const source = path.join(world.dir, 'tasks.jsonl');
  await writeFile(source, JSON.stringify({ key: 'lint', message: 'Repair it.' }));
  const diff = { files: 1, added: 4, removed: 0 };
  const result = {
    key: 'lint',
    id: ended.id,
    status: 'finished',
    exit_code: 0,
    reason: null,
    attempts: 1,
  };
  const line = JSON.stringify({ ...result, cost_usd: 0.25, seconds: 1.5, diff });
  await writeFile(path.join(world.dir, 'tasks.results.jsonl.state'), `${line}\n`);
  return [source];
};
const newSandbox = async (): Promise<string[]> => [
  json(await world.acs('sandbox', 'start', '--json')).id,
];
/** The last word, once a command has made what it names. */
const made =
  (line: string, name: string): (() => Promise<string[]>) =>
  async () => {
    await world.acs(...line.split(' '));
    return [name];
  };

const TABLE: Record<string, Row> = {
  'conv new': {
    args: ['--no-repo', '--replay', 'demo', '--title', 'Three', '--wait'],
    before: given(
      () => '--sandbox',
      () => box,
    ),
  },
  'conv list': { args: ['--status', 'finished', '--repo', '**'] },
  'conv show': { args: [], before: finished },
  'conv follow': {
    args: ['--kind', 'FinishAction,MessageEvent', '--source', 'user'],
    before: finished,
  },
  'conv events': { args: ['--source', 'user'], before: finished },
  'conv wait': { args: [], before: finished },
  'conv result': { args: [], before: finished },
  'conv send': { args: ['go on', '--wait', '--no-input'], before: newConversation },
  'conv confirm': { args: [], before: given(() => waiting) },
  'conv stop': { args: [], before: finished },
  'conv resume': { args: [], before: finished },
  'conv diff': { args: ['--stat'], before: finished },
  'conv export': { args: ['--as', 'md'], before: finished },
  'conv open': { args: [], before: finished },
  'conv pull': { args: ['-o', 'pulled', '--dry-run'], before: finished },
  'conv rename': { args: ['One'], before: finished },
  'conv delete': { args: ['-y'], before: newConversation },
  'sandbox list': { args: ['--status', 'running', '--repo', '**'] },
  'sandbox show': { args: [], before: sandbox },
  'sandbox start': { args: [], before: sandbox },
  'sandbox pause': { args: [], before: given(() => asleep) },
  'sandbox resume': { args: [], before: sandbox },
  'sandbox delete': { args: ['-y'], before: newSandbox },
  'sandbox exec': { args: ['--', 'sh', '-c', 'echo one'], before: sandbox },
  'sandbox cp': {
    args: ['copied.sh'],
    before: given(() => `${ended.sandbox_id ?? ''}:acs-demo.sh`),
  },
  batch: { args: [], before: endedBatch },
  'specs list': { args: [] },
  'settings get': { args: ['llm_model', 'llm_api_key', 'max_iterations'] },
  'settings set': { args: ['max_iterations=7', '--fields', 'max_iterations,llm_api_key'] },
  'settings unset': { args: ['language', '--fields', 'language,llm_model'] },
  'settings schema': { args: ['max_iterations', 'llm_api_key'] },
  'settings profile list': { args: [] },
  'settings profile save': { args: ['usual'] },
  'settings profile use': { args: ['usual'] },
  'settings profile delete': { args: ['-y'], before: made('settings profile save gone', 'gone') },
  'automation list': { args: [] },
  'automation show': { args: ['Nightly tests'] },
  'automation apply': { args: ['nightly.yaml'] },
  'automation export': { args: ['Nightly tests'] },
  'automation run': { args: ['Nightly tests'] },
  'automation runs': { args: ['Nightly tests'] },
  'automation stop': { args: ['00000000-0000-4000-8000-000000000000'] },
  'automation enable': { args: ['Nightly tests'] },
  'automation disable': { args: ['Nightly tests'] },
  'automation delete': { args: ['Nightly tests', '-y'] },
  api: { args: ['GET', '/api/v1/sandbox-specs', '-f', 'id=process'] },
  'model list': { args: [] },
  'secret list': { args: [] },
  'secret set': { args: ['TOKEN=@value'] },
  'secret delete': { args: ['-y'], before: made('secret set GONE=@value', 'GONE') },
  'git-provider list': { args: [] },
  'git-provider set': { args: ['forgejo', '--token-file', 'token'] },
  'git-provider delete': {
    args: ['-y'],
    before: made('git-provider set gitlab --token-file token', 'gitlab'),
  },
  'repo list': { args: [] },
  'repo branches': { args: ['demo/hello'] },
  login: {
    args: ['--api-key-file', 'key', '-y', 'signed-in'],
    before: given(
      () => '--base-url',
      () => world.service.url,
    ),
  },
  logout: { args: ['signed-in'] },
  'profile list': { args: [] },
  'profile show': { args: ['work'] },
  'profile use': { args: ['work'] },
  'profile rename': { args: ['work', 'work'] },
  'profile delete': {
    args: ['-y'],
    before: made('login gone --base-url https://acs.example --no-check', 'gone'),
  },
  whoami: { args: [] },
  doctor: { args: [], fields: 'id' },
  serve: { args: ['--status'] },
  completion: { args: ['bash'] },
  help: { args: ['output'] },
};

/** What each command printed with --format json. */
const printedJson = new Map<string, unknown[]>();

/**
 * `settings edit` needs an editor, and writes what `settings set` prints; a shell needs a terminal.
 */
const ON_TERMINALS = ['settings edit', 'sandbox shell', 'conv chat'];

describe('the formats of', () => {
  it('each command there is', async () => {
    const verbs = (await allCommands()).filter(({ isVerb }) => isVerb);
    const names = verbs.map(({ path }) => path.replace(/^acs /, ''));
    expect([...Object.keys(TABLE), ...ON_TERMINALS].sort()).toEqual(names.sort());
  });

  it.each(Object.keys(TABLE))('%s', async (command) => {
    const { args, before, fields } = TABLE[command] ?? { args: [] };
    const run = (format: string, words: string[], ...rest: string[]) =>
      world.acs(...command.split(' '), '--format', format, ...words, ...args, ...rest);
    const chosen = fields === undefined ? [] : ['--fields', fields];
    let text = '';
    const forms = formsOf(await realTree(), command);
    for (const format of FORMATS) {
      const words = (await before?.()) ?? [];
      const result = await run(format, words, ...(format === 'id' ? [] : chosen));
      text += shown(format, result);
      if (format !== 'json' || forms.length === 0) continue;
      const whole = fields === undefined ? result : await run(format, words);
      printedJson.set(command, documentsOf(whole.out));
    }
    await expect(text).toMatchFileSnapshot(`formats/${command.replaceAll(' ', '-')}.txt`);
  });

  it.each(Object.keys(TABLE))(
    '%s as JSON has the members that help lists for it',
    async (command) => {
      const forms = formsOf(await realTree(), command);
      const misfits = (printedJson.get(command) ?? []).filter(
        (document) => !forms.some((form) => fits(document, form)),
      );
      expect({ forms, misfits }).toEqual({ forms, misfits: [] });
    },
  );

  it('only nouns that acs help output lists are named in the JSON forms of help', async () => {
    const known = RECORDS.map(({ noun }) => noun);
    const root = await realTree();
    const forms = [...Object.keys(TABLE), ...ON_TERMINALS].flatMap((command) =>
      formsOf(root, command),
    );
    expect(forms.flatMap(nounsOf).filter((noun) => !known.includes(noun))).toEqual([]);
  });
});

/** stderr only of a command that failed: what else stands there are words about the way. */
function shown(format: string, { code, out, err }: Ended): string {
  const last =
    err
      .trimEnd()
      .split(/\n(?=\S)/)
      .at(-1) ?? '';
  return `== ${format}, exit ${code}\n${steady(out)}${code === 0 ? '' : steady(`${last}\n`)}`;
}

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const SANDBOX = /\b(?=\w*[A-Z])(?=\w*[a-z])\w{22}\b/g;

/** Keeps the indentation of a document, and reduces the width of columns to one space. */
function steady(text: string): string {
  return text
    .replaceAll(world.service.url, '<url>')
    .replaceAll(world.dir, '<dir>')
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, '<url>')
    .replace(/once=[\w-]{43}/g, 'once=<token>')
    .replace(UUID, '<uuid>')
    .replace(/\b[0-9a-f]{32}\b/g, '<id>')
    .replace(/\b[0-9a-f]{40}\b/g, '<commit>')
    .replace(SANDBOX, '<sandbox>')
    .replace(/did-[a-z0-9]+-/g, 'did-')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z?/g, '<time>')
    .replace(/\b(now|\d+[smh] ago)\b/g, '<ago>')
    .replace(text.startsWith('{') ? /$^/ : /(?<=\S) {2,}/g, '  ');
}
