import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isAppError, isOfKind } from '../../base/errors.ts';
import { cut, shortened } from '../../base/text/well-formed.ts';
import type { Server } from '../../client/shared/server.ts';
import { filtersOf, neverMatches, type Automation } from '../../domain/automation.ts';
import {
  isFixed,
  markedDraft,
  planOf,
  recreatedDraft,
  type AutomationFile,
  type Difference,
  type Step,
} from '../../domain/automation-plan.ts';
import type { View } from '../../output/view.ts';
import { confirmChange, endChanges } from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import { allAutomations } from './automations.ts';
import { readAutomationFiles, type FileProblem } from './files.ts';

export interface AppliedFile {
  /** Null for an automation that no file has. */
  file: string | null;
  name: string;
  id: string | null;
  action: string;
  changed: boolean;
  differences: Difference[];
  error: { code: string; message: string } | null;
}

export const appliedView: View<AppliedFile> = {
  noun: 'applied automation',
  id: ({ id }) => id ?? '',
  fields: [
    { name: 'file', weight: 2 },
    { name: 'name', weight: 2 },
    { name: 'id', as: 'id', weight: 1 },
    { name: 'action', weight: 0 },
    { name: 'ok', get: ({ error }) => error === null },
    { name: 'changed' },
    { name: 'differences', json: { list: true, members: ['field', 'before', 'after'] } },
    { name: 'error', json: { members: ['code', 'message'] }, weight: 3 },
  ],
  table: ['file', 'name', 'action', 'id', 'error'],
  tsv: ['file', 'name', 'action', 'id', 'error'],
};

interface ApplyOptions {
  recreate?: boolean;
  prune?: boolean;
}

const PAST = {
  create: 'created',
  update: 'updated',
  recreate: 'recreated',
  keep: 'unchanged',
  delete: 'deleted',
} as const satisfies Record<Step['action'], string>;

export function declare(command: Command, ctx: Context): void {
  command
    .argument('<file...>', 'JSON or YAML files, or folders with such files')
    .option('--recreate', 'delete and create again what the server cannot change')
    .option('--prune', 'delete automations that apply has created and no file has');
  explain(command, {
    notes: [
      'A file is the request that creates an automation: name, prompt, trigger, and what else ' +
        'the service takes. With plugins it is one of the plugin preset, with tarball_path and ' +
        'entrypoint one with a program of its own. A member that a file does not have stays as ' +
        'it is on the server, except repos and plugins: a file without them has none.',
      'The server validates all files before the first change. Apply finds what it has created, ' +
        'else an automation of the same name; two of that name are a conflict (6). Only what ' +
        'differs is sent. A difference that the server cannot change, in repos or plugins, is ' +
        'printed and refused (6) without --recreate, which loses the list of runs.',
      '--prune takes folders only. It asks before it deletes, and never deletes what was created ' +
        'otherwise. It deletes also what other folders have created on this server: use one ' +
        'folder for a server.',
    ],
    json: ({ listForm }) => [listForm(appliedView)],
    exits: ['failed', 'conflict', 'unsupported'],
    examples: {
      'acs automation apply automations/ --dry-run': 'print the differences',
      'acs automation apply automations/ --prune -y': 'make the server equal to the folder, in CI',
    },
  });
  command.action((given: string[], options: ApplyOptions) => applyFiles(ctx, given, options));
}

async function applyFiles(
  ctx: Context,
  given: readonly string[],
  { recreate, prune }: ApplyOptions,
): Promise<void> {
  ctx.out.check(appliedView, 'list');
  const { files, problems } = await readAutomationFiles(ctx, given, { prune });
  await refuseProblems(ctx, problems);
  const filters = files.flatMap(({ file, draft }) =>
    filtersOf(draft)
      .flatMap(neverMatches)
      .map((text) => `${file}: trigger.filter: ${text}`),
  );
  for (const warning of filters) await ctx.warn(warning);

  const server = await ctx.servers.active();
  const steps = planOf(files, await allAutomations(server), prune ? 'delete' : 'keep');
  const differences = steps.flatMap((step) =>
    step.differences.map(
      ({ field, before, after }) =>
        `${step.file?.file}: ${field}: ${shown(before)} → ${shown(after)}`,
    ),
  );
  for (const difference of differences) await ctx.notice(difference);
  if (!recreate) refuseRecreation(steps);

  // An equal file was valid when it was applied: without a change there is nothing to validate.
  if (steps.some(({ action }) => action !== 'keep'))
    await refuseProblems(ctx, await validateAll(server, files));
  await confirmDeletions(ctx, steps);

  const results: AppliedFile[] = [];
  const failures: AppError[] = [];
  for (const step of steps)
    results.push(await applyStep(ctx, server, step, (failure) => failures.push(failure)));
  const counts = { has_more: false, matched: steps.length, failed: failures.length };
  const isDryRun = ctx.globals.mode === 'dry-run';
  await ctx.out.list(appliedView, results, { ...counts, ...(isDryRun && { dry_run: true }) });
  const [failure] = failures;
  if (failure !== undefined) {
    await ctx.out.close();
    if (steps.length === 1) throw failure;
  }
  const lines = results.flatMap(({ file, name, error }) =>
    error === null ? [] : [`${file ?? name}: ${error.message}`],
  );
  await endChanges(ctx, lines, `${failures.length} of ${steps.length} could not be applied`);
}

