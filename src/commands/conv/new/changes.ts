/** What goes along with --with-changes. */
import type { Context } from '../../context.ts';
import type { CheckoutChanges } from '../../../domain/new-conversation.ts';
import type { Checkout } from '../../../local/checkout/index.ts';
import type { UncommittedFile } from '../../../local/checkout/snapshot.ts';

const MOST_MIB = 10;
const NESTED = 'a nested git repository';

const SECRETS = [
  /^\.env(\.|$)/i,
  /^\.(netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials)$/i,
  /^(id_(rsa|dsa|ecdsa|ed25519)|credentials(\.\w+)?|secrets?\.\w+)$/i,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfvars|tfstate)$/i,
];
const NO_SECRET = /\.(example|sample|template|dist)$/i;

function doubtOf({ name, bytes, isTracked }: UncommittedFile): string | null {
  if (name.endsWith('/')) return NESTED;
  if (bytes === null) return null;
  const file = name.slice(name.lastIndexOf('/') + 1);
  if (SECRETS.some((form) => form.test(file)) && !NO_SECRET.test(file))
    return 'its name is that of a secret';
  const isLarge = !isTracked && bytes > MOST_MIB * 1024 * 1024;
  return isLarge ? `untracked, and larger than ${MOST_MIB} MiB` : null;
}

/** Null: there are none. A doubtful file goes along only where its user says so. */
export async function takeChanges(
  ctx: Context,
  checkout: Checkout,
  unpushed: number | null,
): Promise<CheckoutChanges | null> {
  const taken: string[] = [];
  const { interactive, prompt } = ctx.terminal;
  const isSent = async (reason: string): Promise<boolean> => {
    if (!interactive || ctx.globals.yes === 'given') return interactive;
    return await (await prompt()).confirm({ message: `${reason}. Send it too?` });
  };
  for (const file of await ctx.git.uncommitted(checkout.root)) {
    const why = doubtOf(file);
    const reason = `${Buffer.from(file.name, 'latin1').toString()}: ${why}`;
    if (why === null || (why !== NESTED && (await isSent(reason)))) taken.push(file.name);
    else await ctx.warn(`left out: ${reason}`);
  }
  const number = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
  const parts = [
    ...(unpushed === null || unpushed === 0 ? [] : [number(unpushed, 'unpushed commit')]),
    ...(taken.length === 0 ? [] : [number(taken.length, 'changed file')]),
  ];
  await ctx.notice(`along with it: ${parts.join(' and ') || 'nothing, there are no changes'}`);
  return await ctx.git.snapshot(checkout, taken);
}
