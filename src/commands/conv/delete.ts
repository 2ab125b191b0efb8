import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CONVERSATION_STATUSES, type Conversation } from '../../domain/conversation.ts';
import { isRunInProgress, isSelected } from '../../domain/selectors.ts';
import { AppError, isAppError } from '../../errors.ts';
import type { Change } from '../bulk.ts';
import { explain } from '../declare.ts';
import { addSelectorOptions } from '../selectors.ts';
import { changeConversations, type ChangeOptions, type ConversationTarget, type ConversationVerb } from './change.ts';
import { BULK_JSON, CONVERSATION_JSON, idOf } from './view.ts';

const remove: ConversationVerb = { word: 'delete', past: 'deleted', asks: 'always', apply: deleteOne };

export function declareDelete(parent: Command, ctx: Context): void {
  const command = parent.command('delete').aliases(['rm', 'remove']).description('delete conversations');
  command.argument('[id...]', 'conversations to delete; - reads ids from stdin');
  addSelectorOptions(command, CONVERSATION_STATUSES)
    .option('--all', 'every conversation')
    .option('--force', 'also those chosen by selector whose run is in progress')
    .option('--ignore-not-found', 'one that is not there is no error');
  explain(command, {
    notes: ['Asks first; -y answers. A server also removes the sandbox that no other conversation uses.'],
    json: [`${CONVERSATION_JSON} plus "changed"   one id`, BULK_JSON],
    exits: ['failed', 'not-found', 'conflict'],
    examples: [
      { command: 'acs conv delete @last -y', does: 'deletes the last conversation' },
      { command: 'acs conv delete --status finished --older-than 30d --dry-run', does: 'shows what would be deleted' },
    ],
  });
  command.action((ids: string[], options: ChangeOptions) => changeConversations(ctx, remove, ids, options));
}

async function deleteOne(
  ctx: Context,
  target: ConversationTarget,
  options: ChangeOptions,
): Promise<Change<Conversation>> {
  const { server, seen, chosenBy } = target;
  if (seen.id === '') {
    throw new AppError('conflict', `start task ${idOf(seen)} has no conversation that could be deleted`);
  }
  try {
    if (chosenBy === 'selector') await checkAgain(target, options);
    await server.conversations.remove(seen.id);
  } catch (error) {
    // Somebody else may have been faster since it was looked up.
    if (!options.ignoreNotFound || !isAppError(error) || error.kind !== 'not-found') throw error;
    return { changed: false, before: null, after: null, record: seen };
  }
  return { changed: true, before: seen.status, after: null, record: seen };
}

/** What was chosen by its state must still be in it, and a run that somebody waits for is spared. */
async function checkAgain({ server, seen }: ConversationTarget, options: ChangeOptions): Promise<void> {
  const now = await server.conversations.get(seen.id);
  const { status, notStatus } = options;
  if (!isSelected(selectableStatus(now), { ...(status && { status }), ...(notStatus && { notStatus }) }, 0)) {
    throw new AppError('conflict', `conversation ${seen.id} is ${now.status} by now`);
  }
  if (!options.force && isRunInProgress(now)) {
    throw new AppError('conflict', `conversation ${seen.id} is ${now.status}`, {
      hint: 'stop it first, or delete it all the same with --force',
    });
  }
}

function selectableStatus({ status }: Conversation) {
  return { status, created_at: null, updated_at: null, running: null, spec_id: null, repositories: [] };
}
