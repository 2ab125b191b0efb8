import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { AppError, isFailure, isNotFound } from '../../base/errors.ts';
import { cut } from '../../base/text/well-formed.ts';
import type { Server } from '../../client/shared/server.ts';
import type { Automation } from '../../domain/automation.ts';
import { dashedId, normalizeId } from '../../domain/ids.ts';
import type { BulkItem } from '../../output/view.ts';
import { changeEach, confirmAll, failedItem, unchangedItem, type Change } from '../shared/bulk.ts';
import { explain } from '../shared/declare.ts';
import { readChosen } from '../shared/resource.ts';
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
  const view = automationView(ctx.out.format);
  const { single, words } = await readChosen(ctx, view, given);
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
  if (question !== null)
    await confirmAll(ctx, question, targets, {
      one: ({ name }) => `automation ${name}`,
      several: 'automations',
      preview: single ? [] : targets.map(({ id, name }) => `automation ${id}: ${name}`),
    });
  if (single && targets.length === 0) {
    const word = cut(words[0] ?? '', 100);
    return await ctx.notice(`there is no automation "${word}": nothing was changed`);
  }
  const plan = { single, targets, unresolved, before, pastTense };
  await changeEach(ctx, view, { ...plan, apply: (seen) => apply(server, seen) });
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
    const { single, words } = await readChosen(ctx, runView, given);
    const other = words.find((word) => normalizeId(word) === null);
    if (other !== undefined)
      throw new AppError('usage', `"${cut(other, 100)}" is not the full id of a run`, {
        hint: 'list them with: acs automation runs <automation> -q',
      });
    const { automations } = await ctx.servers.active();
    await changeEach(ctx, runView, {
      single,
      targets: words.map((id) => ({ id })),
      pastTense: 'stopped',
      async apply({ id }) {
        const { run: record, changed } = await automations.cancel(dashedId(id));
        return { changed, before: changed ? null : record.status, after: record.status, record };
      },
    });
  });
}
