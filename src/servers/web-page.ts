/** The address at which a browser shows a conversation. */
import { AppError } from '../errors.ts';
import { asRecord, optionalNumber, ShapeError } from '../protocol/shape.ts';
import { read, type Links, type WebUrl } from './links.ts';
import type { WebPage } from './server.ts';

/**
 * The local service makes a link that is valid once: its pages need no key. Other servers have their web interface.
 * @throws unsupported where the server has neither
 */
export async function webPage({ app, features }: Links, webUrl: WebUrl, id: string): Promise<WebPage> {
  if (features.of('page-links') === 'present') {
    const path = `/local/conversations/${id}/page-link`;
    const answer = await app.request({ method: 'POST', path, safe: 'idempotent' });
    const link = read(answer, readLink);
    return { url: app.baseUrl + link.path, valid_seconds: link.seconds };
  }
  const url = webUrl(id);
  if (url !== null) return { url, valid_seconds: null };
  throw new AppError('unsupported', 'this server has no page of a conversation for a browser', {
    hint: `write one to a file: acs conv export ${id} --as html -o run.html`,
  });
}

function readLink(body: unknown): { path: string; seconds: number | null } {
  const record = asRecord(body, 'link');
  const { path } = record;
  // It becomes part of an address that a browser opens.
  if (typeof path !== 'string' || !/^\/conversations\/[0-9a-f]{32}\?once=[\w-]+$/.test(path)) {
    throw new ShapeError('link.path', 'the path of a page');
  }
  return { path, seconds: optionalNumber(record, 'expires_in_seconds', 'link') };
}
