import os from 'node:os';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../../scripts/commands.ts';
import type { Context } from '../../src/commands/context.ts';
import { EXIT_CODES } from '../../src/base/errors.ts';
import { TOPICS } from '../../src/commands/shared/declare.ts';
import { declareCommands } from '../../src/commands/index.ts';
import { invoke } from '../support/world.ts';

const nodes = await allCommands();
const pathOf = (path: string): string[] => path.split(' ').slice(1);

async function help(args: string[], columns?: number): Promise<string> {
  const { code, out, err } = await invoke({
    args,
    cwd: os.tmpdir(),
    ...(columns === undefined ? {} : { columns }),
  });
  expect({ args, code, err }).toEqual({ args, code: 0, err: '' });
  return out;
}

/**
 * What users read, in `help/<noun>.txt`; a change of it shows in review, and `vitest run …
 * --update` takes it over.
 */
describe('the help of', () => {
  const ofConv = nodes.filter(({ path }) => path.startsWith('acs conv'));
  const paths = nodes.map(({ path }) => path);
  const nouns = [...new Set(paths.map((path) => path.split(' ')[1] ?? 'acs'))];

  it.each(nouns)('%s', async (noun) => {
    let text = '';
    for (const path of paths.filter((each) => (each.split(' ')[1] ?? 'acs') === noun))
      text += `== ${path}\n${await help([...pathOf(path), '--help'])}`;
    await expect(text).toMatchFileSnapshot(`help/${noun}.txt`);
  });

  it.each(
    ofConv.flatMap(({ command }) =>
      command.aliases().map((alias) => [alias, command.name()] as const),
    ),
  )('conv under its alias %s is that of %s', async (alias, name) => {
    const words = (word: string) => (name === 'conv' ? [word] : ['conv', word]);
    expect(await help([...words(alias), '--help'])).toBe(await help([...words(name), '--help']));
  });
});

describe('acs help', () => {
  it('prints the help of acs, or of a command or an alias', async () => {
    expect(await help(['help'])).toBe(await help(['--help']));
    const flag = await help(['profile', 'list', '--help']);
    for (const word of ['list', 'ls']) expect(await help(['help', 'profile', word])).toBe(flag);
  });

  it.each([
    ['nonsense', /exit-codes, environment, output/],
    [
      'conv nonsense',
      /^error: no command or help topic "conv nonsense"\n {2}see: acs conv --help\n$/,
    ],
  ])('%s exits 2 with the next step', async (words, err) => {
    const ended = await invoke({ args: ['help', ...words.split(' ')], cwd: os.tmpdir() });
    expect(ended).toMatchObject({ code: 2, out: '', err: expect.stringMatching(err) as string });
  });

  it('exit-codes names every exit code with its kind', async () => {
    const out = await help(['help', 'exit-codes']);
    for (const [kind, number] of Object.entries(EXIT_CODES))
      expect(out).toMatch(new RegExp(`^ +${number} +${kind} `, 'm'));
    for (const number of [129, 141, 143]) expect(out).toContain(String(number));
  });

  it('environment names every variable that acs reads, and output describes the formats', async () => {
    const variables = await help(['help', 'environment']);
    const names = [
      'ACS_BASE_URL',
      'ACS_PROFILE',
      'ACS_API_KEY',
      'ACS_CONFIG_DIR',
      'ACS_DATA_DIR',
      'NO_COLOR',
      'CI',
    ];
    for (const name of names) expect(variables).toContain(name);
    const output = await help(['help', 'output']);
    for (const format of ['table', 'tsv', 'json', 'ndjson', 'id'])
      expect(output).toContain(`--format ${format}`);
  });
});

