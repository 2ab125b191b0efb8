import { AppError } from '../../base/errors.ts';

export interface RemoteUrl {
  /** No password, and no user name where it is a credential. */
  url: string;
  /** Lower case, without a port; null for a path. */
  host: string | null;
  /** `owner/name`, with the groups between them; null for a path. */
  repository: string | null;
  /** Null when the host does not show it. */
  git_provider: string | null;
}

const PROVIDERS: Record<string, string> = {
  'github.com': 'github',
  'www.github.com': 'github',
  'ssh.github.com': 'github',
  'gitlab.com': 'gitlab',
  'altssh.gitlab.com': 'gitlab',
  'bitbucket.org': 'bitbucket',
  'altssh.bitbucket.org': 'bitbucket',
  'codeberg.org': 'forgejo',
  'dev.azure.com': 'azure_devops',
  'ssh.dev.azure.com': 'azure_devops',
  'vs-ssh.visualstudio.com': 'azure_devops',
};

export function providerOf(host: string): string | null {
  if (host.endsWith('.visualstudio.com')) return 'azure_devops';
  return Object.hasOwn(PROVIDERS, host) ? (PROVIDERS[host] ?? null) : null;
}

export function parseRemoteUrl(text: string): RemoteUrl | null {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.startsWith('-') || /[\x00-\x1f\x7f]/.test(trimmed)) return null;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed)) return parseUrl(trimmed);
  const scp = /^(?:[^@/\s:]+@)?([^:/\s@]+|\[[^\]]+\]):(?!\/\/)(.+)$/.exec(trimmed);
  if (scp && !isDrive(trimmed)) {
    const [, host = '', path = ''] = scp;
    return describe(trimmed, host.toLowerCase(), path);
  }
  return { url: trimmed, host: null, repository: null, git_provider: null };
}

export function isDrive(text: string): boolean {
  return /^[a-z]:[\\/]/i.test(text);
}

function parseUrl(text: string): RemoteUrl | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol === 'file:')
    return { url: `file://${url.pathname}`, host: null, repository: null, git_provider: null };
  if (url.hostname === '') return null;
  // `git@` of ssh is an account name that everybody shares; over http the user name may be the
  // token itself.
  const user = url.protocol === 'ssh:' || url.protocol === 'git+ssh:' ? url.username : '';
  const shown = `${url.protocol}//${user === '' ? '' : `${user}@`}${url.host}${url.pathname}`;
  return describe(shown, url.hostname.toLowerCase(), safeDecode(url.pathname));
}

function describe(url: string, host: string, path: string): RemoteUrl {
  const parts = path.split('/').filter((part) => part !== '');
  const name = parts.pop()?.replace(/\.git$/, '') ?? '';
  const provider = providerOf(host);
  const groups = provider === 'azure_devops' ? azureGroups(host, parts) : parts;
  const repository = groups.length > 0 && name !== '' ? [...groups, name].join('/') : null;
  return { url, host, repository, git_provider: provider };
}

/**
 * `org/project/_git/name` over https, `v3/org/project/name` over ssh, and the organisation in the
 * host of the old form.
 */
function azureGroups(host: string, parts: string[]): string[] {
  const groups = parts.filter((part, index) => part !== '_git' && !(part === 'v3' && index === 0));
  const organization = /^(?!vs-ssh\.)([^.]+)\.visualstudio\.com$/.exec(host)?.[1];
  return organization === undefined
    ? groups
    : [organization, ...groups.filter((part) => part !== 'DefaultCollection')];
}

function safeDecode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export type RepositoryChoice =
  | { kind: 'path'; path: string }
  | ({ kind: 'url' } & RemoteUrl)
  /** `owner/name`: the server knows which provider has it. */
  | { kind: 'name'; repository: string };

/** A path begins with `.` or `/`: `owner/name` is no folder. Throws `usage` for all else. */
export function parseRepository(text: string): RepositoryChoice {
  const trimmed = text.trim();
  if (/^(\/|\.{1,2}($|[\\/]))/.test(trimmed) || isDrive(trimmed))
    return { kind: 'path', path: trimmed };
  const words = /^[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)+$/.test(trimmed) ? trimmed.split('/') : [];
  if (words.length > 2 && providerOf((words[0] ?? '').toLowerCase()) !== null)
    return asUrl(`https://${trimmed}`, text);
  if (words.length > 1 && words.every((word) => !/^\.+$/.test(word) && !word.startsWith('-'))) {
    return { kind: 'name', repository: trimmed.replace(/\.git$/, '') };
  }
  if (trimmed.includes(':')) return asUrl(trimmed, text);
  throw unreadable(text);
}

function asUrl(url: string, text: string): RepositoryChoice {
  const parsed = parseRemoteUrl(url);
  if (parsed === null) throw unreadable(text);
  return { kind: 'url', ...parsed };
}

/** The text is not repeated: it may be a URL with a token in it. */
function unreadable(text: string): AppError {
  return new AppError(
    'usage',
    text.trim() === '' ? '--repo is empty' : '--repo: not a repository',
    {
      hint: 'give owner/name, a URL, a path such as ./name, or . for the current checkout',
    },
  );
}
