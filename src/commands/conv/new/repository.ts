import type { Context } from '../../context.ts';
import { AppError, isFailure } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import type { Workspace } from '../../../domain/new-conversation.ts';
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
  takeChanges,
  warnOfMissing,
  type Chosen,
} from './checkout.ts';
import type { NewOptions } from './options.ts';

type RepositoryOptions = Pick<
  NewOptions,
  'repo' | 'branch' | 'gitProvider' | 'workspace' | 'withChanges' | 'dependencies'
>;

type NamedChoice = Exclude<RepositoryChoice, { kind: 'path' }>;

const FRESH: Chosen = { ...NONE, workspace: { kind: 'fresh' } };

type Choose<From> = (
  ctx: Context,
  from: From,
  options: RepositoryOptions,
  server: Server,
  given?: string,
) => Promise<Chosen>;

/** By where the conversations of a server run: on its own machine, or in sandboxes. */
const PLACES: Record<
  'agent' | 'others',
  {
    none: Chosen;
    /** How a conversation without a checkout starts. */
    start: string;
    ofName: Choose<NamedChoice>;
    ofCheckout: Choose<Checkout>;
  }
> = {
  agent: {
    none: FRESH,
    start: 'in a new folder',
    ofName: cloneOfNamed,
    ofCheckout: worktreeOf,
  },
  others: {
    none: NONE,
    start: 'without a repository',
    ofName: namedRepository,
    ofCheckout: cloneOfCheckout,
  },
};

/** Throws `not-found` for a missing checkout or branch, `usage` for what has to be given. */
export async function chooseRepository(
  ctx: Context,
  server: Server,
  options: RepositoryOptions,
): Promise<Chosen> {
  const { repo, dependencies, workspace } = options;
  if (dependencies === false && !clonesPaths(server))
    throw new AppError('unsupported', 'this server copies no dependencies (--no-dependencies)');
  if (workspace !== undefined) return await inFolder(ctx, workspace);
  const place = PLACES[server.info.dialect === 'agent' ? 'agent' : 'others'];
  if (repo === false) return place.none;
  const choice = repo === undefined ? null : await ctx.git.readRepository(repo);
  if (choice !== null && choice.kind !== 'path')
    return await place.ofName(ctx, choice, options, server);
  const checkout = await checkoutAt(ctx, options, choice?.path);
  if (checkout !== null)
    return await place.ofCheckout(ctx, checkout, options, server, choice?.path);
  await ctx.notice(`no git checkout here: the conversation starts ${place.start}`);
  return place.none;
}

/** Of --workspace. */
async function inFolder(ctx: Context, folder: string): Promise<Chosen> {
  if (!folder.startsWith('/'))
    throw new AppError('usage', "--workspace must be an absolute path of the server's machine");
  await ctx.notice(`works in the folder ${folder} itself, on the server's machine`);
  return { ...NONE, workspace: { kind: 'folder', path: folder } };
}

async function cloneOfCheckout(
  ctx: Context,
  checkout: Checkout,
  options: RepositoryOptions,
  server: Server,
  given?: string,
): Promise<Chosen> {
  if (isCloneable(server, checkout)) {
    const chosen = await ofCheckout(ctx, server, checkout, options);
    if (given === undefined)
      await ctx.notice(
        `repository ${chosen.repository}, branch ${chosen.branch ?? 'of its HEAD'} ` +
          '(the current checkout; --no-repo for none)',
      );
    return chosen;
  }
  const lacks = 'has no remote "origin" that a server could clone';
  if (given !== undefined)
    throw new AppError('usage', `the checkout at ${given} ${lacks}`, {
      hint:
        'give --repo owner/name or a URL; the local service clones the checkout itself: ' +
        '-p local',
    });
  await ctx.notice(`this checkout ${lacks}: the conversation starts without a repository`);
  return options.withChanges ? { ...NONE, changes: await takeChanges(ctx, checkout, null) } : NONE;
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
  choice: NamedChoice,
  options: RepositoryOptions,
  server: Server,
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

/** At a server that runs conversations on its own machine. */
async function worktreeOf(
  ctx: Context,
  checkout: Checkout,
  { branch: given, withChanges }: RepositoryOptions,
): Promise<Chosen> {
  const { root, head, origin } = checkout;
  const repository = origin?.repository ?? root;
  const url = origin?.url ?? null;
  const worktreeAt = (commit: string): Workspace => ({
    kind: 'checkout',
    root,
    commit,
    url,
    unpushed: checkout.unpushed ?? 0,
    prove: () => ctx.git.prove(root),
  });
  const noticeBranch = (branch: string) =>
    ctx.notice(`repository ${repository}, branch ${branch} (--no-repo for none)`);
  if (withChanges) {
    const changes = await takeChanges(ctx, checkout, null);
    if (head === null) return { ...FRESH, changes };
    const { branch } = checkout;
    await noticeBranch(branch ?? 'of its HEAD');
    await warnOfMissing(ctx, checkout, 0, 'with-changes');
    return { repository, branch, git_provider: null, changes, workspace: worktreeAt(head) };
  }
  const branch = given ?? checkout.branch ?? (await askForBranch(ctx));
  const commit = branch === checkout.branch ? head : await ctx.git.branchCommit(branch, root);
  await noticeBranch(branch);
  const chosen = { repository, branch, git_provider: null };
  if (commit === null)
    return { ...chosen, workspace: await cloneOfRemote(ctx, { root, url, branch }) };
  await warnOfMissing(ctx, checkout, 0, 'without');
  return { ...chosen, workspace: worktreeAt(commit) };
}

/** For a branch that the checkout lacks. Throws `not-found` when its remote lacks it, too. */
async function cloneOfRemote(
  ctx: Context,
  { root, url, branch }: { root: string; url: string | null; branch: string },
): Promise<Workspace> {
  const read = () => ctx.git.branchOnRemote('origin', branch, root);
  if (url === null || (await read()).state !== 'present')
    throw new AppError(
      'not-found',
      `${root} has no commit on a branch "${branch}"; nothing was started`,
      { hint: 'choose another with --branch, or commit first', data: { branch } },
    );
  await ctx.notice(`branch ${branch} is only at the remote: the server clones ${url}`);
  return { kind: 'clone', url };
}

async function cloneOfNamed(
  ctx: Context,
  choice: NamedChoice,
  options: RepositoryOptions,
): Promise<Chosen> {
  const own = await ownCheckout(ctx, choice);
  if (options.withChanges) {
    if (own === null) throw ofOtherRepository();
    return await worktreeOf(ctx, own, options);
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

function hostedUrl(repository: string, { gitProvider = 'github' }: RepositoryOptions): string {
  const host = HOSTS[gitProvider];
  if (host !== undefined) return `https://${host}/${repository}.git`;
  const text = `the host of ${gitProvider} is not known: give --repo with a URL`;
  throw new AppError('usage', text);
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
