/**
 * What a conversation may name as its repository, and what git is given for it. Pure but for looking at a local path.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Provider } from '../../../protocol/v1/requests.ts';

/** Where a repository comes from. */
export interface RepositorySource {
  /** What git clones. */
  url: string;
  /** True for a folder of this machine. */
  isLocal: boolean;
  /** Folder name of the checkout. */
  name: string;
  /** The provider's own host, to which its token may go; null: no token is used. */
  origin: string | null;
  /**
   * `user:password` that the URL held. They are not in `url`: a command line is shown, and the checkout is the agent's.
   */
  credentials: string | null;
}

/** The request names no repository that git could clone; the message has the reason. */
export class RepositoryError extends Error {
  override readonly name = 'RepositoryError';
}

/** Hosts of the providers, as the web client's configuration names them. */
export const PROVIDER_HOSTS: Partial<Record<Provider, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
  forgejo: 'codeberg.org',
  azure_devops: 'dev.azure.com',
};

const SCHEMES = /^(?:https?|ssh|git|file):\/\//i;
const SCP_LIKE = /^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:(?!\/\/)\S+$/;
const OWNER_AND_NAME = /^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~ -]+)+$/;

/**
 * Parses a repository: an absolute path, a URL, `user@host:path`, or `owner/name` at a provider.
 * @param host the provider's own host, when its user gave one
 * @throws RepositoryError
 */
export function repositorySource(given: string, provider: Provider | null, host: string | null): RepositorySource {
  if (given.startsWith('-') || /[\u0000-\u001f\u007f]/.test(given)) {
    throw new RepositoryError(`'${shownRepository(given).slice(0, 100)}' is not the name of a repository`);
  }
  if (path.isAbsolute(given)) {
    if (!existsSync(given)) throw new RepositoryError(`the repository ${given} does not exist`);
    return { url: given, isLocal: true, name: folderName(given), origin: null, credentials: null };
  }
  if (SCHEMES.test(given)) {
    const { url, credentials } = takenApart(given);
    const base = provider === null ? null : providerBase(provider, host);
    // A token goes to the host it was given for, whatever the request names.
    const origin = base !== null && url.toLowerCase().startsWith(`${base.toLowerCase()}/`) ? base : null;
    return { url, isLocal: /^file:/i.test(given), name: folderName(given), origin, credentials };
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(given) && given.includes('://')) {
    throw new RepositoryError(`git may not clone over '${given.slice(0, given.indexOf(':'))}' here`);
  }
  if (SCP_LIKE.test(given)) {
    return { url: given, isLocal: false, name: folderName(given), origin: null, credentials: null };
  }
  if (!OWNER_AND_NAME.test(given)) {
    throw new RepositoryError(`'${shownRepository(given).slice(0, 200)}' is not an absolute path, a URL or owner/name`);
  }
  return atProvider(given, provider, host);
}

/** Whether a text has the form of a repository, wherever that may be. */
export function isRepositoryForm(given: string): boolean {
  return path.isAbsolute(given) || SCHEMES.test(given) || SCP_LIKE.test(given) || OWNER_AND_NAME.test(given);
}

export function isOwnerAndName(given: string): boolean {
  return !path.isAbsolute(given) && !SCHEMES.test(given) && !SCP_LIKE.test(given) && OWNER_AND_NAME.test(given);
}

/** Whether it could be anywhere: `owner/name` alone names no host. */
export function isPlaced(given: string, provider: Provider | null): boolean {
  return isRepositoryForm(given) && (provider !== null || !isOwnerAndName(given));
}

function atProvider(given: string, provider: Provider | null, host: string | null): RepositorySource {
  if (provider === null) {
    throw new RepositoryError(`'${given}' names no host: give its git_provider, a URL or an absolute path`);
  }
  const base = providerBase(provider, host);
  if (base === null) throw new RepositoryError(`the host of ${provider} is not known: give a URL`);
  const parts = given.split('/').map(encodeURIComponent);
  // organisation/project/repository
  if (provider === 'azure_devops' && parts.length === 3) parts.splice(2, 0, '_git');
  const ending = provider === 'azure_devops' ? '' : '.git';
  const url = `${base}/${parts.join('/')}${ending}`;
  return { url, isLocal: false, name: folderName(given), origin: base, credentials: null };
}

/** The address of a provider, with its scheme; null: unknown. */
export function providerBase(provider: Provider, host: string | null): string | null {
  const known = host ?? PROVIDER_HOSTS[provider];
  if (known === undefined) return null;
  return /^https?:\/\//i.test(known) ? known.replace(/\/+$/, '') : `https://${known.replace(/\/+$/, '')}`;
}

/** A URL without the user and password in it. A user alone is not a secret, and git prompts for its password. */
function takenApart(given: string): { url: string; credentials: string | null } {
  const found = /^(https?:\/\/)([^/?#@]*:[^/?#]*)@(.*)$/i.exec(given);
  const [, scheme = '', secret = '', rest = ''] = found ?? [];
  if (!URL.canParse(scheme + rest)) return { url: given, credentials: null };
  return { url: scheme + rest, credentials: decoded(secret) };
}

/**
 * A repository as it may be kept and shown: without user and password. The user of an ssh address is part of it.
 */
export function shownRepository(given: string): string {
  const found = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@(.*)$/is.exec(given);
  if (found === null) {
    // A slash in a password ends the host, and git will not get anywhere with it; it is a password all the same.
    return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*:(?!\d*(?:[/?#]|$)).*@/is.test(given)
      ? given.replace(/^([a-z0-9+.-]+:\/\/).*@/is, '$1')
      : given;
  }
  const [, scheme = '', who = '', rest = ''] = found;
  const user = who.replace(/:.*$/s, '');
  return /^(?:git\+)?ssh:/i.test(scheme) && user !== '' ? `${scheme}${user}@${rest}` : scheme + rest;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The last part of a path or URL, as `git clone` would name the folder. */
function folderName(given: string): string {
  const last = given
    .replace(/[/\\]+$/, '')
    .replace(/[/\\]\.git$/, '')
    .split(/[/\\:]/)
    .at(-1);
  const name = (last ?? '').replace(/\.git$/, '').replace(/[^A-Za-z0-9._-]+/g, '-');
  return /^\.*$/.test(name) ? 'repository' : name;
}

/** A branch name that git could know; a wrong one is refused before anything is started. */
export function isBranchName(name: string): boolean {
  return (
    name !== '' &&
    !/^[-/.]|[/.]$|\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)|[\u0000-\u0020\u007f~^:?*[\\]/.test(name) &&
    name !== '@'
  );
}
