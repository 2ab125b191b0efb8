/** Texts of a bounded size as blocks of the page, and numbers. */
import type { Clipped } from './clipped.ts';
import { markup, type Markup } from './markup.ts';

export function textBlock({ text, left }: Clipped): Markup {
  return markup`<pre class="plain">${text}</pre>${leftOut(left)}`;
}

export function codeBlock({ text, left }: Clipped): Markup {
  return markup`<pre>${text}</pre>${leftOut(left)}`;
}

export function diffBlock({ text, left }: Clipped): Markup {
  let isInHunk = false;
  const lines = text.split('\n').map((line) => {
    isInHunk ||= line.startsWith('@@');
    return markup`<span class="${isInHunk ? (LINE_CLASSES[line.charAt(0)] ?? '') : 'h'}">${line}</span>`;
  });
  return markup`<pre class="diff">${lines}</pre>${leftOut(left)}`;
}

const LINE_CLASSES: Record<string, string> = { '+': 'a', '-': 'r', '@': 'h', '\\': 'h' };

function leftOut(characters: number): Markup | null {
  if (characters === 0) return null;
  return markup`<p class="quiet">${number(characters)} more characters are left out of this page.</p>`;
}

export function number(value: number): string {
  return value.toLocaleString('en-US');
}
