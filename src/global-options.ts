/** The global flags: declared on the root command, read once into ctx.globals. */
import type { Command } from 'commander';
import { collectList, duration, invalidValue, oneOf } from './commands/option-parsers.ts';
import type { Format, GlobalOptions } from './context.ts';
import { AppError } from './errors.ts';

const FORMATS = ['table', 'tsv', 'json', 'ndjson', 'id'] as const;

/** Opened as files these would truncate or replace the target of stdout. */
const STDOUT_NAMES = ['/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'];

export const DEFAULT_GLOBALS: GlobalOptions = {
  input: 'allowed',
  yes: 'not-given',
  mode: 'live',
  color: 'auto',
  debug: 'off',
};

export function declareGlobalOptions(root: Command, version: string): void {
  root
    .optionsGroup('Server flags:')
    .option('-p, --profile <name>', 'use this profile; lists and bulk commands take several: a,b,c')
    .option('--base-url <url>', 'use this server')
    .option('--api-key-file <path|->', 'read the key from a file, or from stdin')
    .option('--request-timeout <duration>', 'limit of one request without data (default 30s)', positiveDuration)
    .option('--rate <n>', 'limit of requests per second to the server', requestsPerSecond)
    .optionsGroup('Output flags:')
    .option('--json', 'print JSON (same as --format json)')
    .option('--format <table|tsv|json|ndjson|id>', 'output format (acs help output)', oneOf(...FORMATS))
    .option('-q, --quiet', 'print ids only (same as --format id)')
    .option('--fields <a,b,…>', 'choose and order the fields of table, tsv and json', collectList)
    .option('--jq <expr>', 'print what a jq expression selects of the JSON; implies --json')
    .option('-o, --output <file|->', 'write the data to a file')
    .option('--no-color', 'print without colours')
    .option('--debug', 'log requests and answers to stderr, without secrets')
    .optionsGroup('Other flags:')
    .option('--no-input', 'never prompt; this is the default off a terminal')
    .option('-y, --yes', 'answer yes to the questions of acs, not to those of an agent')
    .option('--dry-run', 'print the write requests instead of sending them')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print the help of acs or of a command');
}

function positiveDuration(value: string): number {
  const ms = duration(value);
  if (ms === 0) throw invalidValue('It must be more than 0.');
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
    jq?: string;
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
    jq: given.jq,
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

function formatOf(given: { json?: boolean; jq?: string; quiet?: boolean; format?: Format }): Format | undefined {
  const asked = new Set<Format>();
  if (given.json || (given.jq !== undefined && given.format !== 'ndjson')) asked.add('json');
  if (given.quiet) asked.add('id');
  if (given.format) asked.add(given.format);
  if (asked.size > 1)
    throw new AppError('usage', `--json, --jq, -q and --format name different formats: ${[...asked].join(', ')}`);
  return [...asked][0];
}

/** The format named in the raw arguments, for errors before commander has parsed them. */
export function guessFormat(argv: readonly string[]): Format | undefined {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  if (flags.some((flag) => /^--(json|format=json|jq(=.*)?)$/s.test(flag))) return 'json';
  if (flags.includes('--format=ndjson')) return 'ndjson';
  const at = flags.indexOf('--format');
  const value = at === -1 ? undefined : flags[at + 1];
  return FORMATS.find((format) => format === value);
}
