/** What `acs api` sends its request to: a path below the URL of the server, which no text can lead elsewhere. */
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { isSecretName } from '../../text/secret-names.ts';

/** A path with its query, or a URL that has to be one of the server. */
export type Address = { path: string } | { url: string };

/** Throws `usage` for a text that may mean another place than it names. */
export function addressOf(text: string): Address {
  const bad = /[\x00-\x20\x7f-\xa0\u2028\u2029\\#]/.exec(text)?.[0];
  if (bad !== undefined) {
    const code = (bad.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const what = bad === '\\' || bad === '#' ? `"${bad}"` : bad === ' ' ? 'a space' : `the character U+${code}`;
    throw new AppError('usage', `a path with ${what} is not sent`, { hint: 'in a value of the query write it as %XX' });
  }
  checkQuery(text);
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const [pathname = ''] = (isUrl ? text.replace(/^[^/]*\/\/[^/?]*/, '') : text).split('?');
  // An encoded dot counts as a dot.
  if (pathname.split('/').some((part) => /^\.{1,2}$/.test(part.replace(/%2e/gi, '.')))) {
    throw new AppError('usage', 'a path with the parts "." or ".." is not sent', {
      hint: 'write the path that is meant',
    });
  }
  if (isUrl) return { url: text };
  if (text === '' || text.startsWith('//')) {
    throw new AppError('usage', text === '' ? 'the path is empty' : 'a path begins with one slash: "//" names a host', {
      hint: 'write a path such as /api/v1/users/me',
    });
  }
  return { path: text.startsWith('/') ? text : `/${text}` };
}

function checkQuery(text: string): void {
  const [, query = ''] = text.split(/\?(.*)/s);
  const name = [...new URLSearchParams(query)].find(([key, value]) => value !== '' && isSecretName(key))?.[0];
  if (name === undefined) return;
  throw new AppError('usage', `${name} is a secret, which is not accepted on the command line`, {
    hint: `write -F ${name}=@<file>, or -F ${name}=@- for stdin`,
  });
}

/**
 * Connects to the active server. Throws `usage` for a URL of another server: before any request, unless the URL of the
 * local service is known only after its start.
 */
export async function relativeTo(address: Address, ctx: Context): Promise<{ server: Server; path: string }> {
  if ('path' in address) return { server: await ctx.server(), path: address.path };
  const { base_url, key, local, base_url_source, key_source, notices } = await ctx.target();
  if (base_url === null) {
    const server = await ctx.server();
    return { server, path: pathBelow(server.info.base_url, address.url) };
  }
  const path = pathBelow(base_url, address.url);
  for (const notice of notices) await ctx.notice(notice);
  const server = await ctx.connect({ base_url, key, local, sources: { base_url_source, key_source } });
  return { server, path };
}

function pathBelow(baseUrl: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const base = new URL(baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const isOfServer = url?.origin === base.origin && url.username === '' && url.password === '';
  if (url === null || !isOfServer || !`${url.pathname}/`.startsWith(`${prefix}/`)) {
    throw new AppError('usage', 'the URL does not begin with that of the active server', {
      hint: `the key is sent only to ${baseUrl}; choose the server with --profile or --base-url`,
    });
  }
  const below = url.pathname.slice(prefix.length);
  return (below === '' ? '/' : below) + url.search;
}
