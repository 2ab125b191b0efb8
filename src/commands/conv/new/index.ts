import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { AppError, fileProblem, isAppError } from '../../../base/errors.ts';
import type { Server } from '../../../client/shared/server.ts';
import { explain } from '../../shared/declare.ts';
import { derivedContext } from '../../shared/derived-context.ts';
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
  const { start } = await beginConversation(argument, options, ctx);
  await start.print();
}

/** For a start that is repeated after a question. */
function withoutRepeats(ctx: Context, printed: Set<string>): Context {
  const isNew = (text: string): boolean => printed.size < printed.add(text).size;
  return derivedContext(ctx, {
    notice: async (text, of) => (isNew(text) ? await ctx.notice(text, of) : undefined),
    warn: async (text) => (isNew(text) ? await ctx.warn(text) : undefined),
  });
}

export async function beginConversation(
  argument: string | undefined,
  options: NewOptions,
  ctx: Context,
): Promise<{ ctx: Context; server: Server; start: Start }> {
  const { idFile } = options;
  // A script reads the id from that file: it is made empty before anything is started.
  if (idFile !== undefined && ctx.globals.mode !== 'dry-run')
    await writeFile(path.resolve(ctx.local.cwd, idFile), '').catch((cause: unknown) => {
      const hint = 'nothing was started';
      throw new AppError(
        'config',
        `--id-file: cannot write ${idFile}: ${fileProblem(cause).reason}`,
        { hint, cause },
      );
    });
  const draft = await readDraft(ctx, argument, options);
  const printed = new Set<string>();
  const startGiven = async (
    ctx: Context,
    draft: Draft,
  ): Promise<{ ctx: Context; server: Server; start: Start }> => {
    const limits = newLimits(ctx, options);
    const { server, prepared } = await beforeStart(ctx, limits, options, (timed, opened) =>
      completeDraft(withoutRepeats(timed, printed), opened, draft, options),
    );
    const start = new Start(ctx, server, { ...options, ...limits });
    await start.run(prepared.request, prepared.known);
    return { ctx, server, start };
  };
  if (hasTask(draft)) {
    try {
      return await withPermission(ctx, () => startGiven(ctx, draft));
    } catch (error) {
      if (
        !ctx.terminal.interactive ||
        !(isAppError(error) && error.details.data?.['reason'] === 'no-model')
      )
        throw error;
      const server = await ctx.servers.active();
      if (server.presence('demo-replay') !== 'present') throw error;
      // The time of the prompts does not count.
      const { ctx: chosen, replay } = await chooseStart(ctx, server);
      return await withPermission(chosen, () => startGiven(chosen, { ...draft, replay }));
    }
  }
  if (!ctx.terminal.interactive)
    throw new AppError('usage', 'missing: the message', {
      hint:
        'give the message as an argument, with --file, or as - on stdin; or replay a ' +
        'recorded run with --replay',
    });
  const chosen = await chooseStart(ctx, await ctx.servers.active());
  const { ctx: own, server } = chosen;
  await checkServer(server, options);
  return await showingUnsent(own, async (typed) => {
    const asked = { draft: { ...draft, replay: chosen.replay }, options };
    const { request, known } = await askForTask(own, server, asked, typed);
    return await withPermission(own, async () => {
      // The time of the prompts does not count.
      const start = new Start(own, server, { ...options, ...newLimits(ctx, options) });
      await start.run(request, known, () => void (typed.text = null));
      return { ctx: own, server, start };
    });
  });
}
