/** Text becomes markup here alone; every text is escaped and made safe. */
import { safeText } from '../text/safe-text.ts';

export class Markup {
  readonly html: string;

  constructor(html: string) {
    this.html = html;
  }
}

type Value = string | number | Markup | readonly Markup[] | null;

export function markup(literals: TemplateStringsArray, ...values: readonly Value[]): Markup {
  const htmlOf = (value: Value): string => {
    if (value === null) return '';
    if (value instanceof Markup) return value.html;
    if (typeof value === 'object') return value.map((each) => each.html).join('');
    const text = safeText(String(value).replaceAll('\r\n', '\n'));
    return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  };
  return new Markup(literals.reduce((all, literal, at) => all + htmlOf(values[at - 1] ?? null) + literal));
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** `form`: `code` keeps the font of a terminal, `diff` also marks the lines of a patch. */
export function block(
  text: string,
  form: 'text' | 'code' | 'diff',
  { mostCharacters, mostLines } = { mostCharacters: 20_000, mostLines: 400 },
): Markup {
  const shown = clipped(text, mostCharacters, mostLines);
  const left = text.length - shown.length;
  const rest =
    left === 0 ? null : markup`<p class="quiet">${number(left)} more characters are left out of this page.</p>`;
  if (form === 'text') return markup`<pre class="plain">${shown}</pre>${rest}`;
  if (form === 'code') return markup`<pre>${shown}</pre>${rest}`;
  let isInHunk = false;
  const lines = shown.split('\n').map((line) => {
    isInHunk ||= line.startsWith('@@');
    return markup`<span class="${isInHunk ? (LINE_CLASSES[line.charAt(0)] ?? '') : 'h'}">${line}</span>`;
  });
  return markup`<pre class="diff">${lines}</pre>${rest}`;
}

const LINE_CLASSES: Record<string, string> = { '+': 'a', '-': 'r', '@': 'h', '\\': 'h' };

function clipped(text: string, mostCharacters: number, mostLines: number): string {
  let end = Math.min(text.length, mostCharacters);
  let at = -1;
  for (let line = 0; line < mostLines; line += 1) {
    at = text.indexOf('\n', at + 1);
    if (at === -1 || at > end) break;
    if (line === mostLines - 1) end = at;
  }
  if (end < text.length && text[end] !== '\n') {
    const lineEnd = text.lastIndexOf('\n', end);
    if (lineEnd > mostCharacters / 2) end = lineEnd;
  }
  return text.slice(0, end);
}
