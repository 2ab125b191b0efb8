/** What cli.ts prints at the end of a command that did not end by itself: an error, or what --dry-run kept back. */
import type { Context, Format } from './context.ts';
import { AppError, type ErrorKind } from './errors.ts';
import { errorText, errorTextFor } from './output/notices.ts';
import { isForPrograms } from './text/notice.ts';

/** The next step of an error that names none. */
const NEXT_STEPS: Partial<Record<ErrorKind, string>> = {
  config: 'see: acs help environment',
  auth: 'see which key is used: acs whoami',
  'not-found': 'list what exists: acs conv list, acs sandbox list, acs specs list',
  conflict: 'see the current state: acs conv show <id>, acs sandbox show <id>',
  'rate-limited': 'try again later, or lower --rate',
  'needs-input': 'see the pending action: acs conv confirm <id>',
  server: 'check the server: acs whoami',
  network: 'check the server: acs whoami',
  'unknown-outcome': 'check before you try again: acs conv list',
  unsupported: 'see the active server: acs whoami',
  timeout: 'wait longer: --wait-timeout <duration>',
  failed: 'see what happened: acs conv events <id>',
};

/**
 * The same error with the URL of the server where it names no request: what an answer shows, such as an id that is not
 * found or is ambiguous, is true of that server alone.
 * A wrong configuration or file, and a bug, are not the server's.
 * @param servers those that the command has connected to
 */
export function withServer(error: AppError, servers: readonly string[]): AppError {
  const { kind, message, exitCode, details } = error;
  const isLocal = kind === 'config' || kind === 'internal';
  if (isLocal || details.request !== undefined || servers.length === 0) return error;
  return new AppError(kind, message, { ...details, exitCode, server: servers.join(', ') });
}

/** The same error with a next step. */
export function withNextStep(error: AppError): AppError {
  const hint = NEXT_STEPS[error.kind];
  if (error.details.hint !== undefined || hint === undefined) return error;
  return new AppError(error.kind, error.message, { ...error.details, hint });
}

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
    await context.out.documents([record]);
  } else {
    const lines = requests.map(
      ({ method, url, body }) =>
        `${method} ${url}\n${body === undefined || body === null ? '' : `${JSON.stringify(body, null, 2)}\n`}`,
    );
    await context.out.raw(lines.join('\n'));
  }
  await context.out.close();
}
