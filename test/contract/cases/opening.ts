/** The page of a conversation for a browser. */
import { expect } from 'vitest';
import { finished, inEachDialect, json, ok, show } from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

async function makesLinks(target: Target): Promise<boolean> {
  return json<{ features: string[] }>(await ok(target, 'whoami', '--json')).features.includes(
    'page-links',
  );
}

export const OPENING: ContractCase[] = [
  ...inEachDialect(
    'open: prints the address of the page alone, with no key in it',
    async (target, dialect) => {
      const id = await finished(target, dialect);
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
