import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import { AppError, isAppError, isOfKind } from '../../base/errors.ts';
import { positionInJson } from '../../base/text/json-position.ts';
import type { DraftProblem } from '../../domain/automation.ts';
import { readDraft, type AutomationFile } from '../../domain/automation-plan.ts';
import { readNamedFile, unreadable } from '../shared/files.ts';

/** The service takes 50,000 characters as a prompt. */
const MOST_BYTES = 1024 * 1024;

export interface FileProblem extends DraftProblem {
  file: string;
}

/** Of a folder the JSON and YAML files directly in it. Throws `usage` where it has none. */
export async function readAutomationFiles(
  ctx: Context,
  given: readonly string[],
  options: { prune?: boolean | undefined },
): Promise<{ files: AutomationFile[]; problems: FileProblem[] }> {
  const read = { files: [] as AutomationFile[], problems: [] as FileProblem[] };
  const files = await Promise.all(given.map((each) => filesOf(ctx, each, options)));
  const names = new Set(files.flat());
  for (const file of names) {
    const problem = (message: string, field: string | null = null) =>
      void read.problems.push({ file, field, message });
    try {
      const draft = readDraft(await parseFile(ctx, file));
      const name = draft?.body['name'];
      // YAML reads yes as a text. The server takes it as true, and never returns it.
      const flag = ['enabled', 'keep_alive'].find((each) => typeof draft?.body[each] === 'string');
      const same = read.files.find((other) => other.name === name);
      if (draft === null) problem('is not an object');
      else if (isDeeper(draft.body)) problem('is nested too deeply, or contains itself');
      else if (typeof name !== 'string' || name === '') problem('must be a text', 'name');
      else if ('template' in draft.body) problem('is set by apply', 'template');
      else if (flag !== undefined) problem('must be true or false', flag);
      else if (same !== undefined) problem(`is that of ${same.file} too`, 'name');
      else read.files.push({ file, name, draft });
    } catch (error) {
      if (!isOfKind('usage')(error)) throw error;
      problem(error.message);
    }
  }
  return read;
}

/** Of objects and lists; an anchor of YAML can make one a member of itself. */
const MOST_LEVELS = 100;

function isDeeper(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

async function filesOf(
  { local: { cwd } }: Context,
  given: string,
  { prune }: { prune?: boolean | undefined },
): Promise<string[]> {
  const folder = path.resolve(cwd, given);
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    (error: unknown) => {
      throw unreadable(given, error, folder);
    },
  );
  if (!isFolder && prune)
    throw new AppError('usage', `--prune takes folders only, and ${given} is a file`);
  if (!isFolder) return [given];
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.(json|ya?ml)$/i.test(name));
  if (names.length > 0) return names.sort().map((name) => path.join(given, name));
  throw new AppError('usage', `${given} has no JSON or YAML file`);
}

async function parseFile(ctx: Context, file: string): Promise<unknown> {
  const bytes = await readNamedFile(ctx, file, (size) => {
    if (size > MOST_BYTES) throw new AppError('usage', 'is larger than 1 MiB');
  });
  const { parse } = /\.json$/i.test(file) ? JSON_READER : await yamlReader();
  try {
    return parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (isAppError(error)) throw error;
    throw new AppError('usage', 'is not UTF-8', { cause: error });
  }
}

const JSON_READER = {
  parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      const where = positionInJson(text, (error as Error).message);
      throw new AppError('usage', `is not JSON${where === null ? '' : ` (${where})`}`);
    }
  },
};

async function yamlReader(): Promise<typeof JSON_READER> {
  const { parse } = await import('yaml');
  return {
    parse(text) {
      try {
        return parse(text, { logLevel: 'error' }) as unknown;
      } catch (error) {
        // The first line names the place, the others show it.
        const [what = ''] = (error as Error).message.split('\n');
        throw new AppError('usage', `is not YAML: ${what.replace(/:$/, '')}`);
      }
    },
  };
}

export async function asYaml(value: object): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0 });
}
