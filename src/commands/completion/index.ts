/**
 * `acs completion <shell>`: scripts generated from the tree of commands, and the hidden command from which they read
 * names of this moment. The generators are loaded on use.
 */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { explain } from '../declare.ts';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

export function declareCompletion(root: Command, ctx: Context): void {
  const command = root
    .command('completion <shell>')
    .description('print a shell completion script')
    .action(async (shell: string) => completion(shell, root, ctx));
  explain(command, {
    notes: [
      'Completes commands, flags, the values of flags, names of profiles and settings, and, while the local service is running, its ids with their titles. It starts nothing and asks no other server; of another server only the last conversation is offered.',
    ],
    examples: [
      {
        command: 'acs completion bash > ~/.local/share/bash-completion/completions/acs',
        does: 'bash; create the folder first (mkdir -p); start a new shell to use it',
      },
      { command: 'acs completion zsh > "${fpath[1]}/_acs"', does: 'zsh' },
      { command: 'acs completion fish > ~/.config/fish/completions/acs.fish', does: 'fish; create the folder first' },
    ],
  });
  root
    .command('__complete <what>', { hidden: true })
    .description('names for a completion script')
    .action(async (what: string) => (await import('./names.ts')).printNames(what, ctx));
}

async function completion(name: string, root: Command, ctx: Context): Promise<void> {
  ctx.out.check(null, 'raw');
  const shell = SHELLS.find((known) => known === name);
  if (!shell) throw new AppError('usage', `no completion for "${name}"`, { hint: `shells: ${SHELLS.join(', ')}` });
  await ctx.out.raw(await completionScript(shell, root));
}

export async function completionScript(shell: Shell, root: Command): Promise<string> {
  const { completionTree, withHelp } = await import('./tree.ts');
  const tree = withHelp(completionTree(root));
  switch (shell) {
    case 'bash':
      return (await import('./bash.ts')).bashScript(tree);
    case 'zsh':
      return (await import('./zsh.ts')).zshScript(tree);
    case 'fish':
      return (await import('./fish.ts')).fishScript(tree);
    case 'powershell':
      return (await import('./powershell.ts')).powershellScript(tree);
  }
}
