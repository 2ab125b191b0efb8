/** What `conv new` is to start: read from flags and files, then completed by what the server has. */
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { SuggestedTask } from '../../domain/git-provider.ts';
import type { NewConversation } from '../../domain/new-conversation.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { findExisting, isSameStart, readChosenId } from './chosen-id.ts';
import { readImages } from './images.ts';
import { readMessage, readTextFile } from './message.ts';
import {
  DEMO,
  readMcpConfig,
  readMembers,
  readMicroagent,
  readReplay,
  readSecrets,
  readSuggestedTask,
  type TaskName,
} from './new-files.ts';
import type { NewOptions } from './new-options.ts';
import { choosePlace } from './new-repository.ts';
import { findTask } from './new-task.ts';

export type Draft = Omit<NewConversation, 'repository' | 'branch' | 'git_provider' | 'spec_id' | 'suggested_task'> & {
  suggested_task: SuggestedTask | TaskName | null;
};

/** Everything that can be wrong in flags and files is found here, before any request. */
export async function readDraft(ctx: Context, argument: string | undefined, options: NewOptions): Promise<Draft> {
  return {
    api: options.api ?? 'auto',
    secrets: readSecrets(ctx, options.secret ?? []),
    conversation_id: options.id === undefined ? null : readChosenId(options.id),
    confirm: options.confirm ?? null,
    members: options.members === undefined ? {} : await readMembers(ctx, options.members),
    given: givenBy(options),
    model: options.model ?? null,
    sandbox_id: options.sandbox ?? null,
    instructions: options.instructions === undefined ? null : await readTextFile(ctx, options.instructions),
    mcp_config: options.mcpConfig === undefined ? null : await readMcpConfig(ctx, options.mcpConfig),
    replay: options.replay === undefined ? null : await readReplay(ctx, options.replay),
    suggested_task:
      options.suggestedTask === undefined
        ? null
        : await readSuggestedTask(ctx, options.suggestedTask, options.gitProvider),
    microagent: options.microagent === undefined ? null : await readMicroagent(ctx, options.microagent),
    image_urls: await readImages(ctx, options.image ?? []),
    message: await readMessage(ctx, { argument, file: options.file }),
  };
}

/** The flags as errors name them. */
function givenBy(options: NewOptions): NonNullable<NewConversation['given']> {
  const { replay, branch, mcpConfig, suggestedTask, microagent, members } = options;
  const flags = {
    replay: ['--replay', replay],
    branch: ['--branch', branch],
    mcp_config: ['--mcp-config', mcpConfig],
    suggested_task: ['--suggested-task', suggestedTask],
    microagent: ['--microagent', microagent],
    members: ['--members', members],
  } as const;
  return Object.fromEntries(
    Object.entries(flags).flatMap(([name, [flag, value]]) => (value === undefined ? [] : [[name, `${flag} ${value}`]])),
  );
}

export function hasTask({ message, replay, suggested_task, microagent }: Draft): boolean {
  return [message, replay, suggested_task, microagent].some((part) => part !== null);
}

/** The request, and the conversation that an earlier start with the same id has made of it. Sends nothing. */
export async function completeDraft(
  ctx: Context,
  server: Server,
  draft: Draft,
  options: NewOptions,
): Promise<{ request: NewConversation; known: Conversation | null }> {
  const task = draft.suggested_task === null ? null : await findTask(server, draft.suggested_task);
  const place = await choosePlace(ctx, server, await placeOf(ctx, options, task));
  const request: NewConversation = {
    ...draft,
    ...place,
    suggested_task: task,
    spec_id: options.spec ?? null,
  };
  return { request, known: await findSameStart(server, request) };
}

/** A task is worked on in its own repository, unless another one is given. */
async function placeOf(ctx: Context, options: NewOptions, task: SuggestedTask | null): Promise<NewOptions> {
  if (task === null || options.repo !== undefined) return options;
  await ctx.notice(`repository ${task.repo} (of the suggested task; --no-repo for none)`);
  return { ...options, repo: task.repo, gitProvider: options.gitProvider ?? task.git_provider };
}

/** Throws for what this server lacks, before anything is sent. */
export async function checkServer(server: Server, { api, id, title, replay, sandbox }: NewOptions): Promise<void> {
  const { dialects } = server.info;
  if (api !== undefined && api !== 'auto' && !dialects.includes(api)) {
    throw new AppError('unsupported', `this server does not speak ${api}; it speaks ${dialects.join(' and ')}`);
  }
  if (id !== undefined && server.presence('caller-conversation-id') === 'absent') {
    throw new AppError('unsupported', 'this server chooses ids itself; --id needs a server of 2026 that speaks v1');
  }
  if (title !== undefined && server.presence('rename') === 'absent') {
    throw new AppError(
      'unsupported',
      'this server cannot rename a conversation; --title needs OpenHands 1.11 or later',
    );
  }
  if (replay === DEMO && server.presence('demo-replay') !== 'present') {
    throw new AppError('unsupported', 'this server does not have the demo, which is built into the local service', {
      hint: 'use -p local, or replay a file',
    });
  }
  // A start over V0 takes no sandbox, known or not, and throws its own error.
  if (sandbox !== undefined && api !== 'v0') await server.sandboxes.get(sandbox);
}

/** `--id` a second time: the conversation when the same request is done already. Throws `conflict` for another request. */
async function findSameStart(server: Server, request: NewConversation): Promise<Conversation | null> {
  const known = request.conversation_id === null ? null : await findExisting(server, request.conversation_id);
  if (known === null) return null;
  if (await isSameStart(server, known, request)) return known;
  throw new AppError('conflict', `conversation ${known.id} exists already, and was started with another request`, {
    hint: 'leave --id out, or give another one',
    data: { id: known.id },
  });
}
