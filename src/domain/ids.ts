/**
 * How a word on the command line names a record: by a whole id, a prefix, a URL or `@last`.
 * Conversation ids are 32 hexadecimal digits, written with or without dashes; servers that take a caller's own id may
 * know others, so any plain word is read as a prefix.
 */

export type IdWord =
  | 'last'
  /** Whole ids to ask for in this order; then, unless null, the beginning of an id. */
  | { ids: string[]; prefix: string | null };

/** Fewer characters would mean something else tomorrow. */
export const PREFIX_MIN = 4;

const UUID = /(?<![0-9a-f])[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}(?![0-9a-f])/gi;

/** The form without dashes, in lower case; null when it is not a whole id. */
export function normalizeId(text: string): string | null {
  const plain = text.toLowerCase().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(plain) && /^[0-9a-f]+(?:-[0-9a-f]+)*$/i.test(text) ? plain : null;
}

/** Null when the word cannot be a conversation id in any form. */
export function readConversationWord(text: string): IdWord | null {
  if (text === '@last') return 'last';
  const id = normalizeId(text);
  if (id !== null) return { ids: [id], prefix: null };
  if (text.includes('/')) {
    const ids = idsInUrl(text);
    return ids.length > 0 ? { ids, prefix: null } : null;
  }
  return isPlainWord(text) ? { ids: [], prefix: text } : null;
}

/**
 * Null when the word cannot be a sandbox id in any form. Servers choose these ids as they like, so that each long word
 * may be a whole one.
 */
export function readSandboxWord(text: string): IdWord | null {
  if (text === '@last') return 'last';
  const isUrl = text.includes('://');
  if (!isUrl && !isPlainWord(text)) return null;
  const parts = isUrl
    ? text
        .split(/[/?&=#]+/)
        .slice(2)
        .reverse()
    : [text];
  const ids = parts.flatMap((part) => [part, normalizeId(part) ?? part]).filter(isWholeSandboxId);
  if (isUrl && ids.length === 0) return null;
  return { ids: [...new Set(ids)], prefix: isUrl ? null : text };
}

function isPlainWord(text: string): boolean {
  return /^[\w.-]+$/.test(text) && !text.startsWith('-') && text.length >= PREFIX_MIN;
}

function isWholeSandboxId(text: string): boolean {
  return /^[\w.-]{16,}$/.test(text);
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
