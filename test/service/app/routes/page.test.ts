import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createPages } from '../../../../src/service/app/pages.ts';
import { appOfSuite, conversationOfEachDialect, KEY, type Answer } from '../support.ts';

const app = appOfSuite();
let id: string;
let other: string;
beforeAll(() => {
  const ids = conversationOfEachDialect(app);
  id = ids.v1;
  other = ids.v0;
});

const get = (target: string, headers: Record<string, string> = {}): Promise<Answer> =>
  app.call('GET', target, undefined, headers);

async function newLink(of = id): Promise<string> {
  const { status, body } = await app.call('POST', `/local/conversations/${of}/page-link`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ expires_in_seconds: 60 });
  return `/conversations/${of}?once=${(body as { token: string }).token}`;
}

/** The cookie that a new link gives. */
async function newCookie(of = id): Promise<string> {
  const answer = await get(await newLink(of));
  return /^[^;]+/.exec(answer.headers.get('set-cookie') ?? '')?.[0] ?? '';
}

describe('the link to the page of a conversation', () => {
  it('is made for a client with the key, for a conversation of either dialect', async () => {
    expect(await newLink()).toMatch(new RegExp(`^/conversations/${id}\\?once=[\\w-]{43}$`));
    expect(await newLink(other)).toContain(`/conversations/${other}?once=`);
    const target = `/local/conversations/${id}/page-link`;
    expect((await app.call('POST', target, undefined, {})).status).toBe(401);
    expect(
      (await app.call('POST', `/local/conversations/${'f'.repeat(32)}/page-link`)).status,
    ).toBe(404);
  });

  it('is exchanged for a cookie of this page alone, and leads to the address without the token', async () => {
    const answer = await get(await newLink());
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(`/conversations/${id}`);
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const [value, ...attributes] = (answer.headers.get('set-cookie') ?? '').split('; ');
    expect(value).toMatch(/^acs_page=[\w-]{43}$/);
    expect(attributes.sort()).toEqual([
      'HttpOnly',
      'Max-Age=43200',
      `Path=/conversations/${id}`,
      'SameSite=Strict',
    ]);
  });

  it('is refused the second time, and where it is of another conversation', async () => {
    const link = await newLink();
    await get(link);
    const again = await get(link, { Cookie: await newCookie() });
    expect(again.status).toBe(403);
    expect(again.body).toContain('The link was used before, or is older than 60 seconds.');
    expect(again.body).toContain(`<code>acs conv open ${id}</code>`);
    const elsewhere = (await newLink()).replace(id, other);
    expect(await get(elsewhere)).toMatchObject({ status: 403 });
    for (const target of [
      `/conversations/${id}?once=`,
      `/conversations/${id}?once=x`,
      '/conversations/..%2Fx?once=x',
    ]) {
      expect([target, (await get(target)).status]).toEqual([target, 403]);
    }
  });
});

