/** Refuses formats and flags that make no sense for a command, before it sends anything. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../errors.ts';
import { chosenFields } from './fields.ts';
import type { View } from './view.ts';
import type { EmitterSettings, Format, OutputKind } from './emitter-options.ts';

const FORMATS: readonly Format[] = ['table', 'tsv', 'json', 'ndjson', 'id'];

/** What -o takes in other tools. */
const OTHER_FORMATS = ['yaml', 'wide', 'csv'];

/** @throws usage, config */
export function checkOutput<T>(view: View<T> | null, kind: OutputKind, settings: EmitterSettings, cwd: string): void {
  checkFile(settings.output, cwd);
  const { format, fields, jq } = settings;
  if (kind === 'raw' || kind === 'document') {
    if (format && !(kind === 'document' && format.includes('json')))
      throw new AppError(
        'usage',
        `this command prints raw data and has no ${jq === undefined ? `--format ${format}` : '--jq'}`,
      );
    if (fields) throw new AppError('usage', 'this command prints raw data and has no --fields');
    return;
  }
  if (kind === 'stream' && format === 'table') {
    throw new AppError('usage', 'a stream cannot be printed as a table', {
      hint: 'omit --format for plain lines, or use tsv, ndjson or id',
    });
  }
  if (!fields) return;
  if (!view) throw new AppError('usage', 'this command has no --fields');
  if (format === 'id') throw new AppError('usage', '-q (ids only) and --fields cannot be combined');
  chosenFields(view, fields);
}

function checkFile(output: string | undefined, cwd: string): void {
  if (output === undefined || output === '-') return;
  if (output === '') throw new AppError('usage', '--output needs the name of a file, or - for stdout');
  if (OTHER_FORMATS.includes(output)) {
    throw new AppError('usage', `-o takes a file, and "${output}" is not a format of acs`, {
      hint: `--format takes ${FORMATS.join(', ')}; for a file of that name: -o ./${output}`,
    });
  }
  const format = FORMATS.find((known) => known === output);
  if (format) {
    throw new AppError('usage', `-o takes a file, and "${output}" is a format`, {
      hint: `${format === 'json' ? 'use --json' : `use --format ${format}`}; for a file of that name: -o ./${output}`,
    });
  }
  const file = path.resolve(cwd, output);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new AppError('config', `cannot write ${output}: it is a folder`);
  }
  if (!folderExists(path.dirname(file))) {
    throw new AppError('config', `cannot write ${output}: its folder does not exist`);
  }
}

function folderExists(folder: string): boolean {
  try {
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}
