/** Lists, `acs api` and `conv open`. */
import { expect } from 'vitest';
import {
  agentServerOf,
  endedRun,
  errorOf,
  expectCode,
  inEachDialect,
  json,
  newest,
  ok,
  relayTo,
  show,
  started,
  until,
  type ConversationJson,
  type ListJson,
} from '../support.ts';
import type { ContractCase, Dialect, Target } from '../target.ts';

const WANTED = 25;

const list = async (target: Target, ...flags: string[]): Promise<ListJson<ConversationJson>> =>
  json(await ok(target, 'conv', 'list', '--json', ...flags));

/**
 * Conversations without a message, past acs, until there are enough; and none is on its way any
 * more.
 */
async function fill(target: Target): Promise<void> {
  const replay = target.hasModel ? {} : { replay_json: 'demo' };
  if (target.dialects.includes('agent')) {
    for (let missing = WANTED; missing > 0; missing--)
      expectCode(await target.acs('conv', 'new', 'QUICK please', '--no-repo'), 0);
    return;
  }
  const isV1 = newest(target) === 'v1';
  const path = isV1 ? '/api/v1/app-conversations' : '/api/conversations';
  const body = isV1 ? { sandbox_id: await target.sandbox(), ...replay } : replay;
  await until(
    `${WANTED} conversations`,
    async () => {
      const missing = WANTED - (await list(target, '--all-pages')).items.length;
      if (missing <= 0) return true;
      const starts = Array.from({ length: Math.min(missing, 5) }, () =>
        target.request('POST', path, body),
      );
      // A server whose database is busy refuses some of them.
      const taken = (await Promise.all(starts)).filter(({ status }) => status === 200);
      if (isV1)
        await untilStarted(
          target,
          taken.map((start) => (start.body as { id: string }).id),
        );
      return false;
    },
    300_000,
  );
}

/**
 * After an error of its database a server may leave a start as it is for ever: it makes no
 * conversation any more.
 */
async function untilStarted(target: Target, tasks: readonly string[]): Promise<void> {
  await until(
    'the end of all starts',
    async () => (await underWay(target, tasks)) === 0,
    120_000,
  ).catch(() => undefined);
}

/** How many of these V1 starts have not come to their end. */
async function underWay(target: Target, tasks: readonly string[]): Promise<number> {
  if (tasks.length === 0) return 0;
  const query = tasks.map((id) => `ids=${id}`).join('&');
  const { body } = await target.request('GET', `/api/v1/app-conversations/start-tasks?${query}`);
  return (body as { status: string }[]).filter(
    ({ status }) => status !== 'READY' && status !== 'ERROR',
  ).length;
}

const idsOf = ({ items }: ListJson<ConversationJson>): string => items.map(({ id }) => id).join();

/**
 * The first page, read while the order did not change: servers update the time of a record when its
 * sandbox reports a start.
 */
async function pageOfAll(
  target: Target,
): Promise<Record<'page' | 'all', ListJson<ConversationJson>>> {
  let [page, all] = [await list(target, '-L', '10'), await list(target, '--all-pages')];
  await until('a list whose order stands', async () => {
    const before = idsOf(all);
    [page, all] = [await list(target, '-L', '10'), await list(target, '--all-pages')];
    return idsOf(all) === before;
  });
  return { page, all };
}

interface Selected {
  all: ConversationJson[];
  such: ConversationJson[];
  status: string;
}

/**
 * The list by a status, while nothing changed: a busy sandbox returns no status for some seconds.
 */
async function selectedByStatus(target: Target): Promise<Selected> {
  const states = (items: ConversationJson[]): string =>
    JSON.stringify(items.map(({ id, status }) => [id, status]));
  let selected: Selected = { all: [], such: [], status: '' };
  await until('lists of the same state', async () => {
    const all = (await list(target, '--all-pages')).items;
    // The list is not compared: that of V0 does not have the outcome of a run.
    const status = all.find((one) => one.status !== 'starting')?.status ?? '';
    const such = (await list(target, '--all-pages', '--status', status)).items;
    selected = { all, such, status };
    return states(all) === states((await list(target, '--all-pages')).items);
  });
  return selected;
}

