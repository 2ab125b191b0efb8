/**
 * `--wait-timeout` of each verb that has it, at a server that accepts connections and answers
 * nothing.
 */
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import type { Context } from '../../src/commands/context.ts';
import { declareCommands } from '../../src/commands/index.ts';
import { ID } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

const at = useIdleV1();
/** Flags that make a command wait, or wait otherwise. */
const WAITS = ['--wait', '--follow', '--count'];

const root = new Command('acs');
await declareCommands(root, {} as Context, 'all');

function linesOf(command: Command, words: string[]): string[][] {
  const own = command.options.some(({ long }) => long === '--wait-timeout')
    ? withWaits(command, words)
    : [];
  return [...own, ...command.commands.flatMap((below) => linesOf(below, [...words, below.name()]))];
}

/** The command with an id for each argument, and once with each flag that makes it wait. */
function withWaits(command: Command, words: string[]): string[][] {
  const line = [...words, ...command.registeredArguments.map(() => ID)];
  if (command.options.some(({ long }) => long === '--no-repo')) line.push('--no-repo');
  const flags = command.options.filter(({ long }) => WAITS.includes(long ?? ''));
  const waiting = flags.map(({ long = '', required }) => [
    ...line,
    long,
    ...(required ? ['2'] : []),
  ]);
  // With --no-wait, or without a flag that makes it wait, the command waits by itself.
  const waitsAlone = flags.length === 0 || command.options.some(({ long }) => long === '--no-wait');
  return waitsAlone ? [line, ...waiting] : waiting;
}

const lines = linesOf(root, []).map((line) => [line.join(' ')] as const);

it('verbs with a wait limit are found in the tree of commands', () => {
  const verbs = lines.map(([line]) => line.split(' ').slice(0, 2).join(' '));
  expect(verbs).toEqual(
    expect.arrayContaining(['conv new', 'conv wait', 'conv send', 'sandbox resume']),
  );
});

describe.each(['is not known', 'is known'])(
  'a server that %s ends at the limit, with exit code 124',
  (known) => {
    // A server of V1 that is known to have no automations is refused before any request.
    const asked = lines.filter(
      ([line]) => known === 'is not known' || !line.startsWith('automation '),
    );
    it.each(asked)('%s', async (line) => {
      const env = { ACS_CONFIG_DIR: `${at.dir}/config-${at.clock.now()}` };
      if (known === 'is known') await at.ends('whoami', { env });
      at.v1.before = () => ({ silence: true });
      // Shorter than the limit of the probe and of any request: these would be exit code 10.
      await at.ends(`${line} --wait-timeout 3s`, { env, code: 124 });
    });
  },
);
