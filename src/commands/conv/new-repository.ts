/** Which repository and branch a conversation starts on: flags, else the checkout the command runs in. */
import path from 'node:path';
import type { Checkout, RepositoryChoice } from '../../checkout/index.ts';
import type { Context } from '../../context.ts';
import { AppError, isAppError, isNotFound } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { onlyProvider } from '../git-lookups.ts';
import type { NewOptions } from './new-options.ts';

export interface Place {
  repository: string | null;
  branch: string | null;
  git_provider: string | null;
}

const NOWHERE: Place = { repository: null, branch: null, git_provider: null };

type PlaceOptions = Pick<NewOptions, 'repo' | 'branch' | 'gitProvider'>;

/**
 * Throws `not-found` for a folder without a checkout and a branch that the remote does not have, `usage` for what has
 * to be given. Runs git only; no request is sent.
 */
export async function choosePlace(ctx: Context, server: Server, options: PlaceOptions): Promise<Place> {
  if (options.repo === false) return NOWHERE;
  if (options.repo === undefined) return await defaultPlace(ctx, server, options);
  const choice = await ctx.readRepository(options.repo);
  if (choice.kind !== 'path') return await namedPlace(ctx, server, choice, options);
  const checkout = await ctx.checkout(path.resolve(ctx.cwd, choice.path));
  if (checkout === null) {
    throw new AppError('not-found', `no git checkout at ${choice.path}`, { hint: 'nothing was started' });
  }
  if (takesPaths(server)) return await localPlace(ctx, checkout, options);
  if (checkout.origin?.repository == null) {
    throw new AppError('usage', `the checkout at ${choice.path} has no remote "origin" that a server could clone`, {
      hint: 'give --repo owner/name or a URL; the local service clones the checkout itself: -p local',
    });
  }
  return await remotePlace(ctx, server, checkout, options);
}

async function defaultPlace(ctx: Context, server: Server, options: PlaceOptions): Promise<Place> {
  const checkout = await ctx.checkout();
  if (checkout === null) {
    if (options.branch !== undefined)
      throw new AppError('usage', '--branch needs a repository, and the current folder is not a checkout', {
        hint: 'add --repo <repository>',
      });
    await ctx.notice('no git checkout here: the conversation starts without a repository');
    return NOWHERE;
  }
  if (takesPaths(server)) return await announced(ctx, localPlace(ctx, checkout, options));
  if (checkout.origin?.repository == null) {
    await ctx.notice(
      'this checkout has no remote "origin" that a server could clone: the conversation starts without a repository',
    );
    return NOWHERE;
  }
  return await announced(ctx, remotePlace(ctx, server, checkout, options));
}

async function announced(ctx: Context, choosing: Promise<Place>): Promise<Place> {
  const place = await choosing;
  await ctx.notice(
    `repository ${place.repository ?? ''}, branch ${place.branch ?? ''} (the current checkout; --no-repo for none)`,
  );
  return place;
}

/** Such a server clones what it is given: a folder, or a URL. */
function takesPaths(server: Server): boolean {
  return server.presence('local-paths') === 'present';
}

async function localPlace(ctx: Context, checkout: Checkout, options: PlaceOptions): Promise<Place> {
  const branch = await branchOf(ctx, checkout, options);
  await checkBranch(ctx, { remote: checkout.root, branch, shown: checkout.root, dir: checkout.root });
  if (checkout.dirty) await ctx.warn('the checkout has uncommitted changes: the conversation starts without them');
  return { repository: checkout.root, branch, git_provider: null };
}

async function remotePlace(ctx: Context, server: Server, checkout: Checkout, options: PlaceOptions): Promise<Place> {
  const { origin } = checkout;
  const repository = origin?.repository ?? '';
  const branch = await branchOf(ctx, checkout, options);
  const provider =
    options.gitProvider ?? origin?.git_provider ?? (await onlyProvider(server, origin?.host ?? repository));
  await checkBranch(ctx, { remote: 'origin', branch, shown: repository, dir: checkout.root });
  if (checkout.dirty || (checkout.unpushed ?? 0) > 0) {
    const commits = checkout.unpushed ?? 0;
    const left = [
      checkout.dirty ? 'uncommitted changes' : '',
      commits === 0 ? '' : commits === 1 ? '1 unpushed commit' : `${commits} unpushed commits`,
    ];
    await ctx.warn(
      `the checkout has ${left.filter((text) => text !== '').join(' and ')}: the conversation starts without them`,
    );
  }
  return { repository, branch, git_provider: provider };
}

