import path from 'node:path';
import type { Context } from '../../context.ts';
import { AppError, isAppError, isFailure, nullIf } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { NewConversation } from '../../../domain/new-conversation.ts';
import type { Checkout, RepositoryChoice } from '../../../local/checkout/index.ts';
import { derivedContext } from '../../shared/derived-context.ts';
import { onlyProvider } from '../../repo.ts';
import type { NewOptions } from './options.ts';

type Chosen = Pick<NewConversation, 'repository' | 'branch' | 'git_provider'>;
type RepositoryOptions = Pick<NewOptions, 'repo' | 'branch' | 'gitProvider'>;

const NONE: Chosen = { repository: null, branch: null, git_provider: null };

/** Throws `not-found` for a missing checkout or branch, `usage` for what has to be given. */
export async function chooseRepository(
  ctx: Context,
  server: Server,
  options: RepositoryOptions,
): Promise<Chosen> {
  const { repo } = options;
  if (repo === false) return NONE;
  if (repo === undefined) return await currentRepository(ctx, server, options);
  const choice = await ctx.git.readRepository(repo);
  if (choice.kind !== 'path') return await namedRepository(ctx, server, choice, options);
  const checkout = await checkoutAt(ctx, path.resolve(ctx.local.cwd, choice.path));
  if (checkout === null)
    throw new AppError('not-found', `no git checkout at ${choice.path}`, {
      hint: 'nothing was started',
    });
  if (isCloneable(server, checkout)) return await ofCheckout(ctx, server, checkout, options);
  const text = `the checkout at ${choice.path} ${NO_REMOTE}`;
  throw new AppError('usage', text, {
    hint: 'give --repo owner/name or a URL; the local service clones the checkout itself: -p local',
  });
}

const NO_REMOTE = 'has no remote "origin" that a server could clone';

async function currentRepository(
  ctx: Context,
  server: Server,
  options: RepositoryOptions,
): Promise<Chosen> {
  const checkout = await checkoutAt(ctx);
  if (checkout === null && options.branch !== undefined) {
    const text = '--branch needs a repository, and the current folder is not a checkout';
    throw new AppError('usage', text, { hint: 'add --repo <repository>' });
  }
  if (checkout === null || !isCloneable(server, checkout)) {
    const why = checkout === null ? 'no git checkout here' : `this checkout ${NO_REMOTE}`;
    await ctx.notice(`${why}: the conversation starts without a repository`);
    return NONE;
  }
  const chosen = await ofCheckout(ctx, server, checkout, options);
  await ctx.notice(
    `repository ${chosen.repository}, branch ${chosen.branch} (the current checkout; ` +
      '--no-repo for none)',
  );
  return chosen;
}

async function checkoutAt(ctx: Context, dir?: string): Promise<Checkout | null> {
  return await ctx.git.checkout(dir).catch((error: unknown) => {
    if (!isGitMissing(error)) throw error;
    const hint = 'install git, or give --repo owner/name --branch <name>, or --no-repo';
    throw new AppError(error.kind, error.message, { ...error.details, hint });
  });
}

function isGitMissing(error: unknown): error is AppError {
  return isAppError(error) && error.details.data?.['program'] === 'git';
}

function clonesPaths(server: Server): boolean {
  return server.presence('local-paths') === 'present';
}

export function isCloneable(server: Server, { origin }: Checkout): boolean {
  return clonesPaths(server) || origin?.repository != null;
}

