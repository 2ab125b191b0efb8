import path from 'node:path';
import type { Context } from '../../context.ts';
import { AppError, isAppError, isFailure } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { NewConversation } from '../../../domain/new-conversation.ts';
import type { Checkout, RepositoryChoice } from '../../../local/checkout/index.ts';
import { derivedContext } from '../../shared/derived-context.ts';
import { onlyProvider } from '../../repo.ts';
import type { NewOptions } from './options.ts';

type Chosen = Pick<NewConversation, 'repository' | 'branch' | 'git_provider'>;
type RepositoryOptions = Pick<NewOptions, 'repo' | 'branch' | 'gitProvider'>;

const NONE: Chosen = { repository: null, branch: null, git_provider: null };

/**
 * Throws `not-found` for a missing checkout or a branch that the remote lacks, `usage` for what has
 * to be given.
 */
export async function chooseRepository(
  ctx: Context,
  server: Server,
  options: RepositoryOptions,
): Promise<Chosen> {
  const { repo } = options;
  if (repo === false) return NONE;
  const choice = repo === undefined ? null : await ctx.git.readRepository(repo);
  if (choice !== null && choice.kind !== 'path')
    return await namedRepository(ctx, server, choice, options);
  const dir = choice === null ? undefined : path.resolve(ctx.local.cwd, choice.path);
  const checkout = await ctx.git.checkout(dir).catch((error: unknown) => {
    if (!isGitMissing(error)) throw error;
    const hint = 'install git, or give --repo owner/name --branch <name>, or --no-repo';
    throw new AppError(error.kind, error.message, { ...error.details, hint });
  });
  const cloned = checkout !== null && isCloneable(server, checkout);
  if (!cloned && choice !== null)
    throw checkout === null
      ? new AppError('not-found', `no git checkout at ${choice.path}`, {
          hint: 'nothing was started',
        })
      : new AppError(
          'usage',
          `the checkout at ${choice.path} has no remote "origin" that a server could clone`,
          {
            hint:
              'give --repo owner/name or a URL; the local service clones the checkout ' +
              'itself: -p local',
          },
        );
  if (checkout === null && options.branch !== undefined)
    throw new AppError(
      'usage',
      '--branch needs a repository, and the current folder is not a checkout',
      {
        hint: 'add --repo <repository>',
      },
    );
  if (!cloned) {
    const why =
      checkout === null
        ? 'no git checkout here'
        : 'this checkout has no remote "origin" that a server could clone';
    await ctx.notice(`${why}: the conversation starts without a repository`);
    return NONE;
  }
  const chosen = await ofCheckout(ctx, server, checkout, options);
  if (choice === null)
    await ctx.notice(
      `repository ${chosen.repository ?? ''}, branch ${chosen.branch ?? ''} (the current ` +
        `checkout; --no-repo for none)`,
    );
  return chosen;
}

function isGitMissing(error: unknown): error is AppError {
  return isAppError(error) && error.details.data?.['program'] === 'git';
}

/** Such a server clones what it is given: a folder, or a URL. */
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
  const { root, origin, dirty, submodules } = checkout;
  const isPath = clonesPaths(server);
  const branch = given ?? checkout.branch ?? (await askForBranch(ctx));
  const repository = isPath ? root : (origin?.repository ?? '');
  const provider = gitProvider ?? origin?.git_provider;
  const git_provider = isPath
    ? null
    : (provider ?? (await onlyProvider(server, origin?.host ?? repository)));
  await checkBranch(ctx, {
    remote: isPath ? root : 'origin',
    branch,
    shown: repository,
    dir: root,
  });
  const commits = isPath ? 0 : (checkout.unpushed ?? 0);
  const left = [
    ...(dirty ? ['uncommitted changes'] : []),
    ...(commits === 0 ? [] : [commits === 1 ? '1 unpushed commit' : `${commits} unpushed commits`]),
    // No server clones them.
    ...(submodules.length === 0 ? [] : [`submodules (${submodules.join(', ')})`]),
  ];
  if (left.length > 0)
    await ctx.warn(`the checkout has ${left.join(' and ')}: the conversation starts without them`);
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
  const url = choice.kind === 'url' ? choice.url : null;
  const isPath = clonesPaths(server);
  if (!isPath) {
    // Many CI images have no git; a repository that is given by name needs none.
    const own = await ctx.git.checkout().catch((error: unknown) => {
      if (isGitMissing(error)) return null;
      throw error;
    });
    const name = own?.origin?.repository?.toLowerCase();
    const isHost = choice.kind !== 'url' || choice.host === own?.origin?.host;
    if (own !== null && name !== undefined && name === choice.repository?.toLowerCase() && isHost)
      return await ofCheckout(ctx, server, own, options);
  }
  const isCloned = isPath && url !== null;
  const repository = isCloned ? url : choice.repository;
  if (repository === null)
    throw new AppError('usage', '--repo: this URL has no owner/name, which the server needs');
  const given = options.gitProvider ?? (choice.kind === 'url' ? choice.git_provider : null);
  const git_provider = given ?? (isCloned ? null : await onlyProvider(server, repository));
  if (url !== null && branch !== null) await checkBranch(ctx, { remote: url, branch, shown: url });
  return { repository, branch, git_provider };
}

/**
 * Of an entered branch, or of an entered repository without one. Null where nothing is wrong, or
 * nothing is known.
 */
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

/**
 * Throws `not-found` when the remote does not have the branch; where git cannot read the remote,
 * the server decides.
 */
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
