/**
 * `acs completion <shell>`: scripts made from the tree of commands, and the hidden command they ask for names that only
 * this machine knows. The writers of scripts are loaded on use.
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
    notes: ['Commands, flags and their values are completed, and the names of profiles as they are at that moment.'],
    examples: [
      {
        command: 'acs completion bash > ~/.local/share/bash-completion/completions/acs',
        does: 'bash; start a new shell to use it',
      },
      { command: 'acs completion zsh > "${fpath[1]}/_acs"', does: 'zsh' },
      { command: 'acs completion fish > ~/.config/fish/completions/acs.fish', does: 'fish' },
    ],
  });
  root
    .command('__complete <what>', { hidden: true })
    .description('names for a completion script')
    .action(async (what: string) => completeNames(what, ctx));
}

async function completion(name: string, root: Command, ctx: Context): Promise<void> {
  ctx.out.check(null, 'raw');
  const shell = SHELLS.find((known) => known === name);
  if (!shell)
    throw new AppError('usage', `there is no completion for "${name}"`, { hint: `one of ${SHELLS.join(', ')}` });
  await ctx.out.raw(await completionScript(shell, root));
}

export async function completionScript(shell: Shell, root: Command): Promise<string> {
  const { completionTree } = await import('./tree.ts');
  const tree = completionTree(root);
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

/** Silent whatever happens: what it prints goes into a line that somebody is typing. */
async function completeNames(what: string, ctx: Context): Promise<void> {
  if (what !== 'profiles') return;
  try {
    const stored = await (await ctx.profiles()).list();
    await ctx.out.raw([...stored.map((profile) => profile.name), 'local'].map((name) => `${name}\n`).join(''));
  } catch {
    return;
  }
}
