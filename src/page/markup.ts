/**
 * HTML as a value of its own: text becomes markup here alone, and every text is escaped and made safe on the way. Nothing
 * that an agent or a server wrote can begin an element, end an attribute or reorder what is shown.
 */
import { safeText } from '../text/safe-text.ts';

export class Markup {
  readonly html: string;

  /** Not for text: `markup` below makes it of text. */
  constructor(html: string) {
    this.html = html;
  }
}

type Value = string | number | Markup | readonly Markup[] | null;

/** A template literal: its own characters are markup, the values in it are text, markup, or null for nothing. */
export function markup(literals: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(literals.reduce((all, literal, at) => all + htmlOf(values[at - 1] ?? null) + literal));
}

function htmlOf(value: Value): string {
  if (value === null) return '';
  if (value instanceof Markup) return value.html;
  if (typeof value === 'object') return value.map((each) => each.html).join('');
  return escaped(String(value));
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escaped(text: string): string {
  return safeText(text.replaceAll('\r\n', '\n')).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
