/** Conversations with agents: start, look, follow, answer, stop, take home, delete. */
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { declareConfirm } from './confirm.ts';
import { declareDelete } from './delete.ts';
import { declareDiff } from './diff.ts';
import { declareEvents } from './events.ts';
import { declareFollow } from './follow.ts';
import { declareList } from './list.ts';
import { declareNew } from './new.ts';
import { declareRename } from './rename.ts';
import { declareResult } from './result.ts';
import { declareResume } from './resume.ts';
import { declareSend } from './send.ts';
import { declareShow } from './show.ts';
import { declareStop } from './stop.ts';
import { declareWait } from './wait.ts';

export function declareConversation(root: Command, ctx: Context): void {
  const command = root
    .command('conv')
    .alias('conversation')
    .description('conversations: an agent at work on a repository');
  declareNew(command, ctx);
  declareList(command, ctx);
  declareShow(command, ctx);
  declareFollow(command, ctx);
  declareEvents(command, ctx);
  declareWait(command, ctx);
  declareResult(command, ctx);
  declareSend(command, ctx);
  declareConfirm(command, ctx);
  declareStop(command, ctx);
  declareResume(command, ctx);
  declareDiff(command, ctx);
  declareRename(command, ctx);
  declareDelete(command, ctx);
}
