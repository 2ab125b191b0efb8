/**
 * The differences that are known, out of differences.json: which exchange differs, in what, and
 * why. What is listed is held to: an exchange that agrees after all, or that differs in another
 * way, fails the test.
 */
import { readFileSync } from 'node:fs';
import type { Release } from './exchanges.ts';

/**
 * Why an exchange differs. `breakage`: the genuine server breaks itself or its user, and the local
 * service answers properly. `model`: the answer is one that only a model can give. `chosen`: the
 * local service is another one.
 */
export type Class = 'breakage' | 'model' | 'chosen';

interface Entry {
  /** One reason for all of the names. */
  reason: string;
  /** Both releases where it is left out. */
  releases?: Release[];
  names: string[];
  /** The differences, as shape.ts words them. */
  differs: string[];
}

export interface Listed {
  class: Class;
  reason: string;
  differs: string[];
}

type Classes = Record<Class, { meaning: string; exchanges: Entry[] }>;

export const RELEASES: Release[] = ['1.11.0', '1.6.0'];
export const CLASSES: Class[] = ['breakage', 'model', 'chosen'];

function readClasses(): Classes {
  return JSON.parse(readFileSync(new URL('differences.json', import.meta.url), 'utf8')) as Classes;
}

/** What a class means, in a sentence. */
export function meaningOf(name: Class): string {
  return readClasses()[name].meaning;
}

/** What is known of a release, by the name of the exchange. Throws when a name is there twice. */
export function readListed(release: Release): Map<string, Listed> {
  const classes = readClasses();
  const found = new Map<string, Listed>();
  for (const name of CLASSES) {
    for (const { reason, releases, names, differs } of classes[name].exchanges) {
      if (!(releases ?? RELEASES).includes(release)) continue;
      for (const one of names) {
        if (found.has(one)) throw new Error(`${one} is listed twice for ${release}`);
        found.set(one, { class: name, reason, differs });
      }
    }
  }
  return found;
}

/**
 * Routes of a release that the local service does not have, and how many exchanges that leaves out:
 * an exchange that cannot be played differs in nothing, so one more must be as loud as a
 * difference.
 */
export function readNotServed(release: Release): Record<string, number> {
  const file = new URL('not-served.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as Record<Release, Record<string, number>>)[
    release
  ];
}

/** Whether the differences found are those listed, whatever their order. */
export function isAsListed(found: string[], listed: string[]): boolean {
  return (
    found.length === listed.length && [...found].sort().join('\n') === [...listed].sort().join('\n')
  );
}