describe('the layout of help', () => {
  const pages = [
    ...nodes.map(({ path }) => [...pathOf(path), '--help']),
    ...TOPICS.map((topic) => ['help', topic]),
  ];

  it.each([20, 40, 60, 80])(
    'at %i columns has no line longer than the width, except a long word on a line of its own',
    async (width) => {
      const tooLong: string[] = [];
      for (const args of pages)
        tooLong.push(
          ...(await help(args, width)).split('\n').filter((line) => line.length > width),
        );
      expect(tooLong.filter((line) => line.trim().includes(' '))).toEqual([]);
      if (width === 80) expect(tooLong).toEqual([]);
    },
  );

  it('is on a pipe and on a wide terminal that of 80 columns, and every width prints the same words', async () => {
    const words = (text: string) => text.split(/\s+/).join(' ');
    for (const args of pages) {
      const standard = await help(args, 80);
      expect([await help(args), await help(args, 200)]).toEqual([standard, standard]);
      expect(words(await help(args, 40))).toBe(words(standard));
    }
  });
});

describe('the tree of commands', () => {
  /**
   * Every command of the contract, written out: neither a removed nor a renamed one can go
   * unnoticed.
   */
  const COMMANDS: Readonly<Record<string, readonly string[]>> = {
    'acs conv': [
      ...[
        'new',
        'list',
        'show',
        'follow',
        'events',
        'wait',
        'result',
        'send',
        'confirm',
        'stop',
        'resume',
      ],
      ...['diff', 'pull', 'export', 'open', 'chat', 'rename', 'delete'],
    ],
    'acs sandbox': ['list', 'show', 'start', 'pause', 'resume', 'delete', 'exec', 'shell', 'cp'],
    'acs specs': ['list'],
    'acs settings': ['get', 'set', 'unset', 'edit', 'schema'],
    'acs settings profile': ['list', 'save', 'use', 'delete'],
    'acs model': ['list'],
    'acs secret': ['list', 'set', 'delete'],
    'acs git-provider': ['list', 'set', 'delete'],
    'acs repo': ['list', 'branches'],
    'acs automation': [
      ...['list', 'show', 'apply', 'export', 'run', 'runs', 'stop', 'enable', 'disable', 'delete'],
    ],
    'acs profile': ['list', 'show', 'use', 'rename', 'delete'],
    acs: ['login', 'logout', 'whoami', 'doctor', 'api', 'serve', 'batch', 'completion', 'help'],
  };
  const ALIASES: Readonly<Record<string, readonly string[]>> = {
    list: ['ls'],
    delete: ['rm', 'remove'],
    show: ['view', 'get'],
    conv: ['conversation'],
    sandbox: ['sb'],
  };

  it('has every command of the contract, and no other', () => {
    const wanted = Object.entries(COMMANDS).flatMap(([noun, verbs]) =>
      verbs.map((verb) => `${noun} ${verb}`),
    );
    const verbs = nodes.filter(({ isVerb }) => isVerb).map(({ path }) => path);
    expect(verbs.sort()).toEqual(wanted.sort());
  });

  it('has the same aliases under every noun', () => {
    const missing = nodes.flatMap(({ path, command }) =>
      (ALIASES[command.name()] ?? [])
        .filter((alias) => !command.aliases().includes(alias))
        .map((alias) => `${path}: ${alias}`),
    );
    expect(missing).toEqual([]);
  });

  async function declared(words: string[] | 'all'): Promise<Command> {
    const root = new Command('acs');
    await declareCommands(root, {} as Context, words);
    return root;
  }
  const convOf = (root: Command) =>
    root.commands.find((command) => command.name() === 'conv') as Command;
  const described = (noun: Command) =>
    noun.commands
      .filter((command) => !command.name().startsWith('_'))
      .map((command) => [command.name(), command.aliases(), command.description()]);

  it('has the same descriptions where only a part of it is loaded', async () => {
    const all = await declared('all');
    expect(described(await declared([]))).toEqual(described(all));
    const usage = (root: Command) =>
      convOf(root).commands.map((verb) => verb.usage().replace('[options] ', ''));
    const conv = await declared(['conv']);
    expect([described(convOf(conv)), usage(conv)]).toEqual([described(convOf(all)), usage(all)]);
  });

  it.each(['delete', 'rm', 'remove'])(
    'loads conv delete as %s, without the other verbs',
    async (word) => {
      const verbs = convOf(await declared(['conv', word])).commands;
      expect(verbs.filter((verb) => verb.options.length > 0).map((verb) => verb.name())).toEqual([
        'delete',
      ]);
    },
  );
});
