import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { explain } from '../declare.ts';
import { checkSecretName, readValue, sourceOf, type ValueOptions } from './value.ts';
import { SECRET_JSON, secretView } from './view.ts';

interface SetOptions extends ValueOptions {
  description?: string;
}

export function declareSet(parent: Command, ctx: Context): void {
  const command = parent.command('set').description('store a secret, or another value for one that exists');
  command
    .argument('<name>', 'letters, digits and _, not beginning with a digit; NAME=@file and NAME=- are taken too')
    .argument('[source]', '@file, or - for stdin; without it the value is asked for')
    .option('--from-env <NAME>', 'take the value of this environment variable')
    .option('--description <text>', 'what it is for; one that exists keeps its own otherwise');
  explain(command, {
    notes: [
      'The value comes from a file, stdin, the environment or a prompt, never from the command line. One line end at\n' +
        'its end is dropped. Conversations that run keep what they were started with.',
      'V1 servers replace the value of a secret that exists. V0 servers, and those that serve V0 as well, cannot: there\n' +
        'it is deleted and created again. A failure in between loses the old value; a notice says so before anything\n' +
        'is sent, and the error says that it is gone.',
    ],
    json: [`${SECRET_JSON} plus "changed"`],
    exits: ['conflict', 'unknown-outcome', 'unsupported'],
    examples: [
      { command: 'acs secret set NPM_TOKEN --from-env NPM_TOKEN', does: 'takes it from the environment' },
      { command: "acs secret set DEPLOY_KEY @deploy.key --description 'staging only'", does: 'takes it from a file' },
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
  if (before === 'present') await ctx.notice(`${name} existed: it has the new value now`);
  await ctx.out.item(secretView, secret, { changed: true });
}
