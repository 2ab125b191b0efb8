import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { SANDBOX_STATUSES } from '../../domain/conversation.ts';
import { explain } from '../shared/declare.ts';
import {
  addPagingOptions,
  addWatch,
  printList,
  type PagingOptions,
  selectedList,
  addSelectorOptions,
  type SelectorOptions,
  WATCH_NOTE,
} from '../shared/lists.ts';
import { showRecords } from '../shared/resource.ts';
import { declareDelete, declarePause, declareResume, declareStart } from './change.ts';
import { declareCopy } from './cp.ts';
import { declareExec, declareShell } from './exec.ts';
import { sandboxes, sandboxView, sandboxWithKeyView } from './sandboxes.ts';

export function declare(command: Command, ctx: Context): void {
  declareList(command, ctx);
  declareShow(command, ctx);
  declareStart(command, ctx);
  declarePause(command, ctx);
  declareResume(command, ctx);
  declareDelete(command, ctx);
  declareExec(command, ctx);
  declareCopy(command, ctx);
  declareShell(command, ctx);
}

function declareList(parent: Command, ctx: Context): void {
  const command = parent.command('list').alias('ls').description('list sandboxes, newest first');
  addWatch(addPagingOptions(addSelectorOptions(command, SANDBOX_STATUSES)));
  explain(command, {
    notes: [
      'A sandbox is listed when it matches all selectors. --limit applies after the selectors.',
      WATCH_NOTE,
    ],
    json: ({ listForm }) => [listForm(sandboxView)],
    exits: ['failed', 'unsupported'],
    examples: {
      'acs sandbox list --status running': 'list the running sandboxes',
      'acs sandbox list --status running --idle 2h -q':
        'print the ids of running sandboxes that are idle',
    },
  });
  command.action((options: SelectorOptions & PagingOptions) =>
    printList(ctx, selectedList(ctx, sandboxes, options)),
  );
}

function declareShow(parent: Command, ctx: Context): void {
  const command = parent.command('show').aliases(['view', 'get']).description('show sandboxes');
  command
    .argument('<id...>', 'the sandboxes; - reads ids from stdin')
    .option('--show-secrets', 'also print the session key of its agent server');
  explain(command, {
    json: ({ objectForm, listForm }) => [
      ['one id', objectForm(sandboxView)],
      ['several ids', listForm(sandboxView)],
      ['--show-secrets', objectForm(sandboxView, 'session_api_key')],
    ],
    exits: ['not-found', 'unsupported'],
    examples: {
      'acs sandbox show @last': 'show the sandbox of the last conversation',
      'acs sandbox show @last --fields status --format tsv': 'print only its status',
    },
  });
  command.action(async (given: string[], { showSecrets }: { showSecrets?: boolean }) => {
    await showRecords(ctx, sandboxes, given, {
      view: showSecrets ? sandboxWithKeyView : sandboxView,
      read: async (server, found) => ({
        ...found,
        ...(showSecrets && (await server.sandboxes.secrets(found.id))),
      }),
    });
  });
}
