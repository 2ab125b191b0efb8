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
    return { url: `${app.baseUrl}/conversations/${id}?once=${link.token}`, valid_seconds: link.seconds };
  }
  const url = webUrl(id);
  if (url !== null) return { url, valid_seconds: null };
  throw new AppError('unsupported', 'this server has no page of a conversation for a browser', {
    hint: `write one to a file: acs conv export ${id} --as html -o run.html`,
  });
}

function readLink(body: unknown): { token: string; seconds: number | null } {
  const record = asRecord(body, 'link');
  const { token } = record;
  // It becomes part of an address that a browser opens.
  if (typeof token !== 'string' || !/^[\w-]+$/.test(token)) throw new ShapeError('link.token', 'a token');
  return { token, seconds: optionalNumber(record, 'expires_in_seconds', 'link') };
}
