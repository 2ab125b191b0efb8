import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { useFirstRun } from './conv-world.ts';
import { errorOf, json } from './support.ts';

const at = useFirstRun();
const { conv } = at;

/** A browser that writes the address it is given. */
let browser: string;
let seen: string;
beforeAll(() => {
  browser = path.join(at.world.dir, 'browser');
  seen = path.join(at.world.dir, 'seen');
  writeFileSync(browser, `#!/bin/sh\necho "$1 $ACS_API_KEY" > ${seen}.part && mv ${seen}.part ${seen}\n`);
  chmodSync(browser, 0o755);
});
beforeEach(() => {
  rmSync(seen, { force: true });
});

const onTerminal = (args: string[], env: Record<string, string> = {}) =>
  at.world.invoke({ args: ['conv', 'open', ...args], columns: 80, env: { BROWSER: browser, ...env } });

const link = () => new RegExp(`^${at.world.service.url}/conversations/${at.first}\\?once=[\\w-]{43}\\n$`);

describe('conv open off a terminal', () => {
  it('prints the address alone, a link that can be used once, and opens nothing', async () => {
    const { code, out, err } = await at.world.invoke({ args: ['conv', 'open', at.first], env: { BROWSER: browser } });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(link());
    expect(out).not.toContain(at.world.service.key);
    expect((await fetch(out.trim(), { redirect: 'manual' })).status).toBe(303);
    expect((await fetch(out.trim(), { redirect: 'manual' })).status).toBe(403);
    expect(existsSync(seen)).toBe(false);
  });

  it('prints id and address with --json, and the id with -q', async () => {
    const shown = json<{ id: string; url: string }>(await conv('open', at.first.slice(0, 8), '--json'));
    expect(Object.keys(shown)).toEqual(['id', 'url']);
    expect(`${shown.url}\n`).toMatch(link());
    expect((await conv('open', at.first, '-q')).out).toBe(`${at.first}\n`);
  });

  it('does not print the token of the link with --debug but in the address', async () => {
    const { out, err } = await conv('open', at.first, '--debug');
    const token = /once=(.+)/.exec(out)?.[1] ?? 'none';
    expect(err).toContain(`POST ${at.world.service.url}/local/conversations/${at.first}/page-link`);
    expect(err).not.toContain(token);
  });

  it('takes @last, and exits 5 for a conversation that does not exist', async () => {
    expect((await conv('open', '@last')).out).toMatch(link());
    const missing = await conv('open', 'f'.repeat(32), '--json');
    expect({ code: missing.code, kind: errorOf(missing).code }).toEqual({ code: 5, kind: 'not-found' });
  });

  it('prints the request that it would send with --dry-run, and makes no link', async () => {
    const { code, out } = await conv('open', at.first, '--dry-run', '--json');
    const url = `${at.world.service.url}/local/conversations/${at.first}/page-link`;
    expect({ code, ...json<object>({ out }) }).toEqual({
      code: 0,
      dry_run: true,
      requests: [{ method: 'POST', url, body: null }],
    });
  });
});

describe('conv open on a terminal', () => {
  it('opens the address in the browser, which gets no key, and prints it', async () => {
    const { code, out, err } = await onTerminal([at.first]);
    expect(code).toBe(0);
    expect(out).toMatch(link());
    expect(err).toContain('opened it in the browser; the link is valid once, for 60 s');
    await until(() => existsSync(seen));
    expect(readFileSync(seen, 'utf8')).toBe(`${out.trim()} \n`);
  });

  it('prints a notice when there is no browser, and exits 0', async () => {
    const { code, out, err } = await onTerminal([at.first], { BROWSER: '/nowhere/browser', PATH: at.world.dir });
    expect(code).toBe(0);
    expect(out).toMatch(link());
    expect(err).toContain('no browser was found; the link is valid once, for 60 s');
  });

  it.each([['--no-browser'], ['-n'], ['--json'], ['-o', 'address']])('opens nothing with %j', async (...flags) => {
    const { code, err } = await onTerminal([at.first, ...flags]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(existsSync(seen)).toBe(false);
  });

  it('opens nothing where CI is set', async () => {
    expect(await onTerminal([at.first], { CI: 'true' })).toMatchObject({ code: 0, err: '' });
    expect(existsSync(seen)).toBe(false);
  });
});
