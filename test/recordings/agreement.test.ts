/** The local service answers what genuine servers answered: their recorded exchanges, played against it. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, type World } from '../support/world.ts';
import { readExchanges, type Release } from './exchanges.ts';
import { Player, type Playing } from './player.ts';

/** What the local service answers otherwise on purpose: names of exchanges, `*` for any part, and why. */
interface Difference {
  releases?: Release[];
  /** Depends on how fast the machine is. */
  sometimes?: true;
  names: string[];
  reason: string;
}

const RELEASES: Release[] = ['1.11.0', '1.6.0'];
const file = new URL('differences.json', import.meta.url);
const known = JSON.parse(readFileSync(file, 'utf8')) as Difference[];
const worlds: World[] = [];
const results = new Map<Release, Playing>();

function listed(release: Release, name: string): Difference | null {
  const found = known.find(
    ({ releases, names }) =>
      (releases ?? RELEASES).includes(release) && names.some((pattern) => matches(pattern, name)),
  );
  return found ?? null;
}

function matches(pattern: string, name: string): boolean {
  const escaped = pattern.replace(/[.+?^$()|[\]\\{}]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${escaped}$`).test(name);
}

async function playRelease(release: Release): Promise<void> {
  const world = await createWorld({ api: release === '1.11.0' ? 'v1' : 'both', spec: 'process' });
  worlds.push(world);
  const { url, key } = world.service;
  const newer = release === '1.6.0' ? readExchanges('1.11.0') : [];
  const player = new Player({ url, key }, readExchanges(release), newer, (name) => listed(release, name) !== null);
  results.set(release, await player.play());
}

beforeAll(async () => {
  await Promise.all(RELEASES.map(playRelease));
}, 240_000);

afterAll(async () => {
  report();
  await Promise.all(worlds.map((world) => world.close()));
}, 60_000);

describe.each(RELEASES)('the exchanges recorded with %s', (release) => {
  test('agree, or differ for a reason that is listed', () => {
    const unlisted = played(release)
      .filter(({ name, differences }) => differences.length > 0 && listed(release, name) === null)
      .map(({ name, differences }) => `${name}: ${differences.slice(0, 4).join('; ')}`);
    expect(unlisted).toEqual([]);
  });

  test('are not listed as differences when they agree', () => {
    const stale = played(release)
      .filter(({ name, differences }) => {
        const entry = listed(release, name);
        return differences.length === 0 && entry !== null && entry.sometimes !== true;
      })
      .map(({ name }) => name);
    expect(stale).toEqual([]);
  });
});

function played(release: Release): Playing['played'] {
  return results.get(release)?.played ?? [];
}

function report(): void {
  const lines: string[] = [];
  const total = { agreed: 0, listed: 0, all: 0 };
  for (const release of RELEASES) {
    const all = played(release);
    const agreed = all.filter(({ differences }) => differences.length === 0).length;
    const explained = all.filter((one) => one.differences.length > 0 && listed(release, one.name) !== null).length;
    lines.push(
      `${release}: ${share(agreed, all.length)} agree, ${share(agreed + explained, all.length)} with those listed`,
    );
    total.agreed += agreed;
    total.listed += explained;
    total.all += all.length;
    const missing = [...(results.get(release)?.unsupported ?? [])]
      .sort()
      .map(([route, count]) => `  ${route} (${count})`);
    lines.push(`  not served by the local service (exchanges):`, ...missing);
  }
  lines.push(
    `in all: ${share(total.agreed, total.all)} agree, ${share(total.agreed + total.listed, total.all)} with those listed`,
  );
  process.stdout.write(`${lines.join('\n')}\n`);
}

function share(part: number, all: number): string {
  return `${part} of ${all} (${((100 * part) / Math.max(all, 1)).toFixed(1)} %)`;
}
