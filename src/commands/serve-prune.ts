import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import type { LocalService, OldConversation, OldThing, ServeOptions } from '../service-control.ts';
import { confirmChange } from './bulk.ts';
import { planSteps } from './dry-run.ts';
import { pruneView } from './serve-view.ts';

/** Deletes what was unused for longer than the retention (ms) at the local service, and prints the counts. */
export async function prune(retentionMs: number, { dataDir }: ServeOptions, ctx: Context): Promise<void> {
  ctx.out.check(pruneView, 'item');
  const isDryRun = ctx.globals.mode === 'dry-run';
  const service: LocalService = await ctx.localService();
  if (isDryRun && !(await service.status(dataDir)).running) throw notStarted();
  const message = 'Delete these conversations and their workspaces?';
  // Where prompts are off, before anything is started.
  if (!ctx.interactive) await confirmChange(ctx, { message, preview: [] });
  const { conversations, sandboxes, started, pid } = await service.old(retentionMs, dataDir);
  if (started === 'now') await ctx.notice(`started the local service (pid ${pid}); end it with: acs serve --stop`);
  const all = [...conversations, ...sandboxes];
  if (isDryRun)
    await planSteps(
      ctx,
      all.map(({ id, remove }) => ({ what: `delete ${id}`, task: remove })),
    );
  const preview = [
    ...conversations.map((one) => `conversation ${one.id} (${stateOf(one)})`),
    ...sandboxes.map(({ id }) => `sandbox ${id}, which holds no conversation`),
  ];
  if (ctx.interactive && all.length > 0) await confirmChange(ctx, { message, preview });
  const unfinished = conversations.filter((one) => one.isUnfinished);
  if (!ctx.interactive && unfinished.length > 0) await ctx.notice(unfinishedNotice(unfinished));
  const gone = { conversations: await removed(ctx, conversations), sandboxes: await removed(ctx, sandboxes) };
  await ctx.out.item(pruneView, gone, { changed: gone.conversations + gone.sandboxes > 0 });
}

/** How many are gone. */
async function removed(ctx: Context, things: readonly OldThing[]): Promise<number> {
  let count = 0;
  for (const { id, remove } of things) {
    if ((await remove()) === 'gone') count += 1;
    else await ctx.notice(`${id} is left alone: it has begun to work meanwhile`);
  }
  return count;
}

function stateOf({ state, isUnfinished }: OldConversation): string {
  return isUnfinished ? `${state} before its end, can be resumed` : state;
}

function unfinishedNotice(unfinished: OldConversation[]): string {
  const [first, ...rest] = unfinished;
  const more = rest.length === 0 ? '' : ` and ${rest.length} more`;
  return `deleting runs that were stopped before their end, too: ${first?.id ?? ''}${more}`;
}

function notStarted(): AppError {
  const hint = 'start it with: acs serve --detach';
  return new AppError('config', 'the local service does not run, and --dry-run does not start it', { hint });
}
