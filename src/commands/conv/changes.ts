/** The changes in the workspace of a conversation, for the commands that print or retrieve them. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { DiffBase, Server, WorkspaceDiff } from '../../servers/server.ts';
import type { ResumeOptions } from '../resource/agree-to-resume.ts';
import { diffWithProgress } from './diff-progress.ts';
import { needsResume, resumeSandbox } from './resume-sandbox.ts';

/**
 * Resumes a paused sandbox first, with `resume` or after a question.
 * @param options.command of the user, without --resume: for the hint
 */
export async function readChanges(
  ctx: Context,
  server: Server,
  conversation: Conversation,
  options: ResumeOptions & { against?: DiffBase },
): Promise<WorkspaceDiff> {
  if (needsResume(conversation)) await resumeSandbox(ctx, server, conversation, options);
  return await diffWithProgress(ctx, server, conversation.id, options.against);
}

/** What the server could not return, and whether there is anything at all. */
export async function reportOmissions(ctx: Context, diff: WorkspaceDiff): Promise<void> {
  for (const omission of diff.omissions) await ctx.warn(`left out: ${omission}`);
  if (diff.changes.length > 0 || diff.patch.length > 0) return;
  await ctx.notice(diff.omissions.length === 0 ? 'nothing changed in the workspace' : 'no other change is known');
}
