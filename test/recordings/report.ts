/** What came of playing the recordings, for a reader to judge. */
import type { Release } from './exchanges.ts';
import { CLASSES, meaningOf, readListed, type Class } from './listed.ts';
import type { Playing } from './player.ts';

/** Exchanges: all of them, those that agree, and those that differ, by class. */
export interface Counts extends Record<Class, number> {
  all: number;
  agreed: number;
}

export function countsOf(results: [Release, Playing][]): Counts {
  const counts: Counts = { all: 0, agreed: 0, breakage: 0, model: 0, chosen: 0 };
  for (const [release, { played }] of results) {
    const listed = readListed(release);
    for (const { name, differences } of played) {
      counts.all += 1;
      if (differences.length === 0) counts.agreed += 1;
      else counts[listed.get(name)?.class ?? 'chosen'] += 1;
    }
  }
  return counts;
}

/** In percent. */
export function shareOf(part: number, all: number): number {
  return (100 * part) / Math.max(all, 1);
}

/**
 * Three shares: of all exchanges of the routes that the local service has, of those where no
 * genuine server breaks, and of those that are meant to agree, which leaves out as well where only
 * a model can answer. Below, what was not played.
 */
export function reportOf(results: ReadonlyMap<Release, Playing>): string {
  const lines = [...results].flatMap(([release, playing]) => [
    ...linesOf(release, countsOf([[release, playing]])),
    ...notServed(playing),
  ]);
  return `${[...lines, ...linesOf('both', countsOf([...results]))].join('\n')}\n`;
}

function linesOf(name: string, counts: Counts): string[] {
  const sound = counts.all - counts.breakage;
  const shares = [
    `${share(counts.agreed, counts.all)} of all agree`,
    `${share(counts.agreed, sound)} of those where no genuine server breaks`,
    `${share(counts.agreed, sound - counts.model)} of those meant to`,
  ];
  return [
    `${name}: ${shares.join(', ')}`,
    ...CLASSES.map((each) => `  ${String(counts[each]).padStart(4)} differ: ${meaningOf(each)}`),
  ];
}

function notServed({ unsupported }: Playing): string[] {
  const routes = [...unsupported].sort().map(([route, count]) => `    ${route} (${count})`);
  return ['  not served by the local service, so not played (exchanges):', ...routes];
}

function share(part: number, all: number): string {
  return `${part} of ${all} (${shareOf(part, all).toFixed(1)} %)`;
}
