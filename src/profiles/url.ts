import { AppError, type ErrorKind } from '../errors.ts';

/**
 * The URL of a server in the one form it is stored and compared in: http or https, no trailing slash, a path prefix
 * kept. Credentials in it are refused and never repeated: they would end up in logs and in the profile store.
 * @param text as the user gave it
 * @param source what to call it in a message: `--base-url`, `ACS_BASE_URL`
 * @param kind `usage` for a flag, `config` for a variable or a stored value
 */
export function normalizeServerUrl(text: string, source: string, kind: ErrorKind): string {
  const trimmed = text.trim();
  const refuse = (why: string, hint: string) => new AppError(kind, `${source}: ${why}`, { hint });
  if (trimmed === '') throw refuse('the URL is empty', 'give one such as https://acs.example.com');
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed)) {
    throw refuse('the URL has no scheme', 'begin it with https:// (or http:// for a server on this machine)');
  }
  const url = parse(trimmed);
  if (url === null) throw refuse('this is not a URL', 'give one such as https://acs.example.com');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refuse(`${url.protocol}// is not http:// or https://`, 'give one such as https://acs.example.com');
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse('the URL holds a user name or password', 'omit them, and give the key with --api-key-file');
  }
  if (url.search !== '' || url.hash !== '') {
    throw refuse('the URL has a query or fragment', 'give the URL of the server without them');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Scheme, host and port of a normalized URL: what a stored key belongs to. */
export function originOf(url: string): string {
  return new URL(url).origin;
}

function parse(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
