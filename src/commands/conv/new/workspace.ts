/** Where a conversation works at a server that runs it on its own machine. */
import path from 'node:path';
import type { Context } from '../../context.ts';
import { AppError } from '../../../base/errors.ts';
import type { Workspace } from '../../../domain/new-conversation.ts';
import type { Checkout, RepositoryChoice } from '../../../local/checkout/index.ts';
import {
  askForBranch,
  checkBranch,
  checkoutAt,
  NONE,
  ofOtherRepository,
  ownCheckout,
  refuseWithoutCheckout,
  warnOfMissing,
  type Chosen,
} from './checkout.ts';
import { takeChanges } from './changes.ts';
import type { NewOptions } from './options.ts';

const FRESH: Chosen = { ...NONE, workspace: { kind: 'fresh' } };

/** Throws `not-found` for a missing checkout or branch, `usage` for what has to be given. */
export async function chooseWorkspace(ctx: Context, options: NewOptions): Promise<Chosen> {
  const { repo, workspace } = options;
  if (workspace !== undefined) {
    if (!workspace.startsWith('/'))
      throw new AppError('usage', "--workspace must be an absolute path of the server's machine");
    await ctx.notice(`works in the folder ${workspace} itself, on the server's machine`);
    return { ...NONE, workspace: { kind: 'folder', path: workspace } };
  }
  if (repo === false) return FRESH;
  const choice = repo === undefined ? null : await ctx.git.readRepository(repo);
  if (choice !== null && choice.kind !== 'path') return await toClone(ctx, choice, options);
  const at = choice === null ? undefined : path.resolve(ctx.local.cwd, choice.path);
  const checkout = await checkoutAt(ctx, at);
  if (checkout !== null) return await ofCheckout(ctx, checkout, options);
  if (choice !== null)
    throw new AppError('not-found', `no git checkout at ${choice.path}`, {
      hint: 'nothing was started',
    });
  refuseWithoutCheckout(options);
  await ctx.notice('no git checkout here: the conversation starts in a new folder');
  return FRESH;
}

async function ofCheckout(
  ctx: Context,
  checkout: Checkout,
  { branch: given, withChanges }: NewOptions,
): Promise<Chosen> {
  const { root, head, origin } = checkout;
  const changes = withChanges === true ? await takeChanges(ctx, checkout, null) : null;
  if (withChanges && head === null) return { ...FRESH, changes };
  const branch = given ?? checkout.branch ?? (withChanges ? null : await askForBranch(ctx));
  const url = origin?.url ?? null;
  const repository = origin?.repository ?? root;
  const chosen = { repository, branch, git_provider: null, changes };
  const isCurrent = branch === null || branch === checkout.branch;
  const commit = isCurrent ? head : await ctx.git.branchCommit(branch, root);
  await ctx.notice(
    `repository ${repository}, branch ${branch ?? 'of its HEAD'} (--no-repo for none)`,
  );
  if (commit === null)
    return { ...chosen, workspace: await cloneOfRemote(ctx, { root, url, branch }) };
  await warnOfMissing(ctx, checkout, 0, withChanges ? 'with-changes' : 'without');
  const workspace: Workspace = {
    kind: 'checkout',
    root,
    commit,
    url,
    unpushed: checkout.unpushed ?? 0,
    prove: () => ctx.git.prove(root),
  };
  return { ...chosen, workspace };
}

/** For a branch that the checkout lacks. Throws `not-found` when its remote lacks it, too. */
async function cloneOfRemote(
  ctx: Context,
  { root, url, branch }: { root: string; url: string | null; branch: string | null },
): Promise<Workspace> {
  const read = () => ctx.git.branchOnRemote('origin', branch ?? '', root);
  if (url === null || (await read()).state !== 'present')
    throw new AppError(
      'not-found',
      `${root} has no commit on a branch "${branch}"; nothing was started`,
      { hint: 'choose another with --branch, or commit first', data: { branch } },
    );
  await ctx.notice(`branch ${branch} is only at the remote: the server clones ${url}`);
  return { kind: 'clone', url };
}

async function toClone(
  ctx: Context,
  choice: Exclude<RepositoryChoice, { kind: 'path' }>,
  options: NewOptions,
): Promise<Chosen> {
  const own = await ownCheckout(ctx, choice);
  if (options.withChanges) {
    if (own === null) throw ofOtherRepository();
    return await ofCheckout(ctx, own, options);
  }
  const branch = options.branch ?? own?.branch ?? null;
  const named = choice.kind === 'url' ? choice.url : hostedUrl(choice.repository, options);
  const url = own?.origin?.url ?? named;
  await checkBranch(
    ctx,
    own === null
      ? { remote: url, branch, shown: url }
      : { remote: 'origin', branch, shown: url, dir: own.root },
  );
  await ctx.notice(`repository ${url}, branch ${branch ?? 'of its HEAD'}`);
  const repository = choice.repository ?? url;
  return { repository, branch, git_provider: null, workspace: { kind: 'clone', url } };
}

const HOSTS: Readonly<Record<string, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
  forgejo: 'codeberg.org',
};

function hostedUrl(repository: string, { gitProvider = 'github' }: NewOptions): string {
  const host = HOSTS[gitProvider];
  if (host !== undefined) return `https://${host}/${repository}.git`;
  const text = `the host of ${gitProvider} is not known: give --repo with a URL`;
  throw new AppError('usage', text);
}
