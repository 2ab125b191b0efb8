/** Untrusted text in Markdown: nothing in it ends the block that it stands in. */
import { safeLine } from '../../../text/safe-text.ts';

/** Whole lines from the beginning, and how many are left out; of a first line that is too long a part is kept. */
export function boundedLines(text: string, mostCharacters: number): { text: string; left: number } {
  if (text.length <= mostCharacters) return { text, left: 0 };
  const lines = text.split('\n');
  let size = 0;
  let count = 0;
  for (const line of lines) {
    size += line.length + 1;
    if (size > mostCharacters) break;
    count += 1;
  }
  if (count === 0)
    return { text: `${text.slice(0, Math.min(mostCharacters, lines[0]?.length ?? 0))}…`, left: lines.length };
  return { text: lines.slice(0, count).join('\n'), left: lines.length - count };
}

/** A code block whose fence is longer than any run of backticks in it. */
export function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

const LONGEST_INLINE = 500;

/** One line without markup. */
export function inline(text: string): string {
  const line = text.trim();
  const shown = line.length > LONGEST_INLINE ? `${line.slice(0, LONGEST_INLINE)}…` : line;
  return safeLine(shown).replace(/[\\`*_[\]<>#|~&]/g, (character) => `\\${character}`);
}

/** The beginning or end of a fence; nothing between them is markup. */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * Markdown of an agent in a quotation: a block quotation ends every block inside it. HTML outside of code loses its
 * meaning: an unclosed element or comment would take in what follows the quotation.
 */
export function quoted(markdown: string): string {
  let fence: string | null = null;
  const lines = markdown.split('\n').map((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (fence === null) {
      fence = mark ?? null;
      return mark === undefined ? withoutHtml(line) : line;
    }
    if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
    return line;
  });
  return lines.map((line) => (line === '' ? '>' : `> ${line}`)).join('\n');
}

/** A `<` in a code span keeps its meaning as text; elsewhere it is escaped. */
function withoutHtml(line: string): string {
  return line.replace(/(`+)[^`]+\1(?!`)|</g, (found) => (found === '<' ? '\\<' : found));
}
