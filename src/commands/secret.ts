import type { Command } from 'commander';
import type { Context } from './context.ts';
import { AppError } from '../base/errors.ts';
import type { Secret } from '../domain/settings.ts';
import type { View } from '../output/view.ts';
import { explain } from './shared/declare.ts';
import { declareNamedDelete, declareNamedList, type NamedItems } from './shared/named-items.ts';
import { promptForSecret, readText, warnOfUnmasked } from './shared/files.ts';

export const secretView: View<Secret> = {
  noun: 'secret',
  id: ({ name }) => name,
  fields: [{ name: 'name', weight: 0 }, { name: 'description', weight: 2 }, { name: 'scope' }],
  table: ['name', 'description'],
};

const SECRETS: NamedItems<Secret> = {
  view: secretView,
  command: 'acs secret',
  argument: 'name',
  examples: ['NPM_TOKEN', 'DEPLOY_KEY'],
  one: (name) => `secret ${name}`,
  several: 'secrets',
  paging: 'pages',
  fetch: (server, page, pageSize) => server.secrets.list(page, pageSize),
  listHelp: {
    description: 'list the names of secrets; values are never shown',
    exits: ['unsupported'],
  },
  deleteHelp: {
    notes: [
      'Running conversations keep the value they were started with; revoke it at its ' +
        'issuer. A secret of an organization is kept (6).',
    ],
    exits: ['conflict', 'unsupported'],
  },
  checkName,
  absent: (name) => ({ name, description: null, scope: null }),
  remove: (server, name) => server.secrets.remove(name),
};

export function declare(command: Command, ctx: Context): void {
  declareNamedList(command, ctx, SECRETS);
  declareSet(command, ctx);
  declareNamedDelete(command, ctx, SECRETS);
}

interface SetOptions {
  fromEnv?: string;
  description?: string;
}

function declareSet(parent: Command, ctx: Context): void {
  const command = parent.command('set').description('create a secret, or replace its value');
  command
    .argument(
      '<name>',
      'letters, digits and _, not beginning with a digit; also NAME=@file and NAME=-',
    )
    .argument('[source]', '@file, or - for stdin; without it acs asks for the value')
    .option('--from-env <NAME>', 'take the value from an environment variable')
    .option('--description <text>', 'the description; without it an existing one is kept');
  explain(command, {
    notes: [
      'The value is read from a file, stdin, the environment or a prompt, never from the ' +
        'command line. A line end after the value is removed. Running conversations keep the ' +
        'value they were started with.',
      'Newer V1 servers replace the value of an existing secret. Where the server cannot, ' +
        'the secret is deleted and created again, and a failure in between loses the old ' +
        'value. A notice says so before the requests are sent.',
      'A secret of an organization ("scope") is not changed: a personal one is stored beside it.',
    ],
    json: ({ objectForm }) => [objectForm(secretView, 'changed')],
    exits: ['conflict', 'unknown-outcome', 'unsupported'],
    examples: {
      'acs secret set NPM_TOKEN --from-env NPM_TOKEN': 'take the value from the environment',
      "acs secret set DEPLOY_KEY @deploy.key --description 'staging only'":
        'take the value from a file',
    },
  });
  command.action(
    async (word: string, argument: string | undefined, { fromEnv, description }: SetOptions) => {
      ctx.out.check(secretView, 'item');
      const at = word.indexOf('=');
      const name = at === -1 ? word : word.slice(0, at);
      const given = [at === -1 ? undefined : word.slice(at + 1), argument].filter(
        (text) => text !== undefined,
      );
      if (given.length + (fromEnv === undefined ? 0 : 1) > 1)
        throw new AppError('usage', 'the value is given twice');
      checkName(name);
      const value = await readValue(ctx, name, given[0], fromEnv);
      if (value === '')
        throw new AppError('usage', `the value of ${name} is empty`, { hint: WAYS });
      ctx.terminal.keepSecret(value);
      await warnOfUnmasked(ctx, name, value);
      const server = await ctx.servers.active();
      const { before, ...secret } = await server.secrets.set({
        name,
        value,
        description: description ?? null,
      });
      if (before === 'present') await ctx.notice(`${name} existed; its value was replaced`);
      await ctx.out.change(secretView, secret, true, `stored ${name}`);
    },
  );
}

const WAYS =
  'give it as @file, as - on stdin, with --from-env NAME, or at the prompt of a terminal';

async function readValue(
  ctx: Context,
  name: string,
  source: string | undefined,
  variable: string | undefined,
): Promise<string> {
  if (variable !== undefined) {
    const value = ctx.local.env[variable];
    if (value !== undefined) return value.replace(/\r?\n$/, '');
    throw new AppError('usage', '--from-env: the variable is not set', { hint: WAYS });
  }
  if (source === undefined) return await promptForSecret(ctx, name, WAYS);
  if (source === '-') return await readText(ctx, '-');
  if (source.startsWith('@') && source.length > 1) return await readText(ctx, source.slice(1));
  throw new AppError('usage', 'a secret value is not accepted on the command line', { hint: WAYS });
}

/** The name is not repeated: it may be the secret itself, in the wrong place. */
function checkName(name: string): void {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return;
  throw new AppError('usage', 'invalid secret name', {
    hint: 'use letters, digits and underscores, not beginning with a digit, such as NPM_TOKEN',
  });
}
