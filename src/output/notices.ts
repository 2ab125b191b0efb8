/** What goes to stderr beside the data: notices, warnings, the one error. Plain lines, or one JSON object a line. */
import type { AppError } from '../errors.ts';
import { isForPrograms, noticeLine } from '../text/notice.ts';
import { NO_COLORS, type Palette } from '../text/palette.ts';
import { safeMultiline } from '../text/safe-text.ts';
import type { Format } from './emit.ts';
import { jsonLine } from './json.ts';

export { noticeLine };

/** One line: `warning: …`, or `{"notice":…,"level":"warning"}`. */
export function warningLine(text: string, format: Format | undefined, palette: Palette = NO_COLORS): string {
  if (isForPrograms(format)) return jsonLine({ notice: text, level: 'warning' });
  return `${palette.warn('warning:')} ${safeMultiline(text)}\n`;
}

/** The JSON form of an error: always all members, null where there is nothing to say; further data after them. */
export function errorRecord(error: AppError): { error: Record<string, unknown> } {
  const { hint, status, request, retryable, data } = error.details;
  return {
    error: {
      code: error.kind,
      message: error.message,
      hint: hint ?? null,
      status: status ?? null,
      request: request ?? null,
      retryable: retryable ?? false,
      ...data,
    },
  };
}

/** `error: message` and, indented, the next step; or one JSON object. */
export function errorText(error: AppError, format: Format | undefined, palette: Palette = NO_COLORS): string {
  if (isForPrograms(format)) return jsonLine(errorRecord(error));
  const hint = error.details.hint ? `  ${safeMultiline(error.details.hint)}\n` : '';
  return `${palette.bad('error:')} ${safeMultiline(error.message)}\n${hint}`;
}
