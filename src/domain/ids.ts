// Conversation ids are 32 hexadecimal digits; any other plain word is read as a prefix.
import { AppError } from '../base/errors.ts';
import { cut } from '../base/text/well-formed.ts';

export type IdWord =
  | 'last'
  /** Whole ids to ask for in this order; then, unless null, the beginning of an id. */
  | { ids: string[]; prefix: string | null };

/** Fewer characters would soon match another record. */
export const PREFIX_MIN = 4;

export function normalizeId(text: string): string | null {
  return /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i.test(text) ? plainId(text) : null;
}

export function normalId(id: string): string {
  return normalizeId(id) ?? id;
}

/** The form of the agent server. */
export function dashedId(id: string): string {
  return normalId(id).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export function noConversation(id: string): AppError {
  return new AppError('not-found', `there is no conversation ${cut(id, 100)} at this server`, {
    hint: 'list them with: acs conv list',
  });
}

export function readConversationWord(text: string): IdWord | null {
  if (text === '@last') return 'last';
  const id = normalizeId(text);
  if (id !== null) return { ids: [id], prefix: null };
  if (text.includes('/')) {
    // The last one first: `/sandboxes/<id>/conversations/<id>` is about the conversation.
    const uuids = text.matchAll(
      /(?<![0-9a-f])[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}(?![0-9a-f])/gi,
    );
    const ids = [...uuids].map(([uuid]) => plainId(uuid)).reverse();
    return ids.length > 0 ? { ids: [...new Set(ids)], prefix: null } : null;
  }
  return isPlainWord(text) ? { ids: [], prefix: text } : null;
}

/** Servers choose sandbox ids as they like: each long word may be a whole one. */
export function readSandboxWord(text: string): IdWord | null {
  if (text === '@last') return 'last';
  const isUrl = text.includes('://');
  if (!isUrl && !isPlainWord(text)) return null;
  const segments = text.split(/[/?&=#]+/).slice(2);
  const parts = isUrl ? segments.reverse() : [text];
  const ids = parts
    .flatMap((part) => [part, normalId(part)])
    .filter((word) => /^[\w.-]{16,}$/.test(word));
  if (isUrl && ids.length === 0) return null;
  return { ids: [...new Set(ids)], prefix: isUrl ? null : text };
}

function isPlainWord(text: string): boolean {
  return /^[\w.-]+$/.test(text) && !text.startsWith('-') && text.length >= PREFIX_MIN;
}

/** A full id matches at most one record. Empty ids never match. */
export function matchPrefix<T>(
  prefix: string,
  items: readonly T[],
  idsOf: (item: T) => readonly string[],
): T[] {
  const start = plainId(prefix);
  const exact = items.find((item) => idsOf(item).map(plainId).includes(start));
  if (exact !== undefined) return [exact];
  return items.filter((item) => idsOf(item).some((id) => plainId(id).startsWith(start)));
}

function plainId(id: string): string {
  return id.toLowerCase().replaceAll('-', '');
}