async function ofCheckout(
  ctx: Context,
  server: Server,
  checkout: Checkout,
  { branch: given, gitProvider }: RepositoryOptions,
): Promise<Chosen> {
  const { root, origin, submodules } = checkout;
  const branch = given ?? checkout.branch ?? (await askForBranch(ctx));
  const name = origin?.repository ?? '';
  const own = clonesPaths(server)
    ? { repository: root, git_provider: null, remote: root, unpushed: 0 }
    : {
        repository: name,
        git_provider:
          gitProvider ?? origin?.git_provider ?? (await onlyProvider(server, origin?.host ?? name)),
        remote: 'origin',
        unpushed: checkout.unpushed ?? 0,
      };
  const { repository, git_provider, remote, unpushed } = own;
  await checkBranch(ctx, { remote, branch, shown: repository, dir: root });
  const missing = [
    checkout.dirty && 'uncommitted changes',
    unpushed > 0 && (unpushed === 1 ? '1 unpushed commit' : `${unpushed} unpushed commits`),
    // No server clones them.
    submodules.length > 0 && `submodules (${submodules.join(', ')})`,
  ].filter((part) => part !== false);
  if (missing.length > 0)
    await ctx.warn(
      `the checkout has ${missing.join(' and ')}: the conversation starts without them`,
    );
  return { repository, branch, git_provider };
}

async function askForBranch(ctx: Context): Promise<string> {
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

/** For the checkout's own repository the current branch is the default. */
async function namedRepository(
  ctx: Context,
  server: Server,
  choice: Exclude<RepositoryChoice, { kind: 'path' }>,
  options: RepositoryOptions,
): Promise<Chosen> {
  const { branch = null } = options;
  const isPath = clonesPaths(server);
  const own = isPath ? null : await ownCheckout(ctx, choice);
  if (own !== null) return await ofCheckout(ctx, server, own, options);
  const url = choice.kind === 'url' ? choice.url : null;
  const isCloned = isPath && url !== null;
  const repository = isCloned ? url : choice.repository;
  if (repository === null)
    throw new AppError('usage', '--repo: this URL has no owner/name, which the server needs');
  const provider = options.gitProvider ?? (choice.kind === 'url' ? choice.git_provider : null);
  const git_provider = provider ?? (isCloned ? null : await onlyProvider(server, repository));
  if (url !== null && branch !== null) await checkBranch(ctx, { remote: url, branch, shown: url });
  return { repository, branch, git_provider };
}

async function ownCheckout(
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

/** Why the entered branch or repository cannot be used; null where no reason is known. */
export async function repositoryProblem(
  ctx: Context,
  server: Server,
  options: RepositoryOptions,
): Promise<string | null> {
  const silent = (): Promise<void> => Promise.resolve();
  const quiet = derivedContext(ctx, {
    notice: silent,
    warn: silent,
    terminal: { interactive: false },
  });
  try {
    const { repository, git_provider } = await chooseRepository(quiet, server, options);
    if (options.branch !== undefined || repository === null) return null;
    if (git_provider === null) {
      const found = await ctx.git.branchOnRemote(repository, 'HEAD');
      return found.state === 'unknown' ? `git cannot read ${repository}` : null;
    }
    // Servers return an empty list for a repository that does not exist.
    const { items } = await server.git.branches({ git_provider, repository }, null, 1);
    return items.length === 0 ? `${git_provider} lists no branch of ${repository}` : null;
  } catch (error) {
    if (!isFailure(error)) throw error;
    // The branch is a question of its own.
    const isLater = options.branch === undefined && error.details.data?.['branch'] !== undefined;
    const kinds = options.branch === undefined ? ['usage', 'not-found'] : ['not-found'];
    if (isLater || !kinds.includes(error.kind)) return null;
    return error.message.replace(/^--repo: |; nothing was started$/g, '');
  }
}

/** Throws `not-found`. Where git cannot read the remote, the server decides. */
async function checkBranch(
  ctx: Context,
  { remote, branch, shown, dir }: { remote: string; branch: string; shown: string; dir?: string },
): Promise<void> {
  const found = await ctx.git.branchOnRemote(remote, branch, dir);
  if (found.state !== 'absent') return;
  throw new AppError('not-found', `${shown} has no branch "${branch}"; nothing was started`, {
    hint:
      remote === 'origin'
        ? `push it first: git push origin ${branch}`
        : 'choose another with --branch',
    data: { branch },
  });
}
