/** The real tree of commands, for the build, the generator and the tests. */
import { Command } from 'commander';
import type { Context } from '../src/commands/context.ts';
import { declareRoot } from '../src/cli/global-options.ts';
import { declareCommands } from '../src/commands/index.ts';

/** The tree as src/cli/run.ts builds it; declaring uses nothing of the context. */
export async function realTree(): Promise<Command> {
  const root = new Command('acs');
  declareRoot(root, '0');
  await declareCommands(root, {} as Context, 'all');
  return root;
}

export interface Listed {
  /** With the names of its parents, never an alias: `acs conv list`. */
  path: string;
  command: Command;
  /** Whether it does something itself: groups of commands do not. */
  isVerb: boolean;
}

/** Parents first, without hidden commands. */
export async function allCommands(): Promise<Listed[]> {
  return listed(await realTree(), 'acs');
}

function listed(command: Command, path: string): Listed[] {
  const below = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => command.parent === null || child.name() !== 'help')
    .flatMap((child) => listed(child, `${path} ${child.name()}`));
  return [{ path, command, isVerb: below.length === 0 }, ...below];
}
