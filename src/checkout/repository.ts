import { AppError } from '../errors.ts';
import { isDrive, parseRemoteUrl, providerOf, type RemoteUrl } from './remote-url.ts';

/** What `--repo` names. */
export type RepositoryChoice =
  /** A folder, relative to the working directory or absolute. */
  | { kind: 'path'; path: string }
  | ({ kind: 'url' } & RemoteUrl)
  /** `owner/name`: which provider has it is the server's to say. */
  | { kind: 'name'; repository: string };

/**
 * Reads `owner/name`, a URL in any form git takes, a path or `.`. A path begins with `.` or `/`, so that `owner/name`
 * never means a folder by accident. Throws `usage` for anything else.
 */
export function parseRepository(text: string): RepositoryChoice {
  const trimmed = text.trim();
  if (/^\.{1,2}($|[\\/])/.test(trimmed) || trimmed.startsWith('/') || isDrive(trimmed))
    return { kind: 'path', path: trimmed };
  const words = /^[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)+$/.test(trimmed) ? trimmed.split('/') : [];
  if (words.length > 2 && providerOf((words[0] ?? '').toLowerCase()) !== null) return asUrl(`https://${trimmed}`, text);
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
  return new AppError('usage', text.trim() === '' ? '--repo is empty' : '--repo: not a repository', {
    hint: 'give owner/name, a URL, a path such as ./name, or . for the current checkout',
  });
}
