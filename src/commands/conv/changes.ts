/** The changes in the workspace of a conversation, for the commands that print or retrieve them. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { DiffOptions, Server, WorkspaceDiff } from '../../servers/server.ts';
import { diffWithProgress } from './diff-progress.ts';
import { needsResume, resumeSandbox } from './resume-sandbox.ts';

type Against = NonNullable<DiffOptions['against']>;

/**
 * Resumes a paused sandbox first, with `resume` or after a question.
 * @param options.command of the user, without --resume: for the hint
 */
export async function readChanges(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  { against = 'start', ...options }: { resume: boolean | undefined; command: string; against?: Against },
): Promise<WorkspaceDiff> {
  const { resume, command } = options;
  if (needsResume(conversation)) {
    await resumeSandbox(ctx, server, conversation, { command, ...(resume === undefined ? {} : { resume }) });
  }
  return await diffWithProgress(ctx, server, conversation.id, against);
}

/** What the server could not return, and whether there is anything at all. */
export async function reportOmissions(ctx: Context, diff: WorkspaceDiff): Promise<void> {
  for (const omission of diff.omissions) await ctx.warn(`left out: ${omission}`);
  if (diff.changes.length > 0 || diff.patch.length > 0) return;
  await ctx.notice(diff.omissions.length === 0 ? 'nothing changed in the workspace' : 'no other change is known');
}
