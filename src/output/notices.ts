/** What goes to stderr beside the data: notices, warnings, the one error. Plain lines, or one JSON object a line. */
import type { AppError } from '../errors.ts';
import { isForPrograms, noticeLine, plainLines } from '../text/notice.ts';
import { NO_COLORS, type Palette } from '../text/palette.ts';
import { safeMultiline } from '../text/safe-text.ts';
import { jsonLine, mapStrings } from './json.ts';
import { renderParts } from './lines.ts';
import type { LinePart } from './view.ts';
import type { Format } from './emitter-options.ts';

export { noticeLine };

/** One line: `warning: …`, or `{"notice":…,"level":"warning"}`. */
export function warningLine(
  text: string,
  format: Format | undefined,
  palette: Palette = NO_COLORS,
  columns?: number,
): string {
  if (isForPrograms(format)) return jsonLine({ notice: text, level: 'warning' });
  const word = 'warning:';
  return `${palette.warn(word)}${plainLines(`${word} ${text}`, columns).slice(word.length)}\n`;
}

/** The JSON form of an error: always all members, null where there is nothing to say; further data after them. */
export function errorRecord(error: AppError): { error: Record<string, unknown> } {
  const { hint, status, request, server, retryable, data } = error.details;
  return {
    error: {
      code: error.kind,
      message: error.message,
      hint: hint ?? null,
      status: status ?? null,
      request: request ?? null,
      retryable: retryable ?? false,
      ...(server === undefined ? {} : { server }),
      ...data,
    },
  };
}

export interface ErrorLook {
  palette?: Palette;
  /** Applied to each text before it becomes JSON: afterwards it could cut a document in two. */
  redact?: (text: string) => string;
}

/** As errorText, for people at a terminal of so many columns: broken at words; ids and addresses stay whole. */
export async function errorTextFor(error: AppError, columns: number, look: ErrorLook = {}): Promise<string> {
  const { palette = NO_COLORS, redact = (text: string) => text } = look;
  const message: LinePart[] = [{ text: 'error:', tone: 'bad' }, { text: ` ${redact(error.message)}` }];
  const rows = [message, ...furtherLines(error).map((text) => [{ text: `  ${redact(text)}` }])];
  return await renderParts(rows, { width: columns, palette }, { indent: 2, longWords: 'keep' });
}

/** `error: message` and, indented, the request that failed or the server, and the next step; or one JSON object. */
export function errorText(error: AppError, format: Format | undefined, look: ErrorLook = {}): string {
  const { palette = NO_COLORS, redact = (text: string) => text } = look;
  if (isForPrograms(format)) return jsonLine(mapStrings(errorRecord(error), redact));
  const line = (text: string) => safeMultiline(redact(text));
  const further = furtherLines(error).map((text) => `  ${line(text)}\n`);
  return `${palette.bad('error:')} ${line(error.message)}\n${further.join('')}`;
}

/** The request that failed, or the server; and the next step. */
function furtherLines({ details: { request, server, hint } }: AppError): string[] {
  const [url = ''] = request?.url.split('?') ?? [];
  const lines = request === undefined ? [] : [`request: ${request.method} ${url}`];
  if (request === undefined && server !== undefined) lines.push(`server: ${server}`);
  return hint ? [...lines, hint] : lines;
}
