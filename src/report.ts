/** What cli.ts prints at the end of a command that did not end by itself: an error, or what --dry-run kept back. */
import type { Context, Format } from './context.ts';
import type { AppError } from './errors.ts';
import { jsonDocument, jsonLine } from './output/json.ts';
import { errorText, errorTextFor } from './output/notices.ts';
import { isForPrograms } from './text/notice.ts';

export async function printError(context: Context, error: AppError, format: Format | undefined): Promise<void> {
  const look = { palette: await context.palette(), redact: context.redact };
  const { isTTY, columns } = context.io.stderr;
  const text =
    isTTY && columns && !isForPrograms(format)
      ? await errorTextFor(error, columns, look)
      : errorText(error, format, look);
  await context.io.stderr.write(text);
}

export async function printDryRun(context: Context): Promise<void> {
  const { requests } = context.dryRun;
  const format = context.globals.format;
  if (format === 'json' || format === 'ndjson') {
    const record = { dry_run: true, requests };
    await context.out.raw(format === 'json' ? jsonDocument(record) : jsonLine(record));
  } else {
    const lines = requests.map(
      ({ method, url, body }) =>
        `${method} ${url}\n${body === undefined || body === null ? '' : `${JSON.stringify(body, null, 2)}\n`}`,
    );
    await context.out.raw(lines.join('\n'));
  }
  await context.out.close();
}
