/**
 * The local service answers what genuine servers answered: their recorded exchanges, played against
 * it.
 */
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GIT_TOKEN, startGitHost, type GitHost } from '../genuine/git-host.ts';
import { createWorld, type World } from '../support/world.ts';
import {
  isAsListed,
  readExchanges,
  readListed,
  readNotServed,
  RELEASES,
  type Release,
} from './exchanges.ts';
import { Player, type Playing } from './player.ts';
import { countsOf, reportOf, shareOf, type Counts } from './shape.ts';

/**
 * In percent. `ofAll` counts what is different on purpose, too: the empty extended_content that
 * clients reject, the last status of a run whose sandbox does not run.
 */
const FLOOR = { ofAll: 89, ofThoseMeantToAgree: 97.5 };

const worlds: World[] = [];
const hosts: GitHost[] = [];
const results = new Map<Release, Playing>();

async function playRelease(release: Release): Promise<void> {
  const world = await createWorld({ api: release === '1.11.0' ? 'v1' : 'both', spec: 'process' });
  worlds.push(world);
  const host = await startGitHost(path.join(world.dir, 'git-host'));
  hosts.push(host);
  const stage = {
    app: { url: world.service.url, key: world.service.key },
    gitHost: host.url,
    gitToken: GIT_TOKEN,
    workspaces: path.join(world.dataDir, 'workspaces'),
    released: path.join(world.dir, 'released'),
  };
  const newer = release === '1.6.0' ? readExchanges('1.11.0') : [];
  const player = new Player(stage, readExchanges(release), newer, readListed(release));
  results.set(release, await player.play());
}

beforeAll(async () => {
  await Promise.all(RELEASES.map(playRelease));
}, 1_200_000);

afterAll(async () => {
  process.stdout.write(reportOf(results));
  await Promise.all([...worlds, ...hosts].map((one) => one.close()));
}, 60_000);

describe.each(RELEASES)('the exchanges recorded with %s', (release) => {
  test('agree, or differ exactly as listed', () => {
    const listed = readListed(release);
    const unlisted = (results.get(release)?.played ?? [])
      .map((one) => ({ ...one, listed: listed.get(one.name)?.differs ?? [] }))
      .filter((one) => !isAsListed(one.differences, one.listed));
    expect(unlisted).toEqual([]);
  });

  test('are all played, except those of routes that are listed as not served', () => {
    expect(Object.fromEntries(results.get(release)?.unsupported ?? [])).toEqual(
      readNotServed(release),
    );
  });

  test('include every listed exchange', () => {
    const names = new Set((results.get(release)?.played ?? []).map(({ name }) => name));
    expect([...readListed(release).keys()].filter((name) => !names.has(name))).toEqual([]);
  });
});

test('the share of recorded exchanges that agree is at least the recorded floor', () => {
  const counts: Counts = countsOf([...results]);
  expect(shareOf(counts.agreed, counts.all)).toBeGreaterThanOrEqual(FLOOR.ofAll);
  const meant = counts.all - counts.breakage - counts.model;
  expect(shareOf(counts.agreed, meant)).toBeGreaterThanOrEqual(FLOOR.ofThoseMeantToAgree);
});
