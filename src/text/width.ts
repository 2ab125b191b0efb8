/** How many columns of a terminal a text takes, and cutting and filling to a number of them. */

/** Measures safe text (no control characters). */
export interface Ruler {
  /** Columns of a terminal. */
  width(text: string): number;
  /** At most `columns` wide, ending in `…` when something was cut. */
  truncate(text: string, columns: number): string;
  /** At least `columns` wide, filled with spaces at the end. */
  pad(text: string, columns: number): string;
}

const ONE_COLUMN =
  '\\x20-\\x7e\\u00a0-\\u00ac\\u00ae-\\u02ff\\u0370-\\u0377\\u0384-\\u0482\\u048a-\\u052f\\u2010-\\u2027\\u2030-\\u203b\\u2190-\\u2193\\u2500-\\u257f\\u2713\\u2717';
const TWO_COLUMNS =
  '\\u3000-\\u3020\\u3041-\\u3096\\u309b-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3\\uff01-\\uff60';

/**
 * Latin, Greek, Cyrillic, Chinese, Japanese, Korean and common punctuation, the marks of acs: each character stands for itself, nothing
 * combines. Their width is known without a library; emoji and other scripts need one.
 */
const SIMPLE = new RegExp(`^[${ONE_COLUMN}${TWO_COLUMNS}]*$`);
const WIDE = new RegExp(`[${TWO_COLUMNS}]`, 'g');

/** Longer than any terminal is wide: such a text is cut before it is measured. */
const LONGEST_MEASURED = 4096;

/** A ruler for these texts. The library for wide and combining characters is loaded only when they have some. */
export async function rulerFor(texts: Iterable<string>): Promise<Ruler> {
  for (const text of texts) {
    if (!SIMPLE.test(text)) return wideRuler();
  }
  return rulerOf(simpleWidth);
}

/** For any text, at once and without the library: where the library would be exact, the widest possible. */
export function roughRuler(): Ruler {
  return rulerOf((text) => (SIMPLE.test(text) ? simpleWidth(text) : roughWidth(text)));
}

/** Marks that stand on another character, joiners, the colours of skins. */
const NO_COLUMN = /[\p{Mn}\p{Me}\p{Cf}\p{Emoji_Modifier}\ufe0f]/gu;
const MAYBE_TWO_COLUMNS =
  /[\p{Extended_Pictographic}\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Bopomofo}\p{sc=Yi}\p{sc=Tangut}\u3000-\u303f\u30fc\uff01-\uff60\uffe0-\uffe6]/gu;

function roughWidth(text: string): number {
  const shown = text.replace(NO_COLUMN, '');
  return [...shown].length + (shown.match(MAYBE_TWO_COLUMNS)?.length ?? 0);
}

/** A ruler for any text. The library costs some 30 ms at its first use. */
export async function wideRuler(): Promise<Ruler> {
  const { default: stringWidth } = await import('string-width');
  return rulerOf((text) => (SIMPLE.test(text) ? simpleWidth(text) : stringWidth(text)));
}

function simpleWidth(text: string): number {
  return text.length + (text.match(WIDE)?.length ?? 0);
}

function rulerOf(width: (text: string) => number): Ruler {
  return {
    width,
    truncate: (text, columns) => truncate(text, columns, width),
    pad: (text, columns) => text + ' '.repeat(Math.max(0, columns - width(text))),
  };
}

function truncate(text: string, columns: number, width: (text: string) => number): string {
  const measured = text.slice(0, LONGEST_MEASURED);
  if (measured.length === text.length && width(text) <= columns) return text;
  if (columns < 1) return '';
  const characters = SIMPLE.test(measured) ? measured : graphemes(measured);
  let kept = '';
  let used = 0;
  for (const character of characters) {
    const next = width(character);
    if (used + next > columns - 1) break;
    kept += character;
    used += next;
  }
  return `${kept}…`;
}

function* graphemes(text: string): Iterable<string> {
  for (const { segment } of new Intl.Segmenter().segment(text)) yield segment;
}
