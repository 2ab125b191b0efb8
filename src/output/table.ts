/** The one owner of cli-table3: lays out cells that are already cut to their width. Loaded on the first table. */
import Table from 'cli-table3';

export interface TableCell {
  /** Safe text, at most as wide as its column. */
  text: string;
  /** Columns of the terminal it takes. */
  width: number;
  /** Puts colours around it. */
  paint: (text: string) => string;
}

/**
 * Stands for a text that the library must not measure: it counts some emoji and scripts differently from terminals,
 * because it brings an older table of widths. Private use, one column wide.
 */
const STAND_IN = '\ue000';

/** Lines without borders, two spaces between columns, no spaces at the ends. */
export function drawTable(rows: readonly (readonly TableCell[])[], widths: readonly number[]): string[] {
  const none = '';
  const table = new Table({
    colWidths: widths.map((width, index) => width + (index === widths.length - 1 ? 0 : 2)),
    chars: {
      top: none,
      'top-mid': none,
      'top-left': none,
      'top-right': none,
      bottom: none,
      'bottom-mid': none,
      'bottom-left': none,
      'bottom-right': none,
      left: none,
      'left-mid': none,
      mid: none,
      'mid-mid': none,
      right: none,
      'right-mid': none,
      middle: none,
    },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
  });
  // One row is laid out, and all are like it: the library compares each cell with those of all rows above.
  table.push(widths.map((width) => STAND_IN.repeat(width)));
  const pattern = table.toString();
  return rows.map((row) => {
    let column = 0;
    const line = pattern.replace(/\ue000+/g, (place) => {
      const cell = row[column++];
      return cell ? cell.paint(cell.text) + ' '.repeat(place.length - cell.width) : '';
    });
    return line.trimEnd();
  });
}
