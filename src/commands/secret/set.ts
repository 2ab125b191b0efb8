import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { checkSecretName, readValue, sourceOf, type ValueOptions } from './value.ts';
import { secretView } from './view.ts';

interface SetOptions extends ValueOptions {
  description?: string;
}

export function declareSet(parent: Command, ctx: Context): void {
  const command = parent.command('set').description('create a secret, or replace its value');
  command
    .argument('<name>', 'letters, digits and _, not beginning with a digit; also NAME=@file and NAME=-')
    .argument('[source]', '@file, or - for stdin; without it acs asks for the value')
    .option('--from-env <NAME>', 'take the value from an environment variable')
    .option('--description <text>', 'the description; without it an existing one is kept');
  explain(command, {
    notes: [
      'The value is read from a file, stdin, the environment or a prompt, never from the command line. A line end after the value is removed. Running conversations keep the value they were started with.',
      'V1 servers replace the value of an existing secret. V0 servers, and servers that also serve V0, cannot: there the secret is deleted and created again, and a failure in between loses the old value. A notice says so before the requests are sent.',
    ],
    json: ({ objectForm }) => [objectForm(secretView, 'changed')],
    exits: ['conflict', 'unknown-outcome', 'unsupported'],
    examples: [
      { command: 'acs secret set NPM_TOKEN --from-env NPM_TOKEN', does: 'take the value from the environment' },
      {
        command: "acs secret set DEPLOY_KEY @deploy.key --description 'staging only'",
        does: 'take the value from a file',
      },
    ],
  });
  command.action((name: string, source: string | undefined, options: SetOptions) =>
    setSecret(name, source, options, ctx),
  );
}

export async function setSecret(
  word: string,
  argument: string | undefined,
  options: SetOptions,
  ctx: Context,
): Promise<void> {
  ctx.out.check(secretView, 'item');
  const { name, source } = sourceOf(word, argument, options);
  checkSecretName(name);
  const value = await readValue(ctx, name, source);
  const server = await ctx.server();
  const { before, ...secret } = await server.secrets.set({ name, value, description: options.description ?? null });
  if (before === 'present') await ctx.notice(`${name} existed; its value was replaced`);
  await ctx.out.item(secretView, secret, { changed: true });
}
