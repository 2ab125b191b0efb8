/** How wide each column of a table may be. Pure arithmetic on widths in columns of the terminal. */

export interface ColumnNeed {
  /** What its widest cell or its heading takes. */
  natural: number;
  /** Higher keeps its width longer; 0 is never cut while anything else can be. */
  weight: number;
  /** The narrowest useful width; where that does not fit the column is left out. Default: NARROWEST. */
  minimum?: number;
  /** It has a heading and nothing below it: what others would be cut for. */
  isEmpty?: boolean;
}

/** Between two columns. */
export const GAP = 2;
/** A column of text narrower than this is not readable. */
const NARROWEST = 5;

/**
 * Widths that fit together into `available`; null for a column that is left out: empty ones first, then those on the
 * right, because a view names what matters most first. One stays.
 */
export function fitColumns(needs: readonly ColumnNeed[], available: number): (number | null)[] {
  const fits = sum(needs.map((need) => need.natural)) + GAP * (needs.length - 1) <= available;
  const filled = needs.filter((need) => !need.isEmpty);
  if (fits || filled.length === 0 || filled.length === needs.length) return fitFilled(needs, available);
  const widths = fitFilled(filled, available);
  return needs.map((need) => (need.isEmpty ? null : (widths[filled.indexOf(need)] ?? null)));
}

function fitFilled(needs: readonly ColumnNeed[], available: number): (number | null)[] {
  let count = needs.length;
  const roomFor = (columns: number) => available - GAP * (columns - 1);
  while (count > 1 && sum(needs.slice(0, count).map(minimumOf)) > roomFor(count)) count -= 1;
  const widths = share(needs.slice(0, count), roomFor(count));
  return needs.map((_, index) => (index < count ? Math.max(1, widths[index] ?? 1) : null));
}

function minimumOf({ natural, minimum }: ColumnNeed): number {
  return Math.min(natural, minimum ?? NARROWEST);
}

/** Natural widths where they fit; else the rest is shared by weight among the columns that want more than their part. */
function share(needs: readonly ColumnNeed[], available: number): number[] {
  const widths = needs.map((need) => need.natural);
  if (sum(widths) <= available) return widths;
  if (needs.length === 1) return [available];
  const fixed = sum(needs.filter((need) => need.weight === 0).map((need) => need.natural));
  const flexible = needs.flatMap((need, index) => (need.weight > 0 ? [index] : []));
  const least = sum(needs.filter((need) => need.weight > 0).map(minimumOf));
  const keepsFixed = flexible.length > 0 && available - fixed >= least;
  let open = keepsFixed ? flexible : needs.map((_, index) => index);
  let left = keepsFixed ? available - fixed : available;
  const weightOf = (index: number) => (keepsFixed ? (needs[index]?.weight ?? 1) : 1);
  const settle = (indexes: readonly number[], widthOf: (need: ColumnNeed) => number): void => {
    for (const index of indexes) widths[index] = widthOf(needs[index] as ColumnNeed);
    left -= sum(indexes.map((index) => widths[index] ?? 0));
    open = open.filter((index) => !indexes.includes(index));
  };
  while (open.length > 0) {
    const unit = left / sum(open.map(weightOf));
    const part = (index: number) => Math.floor(unit * weightOf(index));
    // What would become too narrow takes from the others; only then do those that need less give back.
    const narrow = open.filter((index) => minimumOf(needs[index] as ColumnNeed) > part(index));
    const content = open.filter((index) => (needs[index]?.natural ?? 0) <= part(index));
    if (narrow.length > 0) settle(narrow, minimumOf);
    else if (content.length > 0) settle(content, ({ natural }) => natural);
    else break;
  }
  if (open.length > 0) distribute(open, weightOf, left, widths);
  return widths;
}

function distribute(
  open: readonly number[],
  weightOf: (index: number) => number,
  left: number,
  widths: number[],
): void {
  const unit = left / sum(open.map(weightOf));
  for (const index of open) widths[index] = Math.max(0, Math.floor(unit * weightOf(index)));
  // What rounding left over goes to the first ones.
  let rest = left - sum(open.map((index) => widths[index] ?? 0));
  for (const index of open) {
    if (rest < 1) return;
    widths[index] = (widths[index] ?? 0) + 1;
    rest -= 1;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
