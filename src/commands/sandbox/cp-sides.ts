/** The two sides of a copy, as they were given. */
import { AppError } from '../../errors.ts';

/** `-` is stdin or stdout. */
export type Side = { at: 'sandbox'; id: string; path: string } | { at: 'here'; path: string } | { at: 'stream' };

/** A path of this machine with a colon is written with a slash before it, as for scp: `./a:b`. */
export function readSide(text: string): Side {
  if (text === '-') return { at: 'stream' };
  if (text === '') throw new AppError('usage', 'a path is empty', { hint: 'the current folder is .' });
  // Of a URL with an id, the colons of the scheme and the port are part of the id.
  const url = /^https?:\/\/[^/:]+(?::\d+)?\/[^:]+(?=:)/.exec(text)?.[0];
  const colon = url?.length ?? text.indexOf(':');
  if (colon <= 0 || (url === undefined && text.slice(0, colon).includes('/'))) return { at: 'here', path: text };
  return { at: 'sandbox', id: text.slice(0, colon), path: text.slice(colon + 1) || '.' };
}

export type Route =
  | { way: 'download'; from: Extract<Side, { at: 'sandbox' }>; to: Exclude<Side, { at: 'sandbox' }> }
  | { way: 'upload'; from: Exclude<Side, { at: 'sandbox' }>; to: Extract<Side, { at: 'sandbox' }> };

export function readRoute(source: string, target: string): Route {
  const from = readSide(source);
  const to = readSide(target);
  const hint = 'for example: acs sandbox cp @last:report.md .   acs sandbox cp data.csv @last:data/';
  if (from.at === 'sandbox' && to.at === 'sandbox') {
    throw new AppError('usage', 'both sides name a sandbox; one of them has to be on this machine', {
      hint: 'a path of this machine with a colon needs a slash before it: ./a:b',
    });
  }
  if (from.at === 'sandbox' && to.at !== 'sandbox') return { way: 'download', from, to };
  if (from.at !== 'sandbox' && to.at === 'sandbox') return { way: 'upload', from, to };
  throw new AppError('usage', 'no side names a sandbox: one of them has to be <id>:<path>', { hint });
}
