/** The global flags: declared on the root command, read once into ctx.globals. */
import type { Command } from 'commander';
import { collectList, duration, invalidValue, oneOf } from './commands/options.ts';
import type { Format, GlobalOptions } from './context.ts';
import { AppError } from './errors.ts';

const FORMATS = ['table', 'tsv', 'json', 'ndjson', 'id'] as const;

/** As files these would be opened anew: what stdout was led to would be cut, or replaced. */
const STDOUT_NAMES = ['/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'];

export const DEFAULT_GLOBALS: GlobalOptions = {
  input: 'allowed',
  yes: 'not-given',
  mode: 'live',
  color: 'auto',
  debug: 'off',
};

export function declareGlobalOptions(root: Command): void {
  root
    .option('-p, --profile <name>', 'use this profile (a,b,c on lists and bulk commands)')
    .option('--base-url <url>', 'use this server')
    .option('--api-key-file <path|->', 'read the key from this file, or from stdin')
    .option('--json', 'print one JSON document (same as --format json)')
    .option('--format <table|tsv|json|ndjson|id>', 'how data is printed (acs help output)', oneOf(...FORMATS))
    .option('-q, --quiet', 'print ids only (same as --format id)')
    .option('--fields <a,b,…>', 'choose and order the fields of table, tsv and json', collectList)
    .option('-o, --output <file|->', 'write the data to this file')
    .option('--no-input', 'never ask; always so off a terminal')
    .option('-y, --yes', "answer acs's own questions with yes")
    .option('--dry-run', 'print the requests a command would send, and send none that writes')
    .option('--request-timeout <duration>', 'one request: connect, headers, silence (default 30s)', someTime)
    .option('--rate <n>', 'requests a second to this server', requestsPerSecond)
    .option('--no-color', 'no colours')
    .option('--debug', 'log each request and answer to stderr, redacted');
}

/** Nothing could be answered in no time. */
function someTime(value: string): number {
  const ms = duration(value);
  if (ms === 0) throw invalidValue('It must be longer than nothing.');
  return ms;
}

function requestsPerSecond(value: string): number {
  const rate = Number(value);
  if (!Number.isFinite(rate) || rate <= 0) throw invalidValue('It must be a number above 0.');
  return rate;
}

/** Reads what commander found. Throws `usage` when flags contradict each other. */
export function readGlobalOptions(root: Command): GlobalOptions {
  const given = root.opts<{
    profile?: string;
    baseUrl?: string;
    apiKeyFile?: string;
    json?: boolean;
    format?: Format;
    quiet?: boolean;
    fields?: string[];
    output?: string;
    input: boolean;
    yes?: boolean;
    dryRun?: boolean;
    requestTimeout?: number;
    rate?: number;
    color: boolean;
    debug?: boolean;
  }>();
  return {
    profile: given.profile,
    baseUrl: given.baseUrl,
    apiKeyFile: given.apiKeyFile,
    format: formatOf(given),
    fields: given.fields,
    output: given.output !== undefined && STDOUT_NAMES.includes(given.output) ? '-' : given.output,
    input: given.input ? 'allowed' : 'never',
    yes: given.yes ? 'given' : 'not-given',
    mode: given.dryRun ? 'dry-run' : 'live',
    requestTimeoutMs: given.requestTimeout,
    rate: given.rate,
    color: given.color ? 'auto' : 'never',
    debug: given.debug ? 'on' : 'off',
  };
}

function formatOf(given: { json?: boolean; quiet?: boolean; format?: Format }): Format | undefined {
  const asked = new Set<Format>();
  if (given.json) asked.add('json');
  if (given.quiet) asked.add('id');
  if (given.format) asked.add(given.format);
  if (asked.size > 1)
    throw new AppError('usage', `--json, -q and --format ask for different formats: ${[...asked].join(', ')}`);
  return [...asked][0];
}

/** The format as far as the raw arguments tell, for errors that come before commander has read them. */
export function guessFormat(argv: readonly string[]): Format | undefined {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  if (flags.includes('--json') || flags.includes('--format=json')) return 'json';
  if (flags.includes('--format=ndjson')) return 'ndjson';
  const at = flags.indexOf('--format');
  const value = at === -1 ? undefined : flags[at + 1];
  return FORMATS.find((format) => format === value);
}
