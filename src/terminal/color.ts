/** The one owner of chalk: colours of one stream, by meaning. Loaded only when that stream takes colours. */
import { Chalk } from 'chalk';
import type { Palette } from '../text/palette.ts';

/** The sixteen colours of every terminal: its owner has chosen how they look. */
export function coloredPalette(): Palette {
  const chalk = new Chalk({ level: 1 });
  return {
    dim: (text) => chalk.dim(text),
    bold: (text) => chalk.bold(text),
    good: (text) => chalk.green(text),
    bad: (text) => chalk.red(text),
    warn: (text) => chalk.yellow(text),
    accent: (text) => chalk.cyan(text),
  };
}