/** A repository by name or URL. Of the checkout's own repository the current branch is meant. */
async function namedPlace(
  ctx: Context,
  server: Server,
  choice: Exclude<RepositoryChoice, { kind: 'path' }>,
  options: PlaceOptions,
): Promise<Place> {
  const own = await ctx.checkout().catch(noneWithoutGit);
  if (own !== null && !takesPaths(server) && isSameRepository(own, choice))
    return await remotePlace(ctx, server, own, options);
  const url = choice.kind === 'url' ? choice.url : null;
  const given = options.gitProvider ?? (choice.kind === 'url' ? choice.git_provider : null);
  const isCloned = takesPaths(server) && url !== null;
  const provider = given ?? (isCloned ? null : await onlyProvider(server, choice.repository ?? url ?? ''));
  if (url !== null && options.branch !== undefined) {
    await checkBranch(ctx, { remote: url, branch: options.branch, shown: url });
  }
  const repository = isCloned ? url : choice.repository;
  if (repository === null) throw new AppError('usage', '--repo: this URL has no owner/name, which the server needs');
  return { repository, branch: options.branch ?? null, git_provider: provider };
}

/** A repository that is given by name needs no checkout: many images of a CI have no git. */
function noneWithoutGit(error: unknown): null {
  if (isAppError(error) && error.details.data?.['program'] === 'git') return null;
  throw error;
}

function isSameRepository({ origin }: Checkout, choice: Exclude<RepositoryChoice, { kind: 'path' }>): boolean {
  if (origin?.repository == null || choice.repository === null) return false;
  if (choice.kind === 'url' && choice.host !== origin.host) return false;
  return origin.repository.toLowerCase() === choice.repository.toLowerCase();
}

async function branchOf(ctx: Context, checkout: Checkout, { branch }: PlaceOptions): Promise<string> {
  const chosen = branch ?? checkout.branch;
  if (chosen !== null) return chosen;
  if (!ctx.interactive) {
    throw new AppError('usage', 'the checkout is on no branch (detached HEAD), and prompts are off', {
      hint: 'add --branch <name>',
    });
  }
  const prompt = await ctx.prompt();
  return await prompt.input({
    message: 'The checkout is on no branch (detached HEAD). Branch',
    validate: (value) => (value.trim() === '' ? 'a branch is needed' : true),
  });
}

/** A remote that git can ask for its branches. */
interface Remote {
  remote: string;
  shown: string;
  dir?: string;
}

/** The error that `choosePlace` will throw for this branch: null for none, or where the remote cannot be read. */
export async function branchProblem(
  ctx: Context,
  server: Server,
  { repo, branch }: { repo: string | undefined; branch: string },
): Promise<string | null> {
  try {
    const place = await remoteOf(ctx, server, repo);
    if (place !== null) await checkBranch(ctx, { ...place, branch });
    return null;
  } catch (error) {
    return notAsked(error);
  }
}

/** What is wrong with an answer is shown beside its question; any other failure comes again, with its own code. */
function notAsked(error: unknown): string | null {
  if (isNotFound(error)) return error.message.replace('; nothing was started', '');
  if (isAppError(error) && error.kind !== 'interrupted') return null;
  throw error;
}

async function remoteOf(ctx: Context, server: Server, repo: string | undefined): Promise<Remote | null> {
  const choice = repo === undefined ? null : await ctx.readRepository(repo);
  if (choice !== null && choice.kind !== 'path')
    return choice.kind === 'url' ? { remote: choice.url, shown: choice.url } : null;
  const checkout = await ctx.checkout(choice === null ? undefined : path.resolve(ctx.cwd, choice.path));
  if (checkout === null) return null;
  const { root: dir, origin } = checkout;
  return takesPaths(server)
    ? { remote: dir, shown: dir, dir }
    : { remote: 'origin', shown: origin?.repository ?? dir, dir };
}

/** Throws `not-found` when the branch is known not to be there; where the remote cannot be read, the server decides. */
async function checkBranch(ctx: Context, { remote, branch, shown, dir }: Remote & { branch: string }): Promise<void> {
  const found = await ctx.branchOnRemote(remote, branch, dir);
  if (found.state !== 'absent') return;
  throw new AppError('not-found', `${shown} has no branch "${branch}"; nothing was started`, {
    hint: remote === 'origin' ? `push it first: git push origin ${branch}` : 'choose another with --branch',
    data: { branch },
  });
}
