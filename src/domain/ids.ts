/**
 * What a word on the command line means as an id, and which record it names: pure rules.
 * Conversation ids are 32 hexadecimal digits, written with or without dashes; servers that take a caller's own id may
 * know others, so any plain word is taken as the beginning of one.
 */

export type IdWord =
  | { kind: 'last' }
  /** A whole id, in its form without dashes. */
  | { kind: 'full'; id: string }
  /** Ids found in a URL, the likeliest first. */
  | { kind: 'url'; ids: string[] }
  | { kind: 'prefix'; prefix: string };

/** Fewer characters would mean something else tomorrow. */
export const PREFIX_MIN = 4;

const UUID = /(?<![0-9a-f])[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}(?![0-9a-f])/gi;

/** The form without dashes, in lower case; null when it is no whole id. */
export function normalizeId(text: string): string | null {
  const plain = text.toLowerCase().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(plain) && /^[0-9a-f]+(?:-[0-9a-f]+)*$/i.test(text) ? plain : null;
}

/** Null when the word cannot be an id in any form. */
export function readIdWord(text: string): IdWord | null {
  if (text === '@last') return { kind: 'last' };
  const id = normalizeId(text);
  if (id !== null) return { kind: 'full', id };
  if (text.includes('/')) {
    const ids = idsInUrl(text);
    return ids.length > 0 ? { kind: 'url', ids } : null;
  }
  if (!/^[\w.-]+$/.test(text) || text.startsWith('-') || text.length < PREFIX_MIN) return null;
  return { kind: 'prefix', prefix: text };
}

/** The last one first: `/sandboxes/<id>/conversations/<id>` is about the conversation. */
export function idsInUrl(url: string): string[] {
  const found = [...url.matchAll(UUID)].map(([id]) => id.toLowerCase().replaceAll('-', ''));
  return [...new Set(found.reverse())];
}

export type Match<T> = { kind: 'none' } | { kind: 'one'; item: T } | { kind: 'several'; items: T[] };

/**
 * The record whose id, or one of whose ids, begins with the prefix; a whole id that matches wins.
 * @param idsOf all ids a record is known by; empty ones never match
 */
export function matchPrefix<T>(prefix: string, items: readonly T[], idsOf: (item: T) => readonly string[]): Match<T> {
  const wanted = plainId(prefix);
  const known = (item: T) => idsOf(item).map(plainId);
  const exact = items.find((item) => known(item).includes(wanted));
  if (exact !== undefined) return { kind: 'one', item: exact };
  const matches = items.filter((item) => known(item).some((id) => id.startsWith(wanted)));
  const [first] = matches;
  if (first === undefined) return { kind: 'none' };
  return matches.length === 1 ? { kind: 'one', item: first } : { kind: 'several', items: matches };
}

function plainId(id: string): string {
  return id.toLowerCase().replaceAll('-', '');
}
