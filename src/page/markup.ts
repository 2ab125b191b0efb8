/** Text becomes markup here alone; every text is escaped and made safe. */
import MarkdownIt from 'markdown-it';
import { safeText } from '../base/text/safe-text.ts';
import { cut } from '../base/text/well-formed.ts';

export class Markup {
  readonly html: string;

  constructor(html: string) {
    this.html = html;
  }
}

type Value = string | number | Markup | readonly Markup[] | null | false;

export function markup(literals: TemplateStringsArray, ...values: readonly Value[]): Markup {
  const htmlOf = (value: Value): string => {
    if (value === null || value === false) return '';
    if (value instanceof Markup) return value.html;
    if (typeof value === 'object') return value.map((each) => each.html).join('');
    const text = safeText(String(value).replaceAll('\r\n', '\n'));
    return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  };
  return new Markup(
    literals.reduce((all, literal, at) => all + htmlOf(values[at - 1] ?? null) + literal),
  );
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** HTML is shown as text, only web addresses become links, and no image is loaded. */
const MARKDOWN = new MarkdownIt({ html: false, linkify: true }).disable('image');
MARKDOWN.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
MARKDOWN.validateLink = (url) => /^https?:\/\//i.test(url);
// Headings are below those of the page, and none is empty. The policy refuses styles of cells.
MARKDOWN.core.ruler.push('headings and cells', ({ tokens }) => {
  let isEmpty = false;
  for (const [at, token] of tokens.entries()) {
    if (/^(?:heading|th)_open$/.test(token.type)) isEmpty = tokens[at + 1]?.content === '';
    if (token.type.startsWith('heading_')) token.tag = isEmpty ? 'p' : 'h3';
    if (token.type.startsWith('th_') && isEmpty) token.tag = 'td';
    if (/^t[hd]_open$/.test(token.type)) token.attrs = null;
  }
});
MARKDOWN.renderer.rules.link_open = (tokens, at, options, _, renderer) => {
  const hasText = tokens[at + 1]?.type !== 'link_close';
  return (
    renderer.renderToken(tokens, at, options) +
    (hasText ? '' : markup`${tokens[at]?.attrGet('href') ?? ''}`.html)
  );
};

export type Form = 'text' | 'code' | 'diff' | 'markdown';

/** `form`: `code` keeps the font of a terminal, `diff` also marks the lines of a patch. */
export function block(
  text: string,
  form: Form,
  { mostCharacters, mostLines } = { mostCharacters: 20_000, mostLines: 400 },
): Markup {
  const shown = clipped(text, mostCharacters, mostLines);
  const left = text.length - shown.length;
  const rest =
    left > 0 &&
    markup`<p class="quiet">${number(left)} more characters are left out of this page.</p>`;
  if (form === 'text') return markup`<pre class="plain">${shown}</pre>${rest}`;
  if (form === 'code') return markup`<pre>${shown}</pre>${rest}`;
  if (form === 'markdown') {
    // The text of a character reference (`&#x202e;`) is known only when it is rendered.
    const html = new Markup(safeText(MARKDOWN.render(shown)));
    return markup`<div class="markdown">${html}</div>${rest}`;
  }
  return markup`<pre class="diff">${patchSpans(shown)}</pre>${rest}`;
}

function patchSpans(patch: string): Markup[] {
  let isInHunk = false;
  const parts: { mark: string; lines: string[] }[] = [];
  for (const line of patch.split('\n')) {
    isInHunk ||= line.startsWith('@@');
    const mark = isInHunk ? (LINE_CLASSES[line.charAt(0)] ?? '') : 'h';
    const last = parts.at(-1);
    if (last?.mark === mark) last.lines.push(line);
    else parts.push({ mark, lines: [line] });
  }
  return parts.map(({ mark, lines }) => markup`<span class="${mark}">${lines.join('\n')}</span>`);
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
  return cut(text, end);
}
