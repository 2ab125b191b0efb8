import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { fileOf } from '../../domain/automation-plan.ts';
import { declareEntries, explain, type Entry, type Words } from '../shared/declare.ts';
import {
  addPagingOptions,
  addWatch,
  printList,
  type PagingOptions,
  WATCH_NOTE,
} from '../shared/lists.ts';
import { automationView, findAutomation, ONE, runView, withNextRuns } from './automations.ts';
import { asYaml } from './files.ts';

const loaded =
  (declare: (command: Command, ctx: Context) => void): Entry[3] =>
  () =>
    Promise.resolve({ declare });

const change =
  (name: keyof typeof import('./change.ts')): Entry[3] =>
  async () => ({ declare: (await import('./change.ts'))[name] });

const VERBS: readonly Entry[] = [
  ['list', 'ls', 'list automations, newest first', loaded(declareList)],
  [
    'show <automation>',
    'view get',
    'show an automation, and when it runs next',
    loaded(declareShow),
  ],
  ['apply <file...>', '', 'create and change automations as files say', () => import('./apply.ts')],
  ['export <automation>', '', 'print an automation as a file for apply', loaded(declareExport)],
  ['run <automation>', '', 'start a run of an automation now', () => import('./run.ts')],
  ['runs <automation>', '', 'list the runs of an automation, newest first', loaded(declareRuns)],
  ['stop <run...>', '', 'stop runs of automations', change('declareStop')],
  ['enable <automation...>', '', 'let automations start runs', change('declareSwitch')],
  ['disable <automation...>', '', 'keep automations from starting runs', change('declareSwitch')],
  ['delete <automation...>', 'rm remove', 'delete automations', change('declareDelete')],
];

export function declare(command: Command, ctx: Context, words: Words): Promise<void> {
  return declareEntries(command, ctx, words, VERBS);
}

function declareList(command: Command, ctx: Context): void {
  addPagingOptions(command);
  explain(command, {
    json: ({ listForm }) => [listForm(automationView('json'))],
    exits: ['failed', 'unsupported'],
    examples: {
      'acs automation list': 'list automations with their next runs',
      "acs automation list --all-pages --jq '.items[] | select(.enabled | not) | .name'":
        'print the names of those that are disabled',
    },
  });
  command.action((options: PagingOptions) =>
    printList(ctx, {
      view: automationView(ctx.out.format),
      paging: options,
      async fetch({ automations }, page, pageSize) {
        const { items, next } = await automations.list(page, pageSize);
        return { items: await withNextRuns(ctx, items), next };
      },
    }),
  );
}

function declareShow(command: Command, ctx: Context): void {
  command.argument('<automation>', ONE);
  explain(command, {
    notes: [
      'A table has the times of the next runs of a schedule in the time zone of this machine. ' +
        '"applied" is true for an automation that acs automation apply has created.',
    ],
    json: ({ objectForm }) => [objectForm(automationView('json'))],
    exits: ['not-found', 'unsupported'],
    examples: {
      "acs automation show 'Nightly tests'": 'show it by its name',
    },
  });
  command.action(async (word: string) => {
    const view = automationView(ctx.out.format);
    ctx.out.check(view, 'item');
    const found = await findAutomation(await ctx.servers.active(), word);
    for (const shown of await withNextRuns(ctx, [found])) await ctx.out.item(view, shown);
  });
}

function declareExport(command: Command, ctx: Context): void {
  command.argument('<automation>', ONE);
  explain(command, {
    notes: [
      'Prints YAML, or JSON with --json. The prompt is printed as it is stored. A program that ' +
        'was uploaded is named by its address on this server, and works only there.',
    ],
    exits: ['not-found', 'unsupported'],
    examples: {
      "acs automation export 'Nightly tests' > automations/nightly.yaml":
        'keep it in a repository, for apply',
    },
  });
  command.action(async (word: string) => {
    ctx.out.check(null, 'document');
    const file = fileOf(await findAutomation(await ctx.servers.active(), word));
    const { format } = ctx.globals;
    const text =
      format === undefined
        ? await asYaml(file)
        : `${JSON.stringify(file, null, format === 'json' ? 2 : 0)}\n`;
    await ctx.out.raw(text);
  });
}

function declareRuns(command: Command, ctx: Context): void {
  addWatch(addPagingOptions(command.argument('<automation>', ONE)));
  explain(command, {
    notes: [
      'The service names the conversation of a run when the run has ended; acs automation run ' +
        '--follow finds it before.',
      WATCH_NOTE,
    ],
    json: ({ listForm }) => [listForm(runView)],
    exits: ['failed', 'not-found', 'unsupported'],
    examples: {
      "acs automation runs 'Nightly tests' -L 5": 'list the newest five runs',
    },
  });
  command.action(async (word: string, options: PagingOptions) => {
    ctx.out.check(runView, 'list');
    const { id } = await findAutomation(await ctx.servers.active(), word);
    await printList(ctx, {
      view: runView,
      paging: options,
      fetch: ({ automations }, page, pageSize) => automations.runs(id, page, pageSize),
    });
  });
}