async function applyStep(
  ctx: Context,
  server: Server,
  step: Step,
  onFailure: (error: AppError) => void,
): Promise<AppliedFile> {
  const { action, file, seen, differences } = step;
  const result: AppliedFile = {
    file: file?.file ?? null,
    name: file?.name ?? seen?.name ?? '',
    id: seen?.id ?? null,
    action: PAST[action],
    changed: action !== 'keep',
    differences,
    error: null,
  };
  const isSent = !ctx.signal.aborted;
  if (ctx.globals.mode === 'dry-run') return result;
  try {
    ctx.signal.throwIfAborted();
    return { ...result, id: await execute(server, step) };
  } catch (failure) {
    if (!isAppError(failure)) throw failure;
    onFailure(failure);
    const error = { code: failure.kind, message: failure.message };
    const action = isSent && isUnknown(failure) ? 'unknown' : `not ${result.action}`;
    return { ...result, action, changed: false, error };
  }
}

async function confirmDeletions(ctx: Context, steps: readonly Step[]): Promise<void> {
  const deleted = steps.filter(({ action }) => action === 'delete');
  if (deleted.length === 0) return;
  const what = `${deleted.length} automation${deleted.length === 1 ? '' : 's'}`;
  const preview = deleted.map(({ seen }) => `automation ${seen?.id}: ${seen?.name}`);
  await confirmChange(ctx, { message: `delete ${what} that no file has?`, preview });
}

const MOST_SHOWN = 200;

function shown(value: unknown): string {
  return shortened(JSON.stringify(value ?? null), MOST_SHOWN);
}

async function validateAll(
  { automations }: Server,
  files: readonly AutomationFile[],
): Promise<FileProblem[]> {
  const problems: FileProblem[] = [];
  for (const each of files)
    for (const problem of await automations.validate(markedDraft(each)))
      problems.push({ file: each.file, ...problem });
  return problems;
}

async function refuseProblems(ctx: Context, problems: readonly FileProblem[]): Promise<void> {
  if (problems.length === 0) return;
  for (const { file, field, message } of problems)
    await ctx.warn(`${file}: ${field === null ? '' : `${field}: `}${message}`);
  const files = [...new Set(problems.map(({ file }) => file))];
  const text = `not valid, and nothing was changed: ${files.join(', ')}`;
  throw new AppError('usage', text, { data: { problems } });
}

function refuseRecreation(steps: readonly Step[]): void {
  const refused = steps.filter(({ action }) => action === 'recreate');
  if (refused.length === 0) return;
  const fieldsOf = ({ file, differences }: Step) =>
    `${file?.file}: ${differences
      .map(({ field }) => field)
      .filter(isFixed)
      .join(', ')}`;
  throw new AppError(
    'conflict',
    'the server cannot change this in an automation, and nothing was changed: ' +
      refused.map(fieldsOf).join('; '),
    {
      hint: '--recreate deletes such an automation, with its list of runs, and creates it again',
    },
  );
}

/** The request may have arrived. */
const isUnknown = isOfKind('interrupted', 'unknown-outcome');

/** The id of the automation. */
async function execute({ automations }: Server, step: Step): Promise<string> {
  const { action, file, seen, differences } = step;
  if (action === 'keep') return seen.id;
  if (action === 'update') {
    const changes = differences.map(({ field, after }) => [field, after] as const);
    await automations.change(seen.id, Object.fromEntries(changes));
    return seen.id;
  }
  // The server would return the old one for its template.
  if (seen !== null) await automations.remove(seen.id);
  if (file === null) return seen.id;
  let created: Automation;
  try {
    const draft = seen === null ? markedDraft(file) : recreatedDraft(file, seen);
    created = await automations.create(draft);
  } catch (error) {
    if (seen === null || !isAppError(error)) throw error;
    const result = isUnknown(error) ? 'perhaps not created again' : 'not created again';
    const text = `the old automation ${cut(seen.name, 100)} is deleted, and ${result}`;
    throw error.with({}, `${text}: ${error.message}`);
  }
  const enabled = file.draft.body['enabled'] ?? seen?.enabled ?? true;
  if (created.enabled !== enabled) await automations.change(created.id, { enabled });
  return created.id;
}
