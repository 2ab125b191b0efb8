import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { sourceWords } from '../domain/target-sources.ts';
import type { View } from '../output/view.ts';
import { AppError, isAppError } from '../errors.ts';
import type { ResolvedTarget } from '../profiles/resolve.ts';
import { explain } from './declare.ts';
import { identify, IDENTITY_FIELDS, type Identity } from './identity.ts';

export const identityView: View<Identity> = {
  noun: 'identity',
  id: (it) => it.user ?? '',
  fields: IDENTITY_FIELDS,
  table: ['profile', 'base_url', 'dialect', 'version', 'user'],
  tsv: IDENTITY_FIELDS.map((field) => field.name),
};

export function declareWhoami(root: Command, ctx: Context): void {
  const command = root
    .command('whoami')
    .description('show the active server and the signed-in user')
    .action(async () => whoami(ctx));
  explain(command, {
    notes: [
      'Also shows the source of URL and key. The local service is not started: while it is not running the exit code is 10.',
    ],
    json: ({ objectForm }) => [objectForm(identityView)],
    examples: [
      { command: 'acs whoami', does: 'show the active server' },
      { command: 'acs --profile local whoami --json', does: 'show the local service, as JSON' },
    ],
  });
}

async function whoami(ctx: Context): Promise<void> {
  ctx.out.check(identityView, 'item');
  const target = await ctx.target();
  for (const notice of target.notices) await ctx.notice(notice);
  try {
    await ctx.out.item(identityView, await identify(target, ctx));
  } catch (error) {
    throw withSources(error, target);
  }
}

/** A server that does not answer may be the wrong one: the error names the URL, and the sources of URL and key. */
function withSources(error: unknown, target: ResolvedTarget): unknown {
  if (!isAppError(error) || error.kind === 'interrupted' || error.kind === 'internal') return error;
  const { base_url: url, key } = sourceWords(target);
  const hint = `the URL comes from ${url}, ${key === null ? 'no key is used' : `the key from ${key}`}`;
  const { profile, base_url, base_url_source, key_source } = target;
  return new AppError(error.kind, error.message, {
    ...error.details,
    // The error of a refused key names both already.
    hint: error.kind === 'auth' ? error.details.hint : [hint, error.details.hint].filter(Boolean).join('; '),
    data: { ...error.details.data, profile, base_url, base_url_source, key_source },
  });
}
