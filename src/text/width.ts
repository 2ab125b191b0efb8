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

/** Characters that take one column each: Latin, Greek, Cyrillic and common punctuation, without combining ones. */
const ONE_COLUMN_EACH =
  /^[\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0377\u0384-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u203b\u2190-\u2193]*$/;

/** Longer than any terminal is wide: such a text is cut before it is measured. */
const LONGEST_MEASURED = 4096;

/** A ruler for these texts. The library that knows wide and combining characters is loaded only when they have some. */
export async function rulerFor(texts: Iterable<string>): Promise<Ruler> {
  for (const text of texts) {
    if (!ONE_COLUMN_EACH.test(text)) return wideRuler();
  }
  return rulerOf((text) => text.length);
}

/** A ruler for any text. */
export async function wideRuler(): Promise<Ruler> {
  const { stringWidth } = await import('./wide.ts');
  return rulerOf((text) => (ONE_COLUMN_EACH.test(text) ? text.length : stringWidth(text)));
}

function rulerOf(width: (text: string) => number): Ruler {
  return {
    width,
    truncate: (text, columns) => truncate(text, columns, width),
    pad: (text, columns) => text + ' '.repeat(Math.max(0, columns - width(text))),
  };
}

function truncate(text: string, columns: number, width: (text: string) => number): string {
  if (text.length <= columns && ONE_COLUMN_EACH.test(text)) return text;
  const measured = text.slice(0, LONGEST_MEASURED);
  if (measured.length === text.length && width(text) <= columns) return text;
  if (columns < 1) return '';
  if (ONE_COLUMN_EACH.test(measured)) return `${measured.slice(0, columns - 1)}…`;
  let kept = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(measured)) {
    const next = width(segment);
    if (used + next > columns - 1) break;
    kept += segment;
    used += next;
  }
  return `${kept}…`;
}