/** Those with a repository; one is made when there is none. */
async function clonedOnes(target: Target): Promise<ConversationJson[]> {
  const found = async (): Promise<ConversationJson[]> =>
    (await list(target, '--all-pages', '--repo', '*hello*')).items;
  const known = await found();
  if (known.length > 0) return known;
  await started(target, newest(target), 'QUICK', ...target.repository.flags, '--wait');
  return found();
}

export const LISTS: ContractCase[] = [
  {
    name: 'list: 25 conversations with limit 10, and all of them, each once',
    async run(target) {
      await fill(target);
      const { page, all } = await pageOfAll(target);
      expect(page.items).toHaveLength(10);
      expect(page.has_more).toBe(true);
      expect(all.has_more).toBe(false);
      expect(all.items.length).toBeGreaterThanOrEqual(WANTED);
      expect(new Set(all.items.map(({ id }) => id)).size).toBe(all.items.length);
      expect(all.items.slice(0, 10).map(({ id }) => id)).toEqual(page.items.map(({ id }) => id));
    },
  },
  {
    name: 'list: filters by status, repository and age, and has the values of show',
    async run(target) {
      const cloned = await clonedOnes(target);
      const { all, such, status } = await selectedByStatus(target);
      expect(such.length).toBeGreaterThan(0);
      expect(such.every((one) => one.status === status)).toBe(true);
      expect(such).toHaveLength(all.filter((one) => one.status === status).length);
      expect(cloned.length).toBeGreaterThan(0);
      expect(cloned.every(({ repository }) => repository !== null)).toBe(true);
      expect((await list(target, '--older-than', '1d')).items).toEqual([]);
      const [one] = cloned;
      expect(json(await ok(target, 'conv', 'show', one?.id ?? '', '--json')).title).toBe(
        one?.title,
      );
    },
  },
  // After the other lists, which read all conversations.
  ...[250, 5_000].map((count): ContractCase => ({
    name: `list: ${count.toLocaleString('en')} conversations, each once, a page of 100 at a time`,
    async run(target) {
      if (target.fill === undefined)
        return { notHere: 'so many conversations are made on the local service alone' };
      await target.fill(count);
      const { relay, env } = await relayTo(target);
      try {
        const args = ['conv', 'list', '--all-pages', '--json'];
        const { items, has_more } = json<ListJson<ConversationJson>>(
          expectCode(await target.invoke({ args, env }), 0),
        );
        expect(has_more).toBe(false);
        expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
        expect(items.length).toBeGreaterThanOrEqual(count);
        const pages = relay.requests.filter((request) => /conversations/.test(request)).length;
        expect(pages).toBeLessThanOrEqual(
          target.dialects.length * (Math.ceil(items.length / 100) + 1),
        );
        const newestTen = json<ListJson<ConversationJson>>(
          await target.invoke({ args: ['conv', 'list', '-L', '10', '--json'], env }),
        );
        expect(newestTen.items).toEqual(items.slice(0, 10));
      } finally {
        await relay.close();
      }
    },
  })),
];

const LIST_PATHS = {
  agent: '/api/conversations/search',
  v1: '/api/v1/app-conversations/search',
  v0: '/api/conversations',
};

interface PageJson {
  items?: { id: string }[];
  results?: { conversation_id: string }[];
  next_page_id: string | null;
}

const idsInPage = ({ items, results }: PageJson): string[] =>
  (items?.map(({ id }) => id) ?? results?.map((each) => each.conversation_id) ?? []).sort();

/**
 * Of all pages, read past acs: a server with both dialects omits some of its items from V0's pages.
 */
async function listed(target: Target, route: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let page: string | null = ''; page !== null;) {
    const query: string = page === '' ? '' : `&page_id=${encodeURIComponent(page)}`;
    const body = (await target.request('GET', `${route}?limit=${limit}${query}`)).body as PageJson;
    ids.push(...idsInPage(body));
    page = body.next_page_id;
  }
  return [...new Set(ids)].sort();
}

