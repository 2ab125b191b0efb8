/** `acs api`: requests of the user, and `--jq` on what they answer. */
import { expect } from 'vitest';
import {
  endedRun,
  errorOf,
  expectCode,
  finished,
  inEachDialect,
  json,
  newest,
  ok,
  agentServerOf,
} from '../support.ts';
import type { ContractCase, Dialect, Target } from '../target.ts';

const LISTS = { v1: '/api/v1/app-conversations/search', v0: '/api/conversations' };

interface PageJson {
  items?: { id: string }[];
  results?: { conversation_id: string }[];
  next_page_id: string | null;
}

const idsOf = ({ items, results }: PageJson): string[] =>
  (items?.map(({ id }) => id) ?? results?.map((each) => each.conversation_id) ?? []).sort();

/**
 * Of all pages, read past acs: a server with both dialects omits some of its items from V0's pages.
 */
async function listed(target: Target, route: string): Promise<string[]> {
  const ids: string[] = [];
  for (let page: string | null = ''; page !== null;) {
    const query: string = page === '' ? '' : `&page_id=${encodeURIComponent(page)}`;
    const body = (await target.request('GET', `${route}?limit=1${query}`)).body as PageJson;
    ids.push(...idsOf(body));
    page = body.next_page_id;
  }
  return [...new Set(ids)].sort();
}

async function readsAllPages(target: Target, dialect: Dialect): Promise<void> {
  await endedRun(target, dialect, 'QUICK');
  await finished(target, dialect);
  const route = ['api', 'GET', LISTS[dialect]];
  const one = json<PageJson>(await ok(target, ...route, '-f', 'limit=1', '--json'));
  const all = json<PageJson>(await ok(target, ...route, '-f', 'limit=1', '--paginate'));
  expect(one.next_page_id).not.toBeNull();
  expect(all.next_page_id).toBeNull();
  expect(idsOf(all)).toEqual(await listed(target, LISTS[dialect]));
  expect(idsOf(all).length).toBeGreaterThan(1);
  const selected = await ok(
    target,
    ...route,
    '-f',
    'limit=1',
    '--paginate',
    '--jq',
    '(.items // .results) | length',
  );
  expect(selected.out).toBe(`${idsOf(all).length}\n`);
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
      const wrong = await target.acs('api', 'GET', LISTS[dialect], '-f', 'limit=x');
      expectCode(wrong, 2);
      expect(wrong.out).toContain('limit');
      const refused = await target.acs(
        'api',
        'GET',
        LISTS[dialect],
        '-H',
        'X-Session-API-Key: abc',
        '--json',
      );
      expect(errorOf(expectCode(refused, 2)).message).toContain('is a secret');
    },
  },
];
