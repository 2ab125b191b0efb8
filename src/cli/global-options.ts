import type { Command } from 'commander';
import { explanationOf } from '../commands/shared/declare.ts';
import { collectList, duration, invalidValue, oneOf } from '../commands/shared/option-parsers.ts';
import type { GlobalOptions } from '../commands/context.ts';
import { AppError } from '../base/errors.ts';
import { FORMATS, type Format } from '../output/emit.ts';

/** Opened as files these would truncate or replace the target of stdout. */
const STDOUT_NAMES = ['/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'];

export const DEFAULT_GLOBALS: GlobalOptions = {
  input: 'allowed',
  yes: 'not-given',
  mode: 'live',
  color: 'auto',
  pager: 'auto',
  debug: 'off',
};

export function declareRoot(root: Command, version: string): void {
  root
    .description('Start and manage agent conversations on OpenHands servers.')
    .usage('<command> [options]')
    .optionsGroup('Server flags:')
    .option('-p, --profile <name>', 'use this profile')
    .option('--base-url <url>', 'use this server')
    .option('--api-key-file <path|->', 'read the key from a file, or from stdin')
    .option(
      '--request-timeout <duration>',
      'fail a request after this time without data (default 30s)',
      (value) => {
        const ms = duration(value);
        if (ms === 0) throw invalidValue('It must be more than 0.');
        return ms;
      },
    )
    .optionsGroup('Output flags:')
    .option('--json', 'print JSON (same as --format json)')
    .option(`--format <${FORMATS.join('|')}>`, 'output format (acs help output)', oneOf(...FORMATS))
    .option('-q, --quiet', 'print ids only (same as --format id)')
    .option('--fields <a,b,…>', 'choose and order the fields of table, tsv and json', collectList)
    .option('--jq <expr>', 'filter the JSON with a jq expression; implies --json')
    .option('-o, --output <file|->', 'write the data to a file')
    .option('--no-color', 'print without colours')
    .option('--no-pager', 'print long text without a pager')
    .option('--debug', 'log requests and answers to stderr, without secrets')
    .optionsGroup('Other flags:')
    .option('--no-input', 'never prompt; the default outside a terminal')
    .option(
      '-y, --yes',
      'confirm the changes that acs makes; actions of an agent still await approval',
    )
    .option('--dry-run', 'print the write requests instead of sending them')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print the help of acs or of a command');
}

interface RootFlags extends Pick<
  GlobalOptions,
  'profile' | 'baseUrl' | 'apiKeyFile' | 'fields' | 'jq' | 'output' | 'format'
> {
  json?: boolean;
  quiet?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  debug?: boolean;
  requestTimeout?: number;
  /** These are false with `--no-…`. */
  input: boolean;
  color: boolean;
  pager: boolean;
}

/** Throws `usage` when flags contradict each other. */
export function readGlobalOptions(root: Command, command: Command): GlobalOptions {
  const { json, jq, quiet, format, output, ...flags } = root.opts<RootFlags>();
  const { input, yes, dryRun, requestTimeout, color, pager, debug, ...others } = flags;
  const isStdout = output !== undefined && STDOUT_NAMES.includes(output);
  return {
    ...others,
    jq,
    format: namedFormat({ json, jq, quiet, format }),
    [explanationOf(command)?.output ?? 'output']: isStdout ? '-' : output,
    input: input ? 'allowed' : 'never',
    yes: yes ? 'given' : 'not-given',
    mode: dryRun ? 'dry-run' : 'live',
    requestTimeoutMs: requestTimeout,
    color: color ? 'auto' : 'never',
    pager: pager ? 'auto' : 'never',
    debug: debug ? 'on' : 'off',
  };
}

function namedFormat({
  json,
  jq,
  quiet,
  format,
}: Pick<RootFlags, 'json' | 'jq' | 'quiet' | 'format'>): Format | undefined {
  const formats = new Set<Format>();
  if (json || (jq !== undefined && format !== 'ndjson')) formats.add('json');
  if (quiet) formats.add('id');
  if (format) formats.add(format);
  if (formats.size > 1) {
    const names = [...formats].join(', ');
    const text = `--json, --jq, -q and --format name different formats: ${names}`;
    throw new AppError('usage', text);
  }
  return [...formats][0];
}

/** Before the command line is parsed. */
export function guessFormat(argv: readonly string[]): Format | undefined {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  if (flags.some((flag) => /^--(json|format=json|jq(=.*)?)$/s.test(flag))) return 'json';
  if (flags.includes('--format=ndjson')) return 'ndjson';
  const value = flags[flags.indexOf('--format') + 1];
  return flags.includes('--format') ? FORMATS.find((format) => format === value) : undefined;
}
