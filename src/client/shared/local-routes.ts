/** What only the local service has, below `/local`, and what other servers have in its place. */
import { AppError } from '../../base/errors.ts';
import { asRecord, optionalNumber, optionalText, ShapeError } from '../../protocol/shape.ts';
import { read, webUrl, type Links } from './links.ts';
import type { WebPage } from './server.ts';

/** The local service makes a link for one use. Throws `unsupported` where a server has no pages. */
export async function webPage(links: Links, id: string, url = webUrl(links, id)): Promise<WebPage> {
  const { app, facts } = links;
  if (facts.features['page-links'] === 'present') {
    const path = `/local/conversations/${id}/page-link`;
    const answer = await app.request({ method: 'POST', path, safe: 'idempotent' });
    return read(answer, (body) => {
      const link = asRecord(body, 'link');
      // It becomes part of an address that a browser opens.
      if (typeof link['token'] !== 'string' || !/^[\w-]+$/.test(link['token']))
        throw new ShapeError('link.token', 'a token');
      return {
        url: `${app.baseUrl}/conversations/${id}?once=${link['token']}`,
        valid_seconds: optionalNumber(link, 'expires_in_seconds', 'link'),
      };
    });
  }
  if (url !== null) return { url, valid_seconds: null };
  throw new AppError('unsupported', 'this server has no page of a conversation for a browser', {
    hint: `write one to a file: acs conv export ${id} --as html -o run.html`,
  });
}

/** What conversations of V0 and of V1 have alike. */
export function appConversations(links: Links) {
  return {
    async storedPatch(id: string): Promise<string> {
      const answer = await links.app.request({ path: `/local/conversations/${id}/changes` });
      const patch = (body: unknown) => optionalText(asRecord(body, 'changes'), 'patch', 'changes');
      return read(answer, patch) ?? '';
    },
    webPage: (id: string) => webPage(links, id),
    removeWorktree() {
      const message = 'a conversation of this server has no worktree: its files are in its sandbox';
      const hint = 'delete the sandbox too: --with-sandbox';
      return Promise.reject(new AppError('unsupported', message, { hint }));
    },
  };
}
