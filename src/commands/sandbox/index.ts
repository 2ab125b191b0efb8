/** The noun `sandbox`. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { SANDBOX_STATUSES } from '../../domain/conversation.ts';
import { explain } from '../declare.ts';
import { addPagingOptions, type PagingOptions } from '../paging.ts';
import { findOne } from '../resource/find.ts';
import { listSelected } from '../resource/list.ts';
import { addSelectorOptions, type SelectorOptions } from '../selectors.ts';
import {
  addChangeOptions,
  changeSandboxes,
  refuseRuns,
  type SandboxChangeOptions,
  type SandboxVerb,
} from './change.ts';
import { declareCopy } from './cp.ts';
import { declareDelete } from './delete.ts';
import { declareExec } from './exec.ts';
import { declareResume } from './resume.ts';
import { sandboxes } from './sandboxes.ts';
import { declareShell } from './shell.ts';
import { declareStart } from './start.ts';
import { moveSandbox, PAUSE } from './transition.ts';
import { sandboxView, sandboxWithKeyView } from './view.ts';
import { declareWait } from './wait.ts';

export function declareSandbox(root: Command, ctx: Context): void {
  const command = root
    .command('sandbox')
    .alias('sb')
    .description('start, pause and delete sandboxes, and run programs in them');
  declareList(command, ctx);
  declareShow(command, ctx);
  declareStart(command, ctx);
  declarePause(command, ctx);
  declareResume(command, ctx);
  declareWait(command, ctx);
  declareDelete(command, ctx);
  declareExec(command, ctx);
  declareCopy(command, ctx);
  declareShell(command, ctx);
}

function declareList(parent: Command, ctx: Context): void {
  const command = parent.command('list').alias('ls').description('list sandboxes, newest first');
  addPagingOptions(addSelectorOptions(command, SANDBOX_STATUSES));
  explain(command, {
    notes: ['A sandbox is listed when it matches all selectors. --limit applies after the selectors.'],
    json: ({ listForm }) => [listForm(sandboxView)],
    exits: ['failed', 'unsupported'],
    examples: [
      { command: 'acs sandbox list --status running', does: 'list the running sandboxes' },
      { command: 'acs sandbox list --not-status paused --idle 2h -q', does: 'print the ids of idle sandboxes' },
    ],
  });
  command.action((options: SelectorOptions & PagingOptions) => listSelected(ctx, sandboxes, options));
}

interface ShowOptions {
  showSecrets?: boolean;
}

function declareShow(parent: Command, ctx: Context): void {
  const command = parent.command('show').aliases(['view', 'get']).description('show a sandbox');
  command.argument('<id>', 'the sandbox').option('--show-secrets', 'also print the session key of its agent server');
  explain(command, {
    json: ({ objectForm }) => [objectForm(sandboxView), ['--show-secrets', objectForm(sandboxView, 'session_api_key')]],
    exits: ['not-found', 'unsupported'],
    examples: [
      { command: 'acs sandbox show @last', does: 'show the sandbox of the last conversation' },
      { command: 'acs sandbox show @last --fields status --format tsv', does: 'print only its status' },
    ],
  });
  command.action((id: string, options: ShowOptions) => showSandbox(id, options, ctx));
}

async function showSandbox(word: string, options: ShowOptions, ctx: Context): Promise<void> {
  ctx.out.check(options.showSecrets ? sandboxWithKeyView : sandboxView, 'item');
  const server = await ctx.server();
  const sandbox = await findOne(ctx, server, sandboxes, word);
  if (!options.showSecrets) return await ctx.out.item(sandboxView, sandbox);
  const { session_api_key } = await server.sandboxes.secrets(sandbox.id);
  await ctx.out.item(sandboxWithKeyView, { ...sandbox, session_api_key });
}

const pause: SandboxVerb = {
  word: 'pause',
  pastTense: 'paused',
  async apply(ctx, target, request) {
    if (target.chosenBy === 'selector') await refuseRuns('pause', target, request.options);
    return await moveSandbox(ctx, PAUSE, target, request);
  },
};

function declarePause(parent: Command, ctx: Context): void {
  const command = parent.command('pause').description('pause sandboxes: their processes stop, their files are kept');
  addChangeOptions(command).option('--force', 'also pause selected sandboxes with a run in progress');
  explain(command, {
    notes: ['A paused sandbox is left unchanged: exit 0, "changed":false.'],
    json: ({ changeForms }) => changeForms(sandboxView),
    exits: ['failed', 'not-found', 'unsupported', 'conflict', 'timeout'],
    examples: [
      { command: 'acs sandbox pause @last', does: 'pause the sandbox of the last conversation' },
      {
        command: 'acs sandbox pause --idle 2h -y',
        does: 'pause all sandboxes that were idle for two hours',
      },
    ],
  });
  command.action((ids: string[], options: SandboxChangeOptions) => changeSandboxes(ctx, pause, ids, options));
}
