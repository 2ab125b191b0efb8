import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isFailure, isNotFound } from '../../base/errors.ts';
import { cut } from '../../base/text/well-formed.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Automation } from '../../domain/automation.ts';
import { dashedId, normalizeId } from '../../domain/ids.ts';
import type { BulkItem } from '../../output/view.ts';
import {
  changeEach,
  changeOne,
  confirmAll,
  failedItem,
  unchangedItem,
  type Change,
} from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import { isSingle, readIds } from '../shared/resource.ts';
import {
  automationView,
  findAutomation,
  runView,
  withNextRuns,
  type ShownAutomation,
} from './automations.ts';

const NAMES = 'ids, beginnings of ids, or names; - reads them from stdin';

interface AutomationChange {
  pastTense: string;
  /** The question before the first change; null: none. */
  question: string | null;
  ignoreNotFound?: boolean | undefined;
  before(seen: Automation): string;
  apply(server: Server, seen: Automation): Promise<Change<ShownAutomation>>;
}

/** Finds all automations before the first change. */
async function changeAutomations(
  ctx: Context,
  given: readonly string[],
  { pastTense, question, ignoreNotFound, before, apply }: AutomationChange,
): Promise<void> {
  const single = isSingle(given);
  const view = automationView(ctx.out.format);
  ctx.out.check(view, single ? 'item' : 'bulk');
  const words = await readIds(ctx, given);
  const server = await ctx.servers.active();
  const targets: Automation[] = [];
  const unresolved: BulkItem[] = [];
  for (const word of words) {
    const each = await findAutomation(server, word).catch((error: unknown) => {
      if (isNotFound(error) && ignoreNotFound) return unchangedItem(word);
      if (single || !isFailure(error)) throw error;
      return failedItem(word, error);
    });
    if ('ok' in each) unresolved.push(each);
    else targets.push(each);
  }
  const [first] = targets;
  if (question !== null)
    await confirmAll(ctx, question, targets, {
      one: ({ name }) => `automation ${name}`,
      several: 'automations',
      preview: single ? [] : targets.map(({ id, name }) => `automation ${id}: ${name}`),
    });
  const change = (seen: Automation) => apply(server, seen);
  if (!single)
    return await changeEach(ctx, view, { targets, unresolved, before, pastTense, apply: change });
  if (first !== undefined) return await changeOne(ctx, view, pastTense, () => change(first));
  await ctx.notice(`there is no automation "${cut(words[0] ?? '', 100)}": nothing was changed`);
}

export function declareSwitch(command: Command, ctx: Context): void {
  const verb = command.name();
  const enabled = verb === 'enable';
  command.argument('<automation...>', NAMES);
  explain(command, {
    notes: enabled
      ? ['A run that was missed meanwhile is not made up for.']
      : ['Runs that wait for their start are skipped; a run that goes on is not stopped.'],
    json: ({ changeForms }) => changeForms(automationView('json'), ['one name', 'several names']),
    exits: ['failed', 'not-found', 'unsupported'],
    examples: {
      [`acs automation ${verb} 'Nightly tests'`]: `${verb} one by its name`,
      [`acs automation list --all-pages -q | acs automation ${verb} -`]: `${verb} all of them`,
    },
  });
  const before = (automation: Automation) => (automation.enabled ? 'enabled' : 'disabled');
  const apply: AutomationChange['apply'] = async (server, seen) => {
    const changed = seen.enabled !== enabled;
    const after = changed ? await server.automations.change(seen.id, { enabled }) : seen;
    const [record = { ...after, next_runs: [] }] = await withNextRuns(ctx, [after]);
    return { changed, before: before(seen), after: before(after), record };
  };
  command.action((given: string[]) =>
    changeAutomations(ctx, given, { pastTense: `${verb}d`, question: null, before, apply }),
  );
}

export function declareDelete(command: Command, ctx: Context): void {
  command
    .argument('<automation...>', NAMES)
    .option('--ignore-not-found', 'succeed when an automation does not exist');
  explain(command, {
    notes: [
      'Asks for confirmation unless -y is given. Runs that wait for their start are skipped, and ' +
        'the list of runs is lost; their conversations are kept.',
    ],
    json: ({ changeForms }) => changeForms(automationView('json'), ['one name', 'several names']),
    exits: ['failed', 'not-found', 'unsupported'],
    examples: {
      "acs automation delete 'Nightly tests'": 'delete one after a question',
      "acs automation delete 'Nightly tests' -y --ignore-not-found": 'delete it in a script',
    },
  });
  command.action((given: string[], { ignoreNotFound }: { ignoreNotFound?: boolean }) => {
    const before = () => 'present';
    const apply: AutomationChange['apply'] = async (server, seen) => {
      await server.automations.remove(seen.id).catch((error: unknown) => {
        if (!isNotFound(error) || !ignoreNotFound) throw error;
      });
      const record = { ...seen, next_runs: [] };
      return { changed: true, before: before(), after: null, record };
    };
    const of = { pastTense: 'deleted', question: 'delete', ignoreNotFound, before };
    return changeAutomations(ctx, given, { ...of, apply });
  });
}

export function declareStop(command: Command, ctx: Context): void {
  command.argument('<run...>', 'full ids of runs; - reads them from stdin');
  explain(command, {
    notes: [
      'A run that has ended is left unchanged: exit 0, "changed":false. The ids are those of acs ' +
        'automation runs <automation> -q.',
      'A backend does not end the program of a run: acs stops its conversation, and prints a ' +
        'notice where that has not started yet.',
    ],
    json: ({ changeForms }) => changeForms(runView),
    exits: ['failed', 'not-found', 'conflict', 'unsupported'],
    examples: {
      "acs automation runs 'Nightly tests' -L 1 -q | acs automation stop -": 'stop the newest run',
    },
  });
  command.action(async (given: string[]) => {
    const single = isSingle(given);
    ctx.out.check(runView, single ? 'item' : 'bulk');
    const words = await readIds(ctx, given);
    const other = words.find((word) => normalizeId(word) === null);
    if (other !== undefined)
      throw new AppError('usage', `"${cut(other, 100)}" is not the full id of a run`, {
        hint: 'list them with: acs automation runs <automation> -q',
      });
    const { automations } = await ctx.servers.active();
    const apply = async (id: string) => {
      const { run: record, changed } = await automations.cancel(dashedId(id));
      return { changed, before: changed ? null : record.status, after: record.status, record };
    };
    const [word = ''] = words;
    if (single) return await changeOne(ctx, runView, 'stopped', () => apply(word));
    const targets = words.map((id) => ({ id }));
    await changeEach(ctx, runView, { targets, pastTense: 'stopped', apply: ({ id }) => apply(id) });
  });
}
