/** A word to the user on stderr: a plain line, or one JSON object for programs. */
import { escapeJson, safeMultiline } from './safe-text.ts';

/** With json and ndjson stderr is for programs too. */
export function isForPrograms(format: string | undefined): boolean {
  return format === 'json' || format === 'ndjson';
}

/** One line: the text, or `{"notice":…}`. */
export function noticeLine(text: string, format: string | undefined): string {
  return isForPrograms(format) ? `${escapeJson(JSON.stringify({ notice: text }))}\n` : `${safeMultiline(text)}\n`;
}
