import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError, fileProblem, isAppError } from '../../../base/errors.ts';
import { explain } from '../../shared/declare.ts';
import { printingOnce } from '../../shared/derived-context.ts';
import { runView } from '../batch/results.ts';
import { eventView } from '../event-view.ts';
import { showingUnsent } from '../message.ts';
import { conversationView, outcomeView, startedShape } from '../conversations.ts';
import { addNewOptions, checkNewOptions, newLimits, type NewOptions } from './options.ts';
import {
  beforeStart,
  checkServer,
  completeDraft,
  hasTask,
  readDraft,
  type Draft,
} from './request.ts';
import { Start } from './start.ts';
import { askForTask, chooseStart, withPermission } from './wizard.ts';
import { RUN_EXITS } from '../../shared/wait-limit.ts';

export function declare(command: Command, ctx: Context): void {
  addNewOptions(command);
  explain(command, {
    notes: [
      'Without a message acs asks for it on a terminal, after a line with the repository, the ' +
        'branch and the model, which an `e` in place of the message changes; it offers to set ' +
        'up a model where the local service has none. The command exits when the conversation ' +
        'has started; with --wait or --follow it exits when the run ends, with its exit code. ' +
        'Ctrl-C ends acs; the run continues.',
      'A backend of Agent Canvas works in a worktree of the checkout, on the branch ' +
        'openhands/<id>, where it sees the folder of the checkout, and in a clone of the remote ' +
        'elsewhere. It clones --repo owner/name from github.com, or from the host of ' +
        '--git-provider, with its own credentials.',
      '--with-changes starts with the checkout as it is on disk: unpushed commits are commits in ' +
        'the workspace, changed and new files are uncommitted changes there. Ignored files, ' +
        'submodules and files of Git LFS are not taken. An untracked file of more than 10 MiB, ' +
        'and one whose name is that of a secret (.env, *.pem), is asked about on a terminal and ' +
        'left out elsewhere, by name. conv diff and conv pull have the work of the agent alone, ' +
        'and pull applies it to the same checkout. Where the server does not read this disk, ' +
        'the message is sent when the changes have arrived.',
      'The local service copies node_modules, .venv, venv, vendor and target of a checkout on ' +
        'this disk, where git ignores them, and names what it copies; --no-dependencies leaves ' +
        'them out.',
      {
        title: 'The file of --mcp-config (on V0 also the lists of its setting mcp_config):',
        items: [
          ['{ "mcpServers": {', ''],
          ['    "docs": { "url": "https://mcp.example.com/mcp" },', ''],
          ['    "files": { "command": "npx", "args": ["-y", "<package>"] } } }', ''],
        ],
      },
    ],
    json: ({ objectForm, listForm }) => [
      ['--json', `${objectForm(conversationView, 'changed')}; --wait: "outcome"; failure: "error"`],
      ['--count', listForm(runView)],
      [
        'ndjson',
        `${objectForm(startedShape)}; with --follow ${objectForm(eventView(null))}; ` +
          `${objectForm(outcomeView)}`,
      ],
    ],
    exits: [...RUN_EXITS, 'unknown-outcome', 'unsupported'],
    examples: {
      "acs conv new 'Repair the tests.' --follow": 'start on the current checkout',
      'acs conv new --replay demo --no-repo --wait --json': 'needs no model',
    },
  });
  command.action((message: string | undefined, options: NewOptions) =>
    newConversation(message, options, ctx),
  );
}

async function newConversation(
  argument: string | undefined,
  options: NewOptions,
  ctx: Context,
): Promise<void> {
  checkNewOptions(ctx, argument, options);
  const { count, follow } = options;
  if (count !== undefined)
    return await (await import('../batch/count.ts')).countRuns(ctx, argument, options, count);
  // JSON is one document at the end, also with --follow; -q is the id alone.
  const { format } = ctx.globals;
  if (follow && format !== 'json' && format !== 'id') ctx.out.check(eventView(null), 'stream');
  else ctx.out.check(conversationView, 'item');
  await (await beginConversation(argument, options, ctx)).print();
}

export async function beginConversation(
  argument: string | undefined,
  options: NewOptions,
  ctx: Context,
): Promise<Start> {
  const { idFile } = options;
  // A script reads the id from that file: it is made empty before anything is started.
  if (idFile !== undefined && ctx.globals.mode !== 'dry-run')
    await writeFile(path.resolve(ctx.local.cwd, idFile), '').catch((cause: unknown) => {
      const text = `--id-file: cannot write ${idFile}: ${fileProblem(cause).reason}`;
      throw new AppError('config', text, { hint: 'nothing was started', cause });
    });
  const draft = await readDraft(ctx, argument, options);
  if (!hasTask(draft)) return await startAsked(ctx, draft, options);
  // A start that is repeated after a question repeats no notice.
  const printed = new Set<string>();
  const startGiven = (ctx: Context, draft: Draft): Promise<Start> =>
    withPermission(ctx, async () => {
      const limits = newLimits(ctx, options);
      const { request, known } = await beforeStart(ctx, limits, options, (timed, server) =>
        completeDraft(printingOnce(timed, printed), server, draft, options),
      );
      const start = new Start(ctx, await ctx.servers.active(), { ...options, ...limits });
      await start.run(request, known);
      return start;
    });
  try {
    return await startGiven(ctx, draft);
  } catch (error) {
    const isWithoutModel = isAppError(error) && error.details.data?.['reason'] === 'no-model';
    if (!isWithoutModel || !ctx.terminal.interactive) throw error;
    if ((await ctx.servers.active()).presence('demo-replay') !== 'present') throw error;
    // The time of the prompts does not count.
    const chosen = await chooseStart(ctx);
    return await startGiven(chosen.ctx, { ...draft, replay: chosen.replay });
  }
}

/** Asks for the task, and where there is no model for what to do without one. */
async function startAsked(given: Context, draft: Draft, options: NewOptions): Promise<Start> {
  if (!given.terminal.interactive)
    throw new AppError('usage', 'missing: the message', {
      hint:
        'give the message as an argument, with --file, or as - on stdin; or replay a ' +
        'recorded run with --replay',
    });
  const { ctx, replay } = await chooseStart(given);
  const server = await ctx.servers.active();
  await checkServer(server, options);
  return await showingUnsent(ctx, async (typed) => {
    const asked = { draft: { ...draft, replay }, options };
    const { request, known } = await askForTask(ctx, server, asked, typed);
    return await withPermission(ctx, async () => {
      // The time of the prompts does not count.
      const start = new Start(ctx, server, { ...options, ...newLimits(ctx, options) });
      await start.run(request, known, () => void (typed.text = null));
      return start;
    });
  });
}
