/** Lists: pages, filters, and what they leave out. */
import { expect } from 'vitest';
import { expectCode, json, newest, ok, relayTo, type ConversationJson, type ListJson, until } from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

const WANTED = 25;

const list = async (target: Target, ...flags: string[]): Promise<ListJson<ConversationJson>> =>
  json(await ok(target, 'conv', 'list', '--json', ...flags));

/** Conversations without a message, past acs, until there are enough. */
async function fill(target: Target): Promise<void> {
  const there = (await list(target, '--all-pages')).items.length;
  const replay = target.hasModel ? {} : { replay_json: 'demo' };
  const isV1 = newest(target) === 'v1';
  const path = isV1 ? '/api/v1/app-conversations' : '/api/conversations';
  const body = isV1 ? { sandbox_id: await target.sandbox(), ...replay } : replay;
  for (let made = there; made < WANTED; made += 5) {
    const starts = Array.from({ length: 5 }, () => target.request('POST', path, body));
    for (const { status } of await Promise.all(starts)) expect(status).toBe(200);
  }
  await until(`${WANTED} conversations`, async () => (await list(target, '--all-pages')).items.length >= WANTED);
}

export const LISTS: ContractCase[] = [
  {
    name: 'list: 25 conversations with limit 10, and all of them, each once',
    async run(target) {
      await fill(target);
      const page = await list(target, '-L', '10');
      expect(page.items).toHaveLength(10);
      expect(page.has_more).toBe(true);
      const all = await list(target, '--all-pages');
      expect(all.has_more).toBe(false);
      expect(all.items.length).toBeGreaterThanOrEqual(WANTED);
      expect(new Set(all.items.map(({ id }) => id)).size).toBe(all.items.length);
      expect(all.items.slice(0, 10).map(({ id }) => id)).toEqual(page.items.map(({ id }) => id));
    },
  },
  ...[250, 5_000].map((count): ContractCase => ({
    name: `list: ${count.toLocaleString('en')} conversations, each once, a page of 100 at a time`,
    async run(target) {
      if (target.fill === undefined) return { notHere: 'so many conversations are made on the local service alone' };
      await target.fill(count);
      const { relay, env } = await relayTo(target);
      try {
        const args = ['conv', 'list', '--all-pages', '--json'];
        const { items, has_more } = json<ListJson<ConversationJson>>(expectCode(await target.invoke({ args, env }), 0));
        expect(has_more).toBe(false);
        expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
        expect(items.length).toBeGreaterThanOrEqual(count);
        const pages = relay.requests.filter((request) => /conversations/.test(request)).length;
        expect(pages).toBeLessThanOrEqual(target.dialects.length * (Math.ceil(items.length / 100) + 1));
        const newestTen = json<ListJson<ConversationJson>>(
          await target.invoke({ args: ['conv', 'list', '-L', '10', '--json'], env }),
        );
        expect(newestTen.items).toEqual(items.slice(0, 10));
      } finally {
        await relay.close();
      }
    },
  })),
  {
    name: 'list: filters by status, repository, age; and what it says is what show says',
    async run(target) {
      const all = (await list(target, '--all-pages')).items;
      // Whatever the list itself tells: that of V0 does not know how a run ended.
      const [some] = all.filter(({ status }) => status !== 'starting');
      const status = some?.status ?? '';
      const such = (await list(target, '--all-pages', '--status', status)).items;
      expect(such.length).toBeGreaterThan(0);
      expect(such.every((one) => one.status === status)).toBe(true);
      const others = (await list(target, '--all-pages', '--not-status', status)).items;
      expect(others.length + such.length).toBe(all.length);
      const cloned = (await list(target, '--all-pages', '--repo', '*hello*,**/hello*')).items;
      expect(cloned.length).toBeGreaterThan(0);
      expect(cloned.every(({ repository }) => repository !== null)).toBe(true);
      expect((await list(target, '--older-than', '1d')).items).toEqual([]);
      const [one] = cloned;
      expect(json(await ok(target, 'conv', 'show', one?.id ?? '', '--json')).title).toBe(one?.title);
    },
  },
];
