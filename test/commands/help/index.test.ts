import os from 'node:os';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { declareCommands } from '../../../src/commands/index.ts';
import type { Context } from '../../../src/context.ts';
import { EXIT_CODES } from '../../../src/errors.ts';
import { invoke } from '../../support/world.ts';

const acs = (...args: string[]) => invoke({ args, cwd: os.tmpdir(), env: { HOME: os.tmpdir(), ACS_BASE_URL: '' } });

describe('acs help', () => {
  it('without arguments prints the help of acs', async () => {
    const [help, flag] = [await acs('help'), await acs('--help')];
    expect(help).toMatchObject({ code: 0, err: '', out: flag.out });
  });

  it('of a command or an alias prints the same as its --help', async () => {
    const flag = await acs('profile', 'list', '--help');
    expect(await acs('help', 'profile', 'list')).toMatchObject({ code: 0, err: '', out: flag.out });
    expect(await acs('help', 'profile', 'ls')).toMatchObject({ code: 0, out: flag.out });
  });

  it('of an unknown name exits 2 and names the topics', async () => {
    const { code, out, err } = await acs('help', 'nonsense');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('exit-codes, environment, output');
  });

  it('of an unknown verb exits 2 and points to the help of its noun', async () => {
    const { code, err } = await acs('help', 'conv', 'nonsense');
    expect({ code, err }).toEqual({
      code: 2,
      err: 'error: no command or help topic "conv nonsense"\n  see: acs conv --help\n',
    });
  });

  it('names every exit code with its kind', async () => {
    const { code, out } = await acs('help', 'exit-codes');
    expect(code).toBe(0);
    for (const [kind, number] of Object.entries(EXIT_CODES))
      expect(out).toMatch(new RegExp(`^ +${number} +${kind} `, 'm'));
    for (const number of [129, 141, 143]) expect(out).toContain(String(number));
  });

  it('names every environment variable that acs reads', async () => {
    const { out } = await acs('help', 'environment');
    for (const name of [
      'ACS_BASE_URL',
      'ACS_PROFILE',
      'ACS_API_KEY',
      'ACS_CONFIG_DIR',
      'ACS_DATA_DIR',
      'NO_COLOR',
      'CI',
    ])
      expect(out).toContain(name);
  });

  it('describes the formats', async () => {
    const { out } = await acs('help', 'output');
    for (const format of ['table', 'tsv', 'json', 'ndjson', 'id']) expect(out).toContain(`--format ${format}`);
  });

  it('fits 90 columns', async () => {
    for (const topic of ['exit-codes', 'environment', 'output']) {
      const { out } = await acs('help', topic);
      expect(out.split('\n').filter((line) => line.length > 90)).toEqual([]);
    }
  });
});

describe('the commands of the root', () => {
  it('have the same description as in their own help', async () => {
    const described = async (words: string[] | 'all') => {
      const root = new Command('acs');
      await declareCommands(root, {} as Context, words);
      return root.commands
        .filter((command) => !command.name().startsWith('_'))
        .map((command) => [command.name(), command.aliases(), command.description()]);
    };
    expect(await described([])).toEqual(await described('all'));
  });
});
