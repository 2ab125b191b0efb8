/** How wide each column of a table may be. Pure arithmetic on widths in columns of the terminal. */

export interface ColumnNeed {
  /** What its widest cell or its heading takes. */
  natural: number;
  /** Higher keeps its width longer; 0 is never cut while anything else can be. */
  weight: number;
}

/** Between two columns. */
export const GAP = 2;
/** A column narrower than this tells nothing: it is left out instead. */
const NARROWEST = 5;

/**
 * Widths that fit together into `available`; null for a column that is left out. At least one column stays.
 */
export function fitColumns(needs: readonly ColumnNeed[], available: number): (number | null)[] {
  const shown = needs.map((_, index) => index);
  for (;;) {
    const widths = share(
      shown.map((index) => needs[index] as ColumnNeed),
      available - GAP * (shown.length - 1),
    );
    const fits = shown.every((index, at) => (widths[at] ?? 0) >= Math.min(NARROWEST, needs[index]?.natural ?? 0));
    if (fits || shown.length <= 1) {
      return needs.map((_, index) => {
        const at = shown.indexOf(index);
        return at === -1 ? null : Math.max(1, widths[at] ?? 1);
      });
    }
    shown.splice(shown.indexOf(leastNeeded(shown, needs)), 1);
  }
}

/** The rightmost of the columns that give way first. */
function leastNeeded(shown: readonly number[], needs: readonly ColumnNeed[]): number {
  const rank = (index: number) => needs[index]?.weight || Number.POSITIVE_INFINITY;
  const lowest = Math.min(...shown.map(rank));
  return shown.filter((index) => rank(index) === lowest).at(-1) ?? 0;
}

/** Natural widths where they fit; else the rest is shared by weight among the columns that want more than their part. */
function share(needs: readonly ColumnNeed[], available: number): number[] {
  const widths = needs.map((need) => need.natural);
  if (sum(widths) <= available) return widths;
  const fixed = sum(needs.filter((need) => need.weight === 0).map((need) => need.natural));
  const flexible = needs.flatMap((need, index) => (need.weight > 0 ? [index] : []));
  const keepsFixed = flexible.length > 0 && available - fixed >= flexible.length;
  let open = keepsFixed ? flexible : needs.map((_, index) => index);
  let left = keepsFixed ? available - fixed : available;
  const weightOf = (index: number) => (keepsFixed ? (needs[index]?.weight ?? 1) : 1);
  // Columns that need less than their share give the rest back to the others.
  for (;;) {
    const unit = left / sum(open.map(weightOf));
    const content = open.filter((index) => (needs[index]?.natural ?? 0) <= Math.floor(unit * weightOf(index)));
    if (content.length === 0) {
      distribute(open, weightOf, left, widths);
      return widths;
    }
    left -= sum(content.map((index) => needs[index]?.natural ?? 0));
    open = open.filter((index) => !content.includes(index));
    if (open.length === 0) return widths;
  }
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
