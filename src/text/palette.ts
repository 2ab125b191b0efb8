/** Colours by meaning. Where there are none, `NO_COLORS` gives the text back as it is. */
export type Tone = 'dim' | 'bold' | 'good' | 'bad' | 'warn' | 'accent';

/** Puts escape sequences around a text that is already safe. */
export type Palette = Readonly<Record<Tone, (text: string) => string>>;

const same = (text: string): string => text;

export const NO_COLORS: Palette = { dim: same, bold: same, good: same, bad: same, warn: same, accent: same };
