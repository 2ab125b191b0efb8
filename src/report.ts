/** What cli.ts prints at the end of a command that did not end by itself: an error, or what --dry-run kept back. */
import type { Context, Format } from './context.ts';
import type { AppError } from './errors.ts';
import { errorText } from './output/notices.ts';

export async function printError(context: Context, error: AppError, format: Format | undefined): Promise<void> {
  await context.io.stderr.write(context.redact(errorText(error, format, await context.palette())));
}

export async function printDryRun(context: Context): Promise<void> {
  const { requests } = context.dryRun;
  const format = context.globals.format;
  if (format === 'json' || format === 'ndjson') {
    await context.out.raw(`${JSON.stringify({ dry_run: true, requests }, null, format === 'json' ? 2 : undefined)}\n`);
  } else {
    const lines = requests.map(
      ({ method, url, body }) =>
        `${method} ${url}\n${body === undefined || body === null ? '' : `${JSON.stringify(body, null, 2)}\n`}`,
    );
    await context.out.raw(lines.join('\n'));
  }
  await context.out.close();
}
