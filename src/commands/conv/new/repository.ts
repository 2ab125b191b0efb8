import path from 'node:path';
import type { Context } from '../../context.ts';
import { AppError, isFailure } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { Checkout, RepositoryChoice } from '../../../local/checkout/index.ts';
import { derivedContext } from '../../shared/derived-context.ts';
import { onlyProvider } from '../../repo.ts';
import {
  askForBranch,
  branchToClone,
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

type RepositoryOptions = Pick<
  NewOptions,
  'repo' | 'branch' | 'gitProvider' | 'workspace' | 'withChanges' | 'dependencies'
>;

export async function chooseRepository(
  ctx: Context,
  server: Server,
  options: RepositoryOptions,
): Promise<Chosen> {
  if (options.dependencies === false && !clonesPaths(server))
    throw new AppError('unsupported', 'this server copies no dependencies (--no-dependencies)');
  if (server.info.dialect !== 'agent') return await chooseCloned(ctx, server, options);
  return await (await import('./workspace.ts')).chooseWorkspace(ctx, options);
}

/** Throws `not-found` for a missing checkout or branch, `usage` for what has to be given. */
async function chooseCloned(
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
  if (checkout === null) refuseWithoutCheckout(options);
  if (checkout === null || !isCloneable(server, checkout)) {
    const why = checkout === null ? 'no git checkout here' : `this checkout ${NO_REMOTE}`;
    await ctx.notice(`${why}: the conversation starts without a repository`);
    if (checkout === null || options.withChanges !== true) return NONE;
    return { ...NONE, changes: await takeChanges(ctx, checkout, null) };
  }
  const chosen = await ofCheckout(ctx, server, checkout, options);
  await ctx.notice(
    `repository ${chosen.repository}, branch ${chosen.branch ?? 'of its HEAD'} ` +
      '(the current checkout; --no-repo for none)',
  );
  return chosen;
}

function clonesPaths(server: Server): boolean {
  return server.presence('local-paths') === 'present';
}

export function isCloneable(server: Server, { origin }: Checkout): boolean {
  const isOfBackend = server.info.dialect === 'agent';
  return isOfBackend || clonesPaths(server) || origin?.repository != null;
}

async function ofCheckout(
  ctx: Context,
  server: Server,
  checkout: Checkout,
  { branch: given, gitProvider, withChanges = false }: RepositoryOptions,
): Promise<Chosen> {
  const { root, origin, head } = checkout;
  const name = origin?.repository ?? '';
  const own = clonesPaths(server)
    ? {
        repository: root,
        git_provider: null,
        remote: root,
        unpushed: 0,
        // The local service takes those of this disk, and reports the others.
        missing: { ...checkout, submodules: [] },
      }
    : {
        repository: name,
        git_provider:
          gitProvider ?? origin?.git_provider ?? (await onlyProvider(server, origin?.host ?? name)),
        remote: 'origin',
        unpushed: checkout.unpushed ?? 0,
        missing: checkout,
      };
  const { repository, git_provider, remote, unpushed, missing } = own;
  if (!withChanges) {
    const branch = given ?? checkout.branch ?? (await askForBranch(ctx));
    await checkBranch(ctx, { remote, branch, shown: repository, dir: root, head });
    await warnOfMissing(ctx, missing, unpushed, 'without');
    return { repository, branch, git_provider };
  }
  const branch = await branchToClone(ctx, checkout, remote);
  await warnOfMissing(ctx, missing, unpushed, 'with-changes');
  const changes = await takeChanges(ctx, checkout, unpushed);
  const isAhead = !clonesPaths(server) && (branch === null || unpushed > 0);
  const isNeeded = changes !== null && (isAhead || changes.commit !== head);
  return { repository, branch, git_provider, ...(isNeeded && { changes }) };
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
  if (options.withChanges) throw ofOtherRepository();
  const url = choice.kind === 'url' ? choice.url : null;
  const isCloned = isPath && url !== null;
  const repository = isCloned ? url : choice.repository;
  if (repository === null)
    throw new AppError('usage', '--repo: this URL has no owner/name, which the server needs');
  const provider = options.gitProvider ?? (choice.kind === 'url' ? choice.git_provider : null);
  const git_provider = provider ?? (isCloned ? null : await onlyProvider(server, repository));
  if (url !== null) await checkBranch(ctx, { remote: url, branch, shown: url });
  return { repository, branch, git_provider };
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
    const chosen = await chooseRepository(quiet, server, options);
    const { repository, git_provider, workspace } = chosen;
    const isKnown = repository === null || workspace?.kind === 'checkout';
    if (options.branch !== undefined || isKnown) return null;
    if (git_provider === null) {
      const url = workspace?.kind === 'clone' ? workspace.url : repository;
      const found = await ctx.git.branchOnRemote(url, 'HEAD');
      return found.state === 'unknown' ? `git cannot read ${url}` : null;
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
