/** The only owner of chalk, which is loaded when a stream takes colours. */
import { NO_COLORS, type Palette } from '../base/text/notice.ts';

/** In this order: the flag, FORCE_COLOR, NO_COLOR, the stream. Empty variables do not count. */
export function takesColors(
  { isTTY }: { isTTY: boolean },
  env: NodeJS.ProcessEnv,
  color: 'auto' | 'never',
): boolean {
  if (color === 'never') return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  if (env.NO_COLOR || env.TERM === 'dumb') return false;
  return isTTY;
}

export async function paletteFor(...question: Parameters<typeof takesColors>): Promise<Palette> {
  return takesColors(...question) ? await coloredPalette() : NO_COLORS;
}

export function isCi({ CI = '' }: NodeJS.ProcessEnv): boolean {
  return CI !== '' && CI !== 'false';
}

/** The sixteen colours of every terminal: its owner has chosen how they look. */
export async function coloredPalette(): Promise<Palette> {
  const { Chalk } = await import('chalk');
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