describe('the page of a conversation', () => {
  let cookie: string;
  beforeEach(async () => {
    cookie = await newCookie();
  });

  it('is served with the cookie, with headers that keep it from other pages', async () => {
    const { status, headers, body } = await get(`/conversations/${id}`, { Cookie: cookie });
    expect(status).toBe(200);
    expect(body).toContain('<h1 id="title">');
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  it.each(['', '/steps', '/live'])(
    '%j is refused without the cookie, in words that name the command',
    async (rest) => {
      const all: Record<string, string>[] = [
        {},
        { Cookie: 'acs_page=' },
        { Cookie: 'acs_page=x' },
        { Cookie: `acs_page=${KEY}` },
      ];
      for (const headers of all) {
        const answer = await get(`/conversations/${id}${rest}`, headers);
        expect(answer.status).toBe(401);
        expect(answer.body).toContain(`<code>acs conv open ${id}</code>`);
        expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      }
    },
  );

  it.each(['', '/steps', '/live'])(
    '%j of another conversation is refused with the cookie',
    async (rest) => {
      expect((await get(`/conversations/${other}${rest}`, { Cookie: cookie })).status).toBe(401);
      expect(
        (await get(`/conversations/${'f'.repeat(32)}${rest}`, { Cookie: cookie })).status,
      ).toBe(401);
    },
  );

  it('gives no access to the interface: its cookie is no key', async () => {
    for (const target of [
      `/api/conversations/${id}`,
      `/api/v1/app-conversations?ids=${id}`,
      `/api/v1/conversation/${id}/events/search`,
      '/api/v1/sandboxes/search',
      '/local/activity',
    ]) {
      const value = cookie.replace('acs_page=', '');
      const all: Record<string, string>[] = [
        { Cookie: cookie },
        { 'X-Session-API-Key': value },
        { Authorization: `Bearer ${value}` },
      ];
      for (const headers of all) {
        expect([target, (await get(target, headers)).status]).toEqual([target, 401]);
      }
    }
    const link = `/local/conversations/${id}/page-link`;
    expect((await app.call('POST', link, undefined, { Cookie: cookie })).status).toBe(401);
  });

  it('is refused for another host name, a foreign origin, and the page of another port', async () => {
    const target = `/conversations/${id}`;
    const status = async (headers: Record<string, string>, rest = '') =>
      (await get(target + rest, { Cookie: cookie, ...headers })).status;
    expect(await status({ Host: 'rebound.example:3000' })).toBe(403);
    expect(await status({ Origin: 'https://evil.example' })).toBe(403);
    for (const rest of ['', '/steps', '/live']) {
      expect(
        await status({ 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'no-cors' }, rest),
      ).toBe(401);
      expect(await status({ 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' }, rest)).toBe(
        401,
      );
    }
    expect(await status({ 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'navigate' })).toBe(
      200,
    );
    expect(await status({ 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' })).toBe(200);
  });

  it('of a conversation that was deleted states that', async () => {
    const gone = 'd'.repeat(32);
    app.store.conversations.insert({
      ...(app.store.conversations.get(id) ?? expect.fail()),
      id: gone,
    });
    const allowed = await newCookie(gone);
    app.store.conversations.remove(gone);
    const answer = await get(`/conversations/${gone}`, { Cookie: allowed });
    expect(answer.status).toBe(404);
    expect(answer.body).toContain('This conversation does not exist');
  });
});

describe('the tokens of pages', () => {
  const time = { ms: 1_000_000 };
  const pages = createPages({ now: () => time.ms });
  const [a, b] = ['a'.repeat(32), 'b'.repeat(32)];

  it('have one use each: a link opens no page, a session no further one, and neither of another conversation', () => {
    const link = pages.createLink(a);
    expect([pages.isAllowed(a, link), pages.openSession(b, link)]).toEqual([false, null]);
    const session = pages.openSession(a, link) ?? '';
    expect([pages.isAllowed(a, session), pages.isAllowed(b, session)]).toEqual([true, false]);
    expect([pages.openSession(a, session), pages.openSession(a, link)]).toEqual([null, null]);
    for (const token of ['', 'x', '\0', 'x'.repeat(100_000)]) {
      expect([pages.openSession(a, token), pages.isAllowed(a, token)]).toEqual([null, false]);
    }
  });

  it('end: that of a link after 60 seconds, that of a session after 12 hours', () => {
    const late = pages.createLink(a);
    const session = pages.openSession(a, pages.createLink(a)) ?? '';
    time.ms += 60_000 - 1;
    expect(pages.openSession(a, pages.createLink(a))).not.toBeNull();
    time.ms += 1;
    expect(pages.openSession(a, late)).toBeNull();
    time.ms += (12 * 3600 - 60) * 1000 - 1;
    expect(pages.isAllowed(a, session)).toBe(true);
    time.ms += 1;
    expect(pages.isAllowed(a, session)).toBe(false);
  });
});

it('a viewer gets changes before a call of next() once, is counted until it leaves, and ends with the service', async () => {
  const pages = createPages({ now: () => 0 });
  const [one, other] = [pages.join(), pages.join()];
  for (let count = 0; count < 2; count++) pages.notify();
  expect(await Promise.all([one.next(), other.next()])).toEqual(['changed', 'changed']);
  const next = one.next();
  one.leave();
  expect([await next, await one.next(), pages.viewers()]).toEqual(['left', 'left', 1]);
  pages.notify();
  pages.close();
  expect([await other.next(), await pages.join().next()]).toEqual(['service-ends', 'service-ends']);
});