async function readsAllPages(target: Target, dialect: Dialect): Promise<void> {
  await endedRun(target, dialect, 'QUICK');
  await endedRun(target, dialect, 'WORK');
  const route = ['api', 'GET', LIST_PATHS[dialect]];
  // A few pages: V0 of 1.6.0 lists conversations again on most pages of one.
  const count = (await listed(target, LIST_PATHS[dialect], 100)).length;
  const limit = Math.min(100, Math.max(1, Math.floor(count / 4)));
  const paged = ['-f', `limit=${limit}`];
  const one = json<PageJson>(await ok(target, ...route, ...paged, '--json'));
  const all = json<PageJson>(await ok(target, ...route, ...paged, '--paginate'));
  expect(one.next_page_id).not.toBeNull();
  expect(all.next_page_id).toBeNull();
  expect(idsInPage(all)).toEqual(await listed(target, LIST_PATHS[dialect], limit));
  expect(idsInPage(all).length).toBeGreaterThan(1);
  const selected = await ok(
    target,
    ...route,
    ...paged,
    '--paginate',
    '--jq',
    '(.items // .results) | length',
  );
  expect(selected.out).toBe(`${idsInPage(all).length}\n`);
}

export const CALLING: readonly ContractCase[] = [
  ...inEachDialect(
    'api: --paginate reads every item of a list once, and --jq selects from it',
    readsAllPages,
  ),
  {
    name:
      'api: no session key is printed, a wrong request is exit 2 with the body of its ' +
      'answer, and -H takes no key',
    async run(target) {
      const dialect = newest(target);
      const id = await endedRun(target, dialect, 'QUICK');
      const answer =
        dialect === 'v1'
          ? await ok(target, 'api', 'GET', '/api/v1/sandboxes/search', '-f', 'limit=100')
          : await ok(target, 'api', 'GET', `/api/conversations/${id}`);
      const { key } = dialect === 'v1' ? await agentServerOf(target, id) : target;
      expect(answer.out).not.toContain(key);
      const wrong = await target.acs('api', 'GET', LIST_PATHS[dialect], '-f', 'limit=x');
      expectCode(wrong, 2);
      expect(wrong.out).toContain('limit');
      const refused = await target.acs(
        'api',
        'GET',
        LIST_PATHS[dialect],
        '-H',
        'X-Session-API-Key: abc',
        '--json',
      );
      expect(errorOf(expectCode(refused, 2)).message).toContain('is a secret');
    },
  },
];

async function makesLinks(target: Target): Promise<boolean> {
  return json<{ features: string[] }>(await ok(target, 'whoami', '--json')).features.includes(
    'page-links',
  );
}

export const OPENING: ContractCase[] = [
  ...inEachDialect(
    'open: prints the address of the page alone, with no key in it',
    async (target, dialect) => {
      const id = await endedRun(target, dialect, 'QUICK');
      if (!(await makesLinks(target)) && (await show(target, id)).url === null) {
        expectCode(await target.acs('conv', 'open', id), 12);
        return 'unsupported';
      }
      const { out, err } = await ok(target, 'conv', 'open', id);
      expect(err).toBe('');
      expect(out).not.toContain(target.key);
      const page = `${target.env.ACS_BASE_URL ?? ''}/conversations/${id}`;
      if (!(await makesLinks(target))) {
        // The page that the record names, in the web interface of the server.
        expect(out).toBe(`${page}\n`);
        expect((await show(target, id)).url).toBe(page);
        expect(json(await ok(target, 'conv', 'open', id, '--json'))).toEqual({ id, url: page });
        return;
      }
      const link = out.trim();
      expect(link).toMatch(new RegExp(`^${page}\\?once=[\\w-]{43}$`));
      const opened = await fetch(link, { redirect: 'manual' });
      expect(opened.status).toBe(303);
      const cookie = opened.headers.get('set-cookie')?.replace(/;.*/, '') ?? '';
      const shown = await fetch(page, { headers: { cookie } });
      expect({ status: shown.status, text: await shown.text() }).toEqual({
        status: 200,
        text: expect.stringContaining('Done at once.') as string,
      });
      expect((await fetch(page)).status).toBe(401);
      expect((await fetch(link, { redirect: 'manual' })).status).toBe(403);
    },
  ),
];
