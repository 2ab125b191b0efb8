import path from 'node:path';
import type { Context } from '../../context.ts';
import { AppError, isAppError, nullIf } from '../../../base/errors.ts';
import type { CheckoutChanges, NewConversation } from '../../../domain/new-conversation.ts';
import type { Checkout, RepositoryChoice } from '../../../local/checkout/index.ts';
import type { UncommittedFile } from '../../../local/checkout/snapshot.ts';
import type { NewOptions } from './options.ts';

export type Chosen = Pick<
  NewConversation,
  'repository' | 'branch' | 'git_provider' | 'workspace' | 'changes'
>;

export const NONE: Chosen = { repository: null, branch: null, git_provider: null };

export function ofOtherRepository(): AppError {
  const text = '--with-changes needs a checkout, and --repo is not the path of one';
  return new AppError('usage', text, { hint: 'leave --repo out, or give the path of a checkout' });
}

/** The branch of a checkout with its changes; null where the remote lacks it. */
export async function branchToClone(
  ctx: Context,
  { branch, root }: Checkout,
  remote: string,
): Promise<string | null> {
  if (branch === null) return null;
  const { state } = await ctx.git.branchOnRemote(remote, branch, root);
  return state === 'absent' ? null : branch;
}

/** At the path that was given, else the current one; null where no flag needs that. */
export async function checkoutAt(
  ctx: Context,
  { branch, withChanges }: Pick<NewOptions, 'branch' | 'withChanges'>,
  given: string | undefined,
): Promise<Checkout | null> {
  const dir = given === undefined ? undefined : path.resolve(ctx.local.cwd, given);
  const checkout = await ctx.git.checkout(dir).catch((error: unknown) => {
    if (!isGitMissing(error)) throw error;
    const hint = 'install git, or give --repo owner/name --branch <name>, or --no-repo';
    throw error.with({ hint });
  });
  if (checkout !== null) return checkout;
  if (given !== undefined)
    throw new AppError('not-found', `no git checkout at ${given}`, { hint: 'nothing was started' });
  const hint = 'add --repo <repository>';
  const lacks = 'needs a repository, and the current folder is not a checkout';
  if (branch !== undefined) throw new AppError('usage', `--branch ${lacks}`, { hint });
  if (withChanges) throw new AppError('usage', `--with-changes ${lacks}`);
  return null;
}

function isGitMissing(error: unknown): error is AppError {
  return isAppError(error) && error.details.data?.['program'] === 'git';
}

export async function warnOfMissing(
  ctx: Context,
  { dirty, submodules }: Checkout,
  unpushed: number,
  start: 'with-changes' | 'without',
): Promise<void> {
  const changes = [
    dirty && 'uncommitted changes',
    unpushed > 0 && (unpushed === 1 ? '1 unpushed commit' : `${unpushed} unpushed commits`),
  ].filter((part) => part !== false);
  const missing = [
    ...(start === 'without' ? changes : []),
    ...(submodules.length > 0 ? [`submodules (${submodules.join(', ')})`] : []),
  ];
  const isFlagNamed = start === 'without' && changes.length > 0;
  const flag = isFlagNamed ? '; --with-changes takes changes along' : '';
  if (missing.length > 0)
    await ctx.warn(
      `the checkout has ${missing.join(' and ')}: the conversation starts without them${flag}`,
    );
}

export async function askForBranch(ctx: Context): Promise<string> {
  if (!ctx.terminal.interactive)
    throw new AppError(
      'usage',
      'missing: --branch, because the checkout is on no branch (detached HEAD)',
      {
        hint: 'add --branch <name>',
        data: { branch: null },
      },
    );
  return await (
    await ctx.terminal.prompt()
  ).input({
    message: 'The checkout is on no branch (detached HEAD). Branch',
    validate: (value) => (value.trim() === '' ? 'a branch is needed' : true),
  });
}

export async function ownCheckout(
  ctx: Context,
  choice: Exclude<RepositoryChoice, { kind: 'path' }>,
): Promise<Checkout | null> {
  // Many CI images have no git; a repository that is given by name needs none.
  const checkout = await ctx.git.checkout().catch(nullIf(isGitMissing));
  const origin = checkout?.origin;
  if (origin == null || origin.repository === null) return null;
  if (choice.kind === 'url' && choice.host !== origin.host) return null;
  const isSame = origin.repository.toLowerCase() === choice.repository?.toLowerCase();
  return isSame ? checkout : null;
}

/** Throws `not-found`. Where git cannot read the remote, the server decides. */
export async function checkBranch(
  ctx: Context,
  {
    remote,
    branch,
    shown,
    dir,
    head,
  }: {
    remote: string;
    /** Null: that of its HEAD, which is not checked. */
    branch: string | null;
    shown: string;
    dir?: string;
    head?: string | null;
  },
): Promise<void> {
  if (branch === null) return;
  const found = await ctx.git.branchOnRemote(remote, branch, dir);
  if (found.state !== 'absent') return;
  if (head === null)
    throw new AppError('not-found', `${dir} has no commit yet; nothing was started`, {
      hint: 'commit first, or add --with-changes or --no-repo',
      data: { branch },
    });
  throw new AppError('not-found', `${shown} has no branch "${branch}"; nothing was started`, {
    hint:
      remote === 'origin'
        ? `push it first: git push origin ${branch}`
        : 'choose another with --branch',
    data: { branch },
  });
}

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
