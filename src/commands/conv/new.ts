import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { NewConversation, SuggestedTask } from '../../domain/new-conversation.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import { limitsAfter, withinDeadline, type Limits, type TimedContext } from '../../runs/deadline.ts';
import { explain } from '../declare.ts';
import { eventView } from './event-view.ts';
import { findExisting, isSameStart, readChosenId } from './chosen-id.ts';
import { readImages } from './images.ts';
import { checkIdFile } from './new-announce.ts';
import { readMessage, readTextFile } from './message.ts';
import {
  DEMO,
  readMcpConfig,
  readMembers,
  readMicroagent,
  readReplay,
  readSecrets,
  readSuggestedTask,
  type ReadTask,
} from './new-files.ts';
import { keepingMessage } from './new-kept.ts';
import { chooseStart } from './new-model.ts';
import { addNewOptions, checkNewOptions, stayOf, type NewOptions } from './new-options.ts';
import { choosePlace, onlyProvider } from './new-repository.ts';
import { startAndStay } from './new-start.ts';
import { askForTask, confirmTask } from './new-wizard.ts';
import { checkTitle } from './rename.ts';
import { conversationView, outcomeView, startedShape } from './view.ts';
import { limitsOf } from '../wait-limit.ts';

export function declareNew(parent: Command, ctx: Context): void {
  const command = parent.command('new').alias('create').description('start a conversation');
  addNewOptions(command);
  explain(command, {
    notes: [
      'Without a message acs asks for it on a terminal. The command returns when the conversation has started; with --wait or --follow when the run has ended, with the exit code of the run. Ctrl-C ends acs; the run continues.',
      'The id is printed to stderr as soon as it is known; -q prints it to stdout, --id-file writes it to a file.',
      '--replay reads events as `acs conv events --json` prints them, or as a server returns them, and runs the recorded actions again.',
      'Members of the file of --members: agent_type, agent_profile_id, parent_conversation_id, plugins, processors, public, pr_number, trigger, observability_metadata, observability_tags, observability_span_name.',
    ],
    json: ({ objectForm }) => [
      ['--json', `${objectForm(conversationView, 'changed')}; with --wait also "outcome", after a failure "error"`],
      ['ndjson, first line', objectForm(startedShape)],
      ['ndjson with --follow', `${objectForm(eventView(null))}, one a line`],
      ['ndjson, last line', `${objectForm(outcomeView)}, with --wait or --follow`],
    ],
    exits: [
      'failed',
      'not-found',
      'conflict',
      'needs-input',
      'unknown-outcome',
      'unsupported',
      'timeout',
      'interrupted',
    ],
    examples: [
      {
        command: "acs conv new 'Find out why the tests fail' --follow",
        does: 'start on the current checkout and print the events of the run',
      },
      {
        command: 'acs conv new --file task.md --no-repo --wait --json',
        does: 'read the message from a file, wait, and print one document',
      },
      { command: 'acs conv new --replay demo --follow', does: 'replay the built-in recorded run; needs no model' },
    ],
  });
  command.action((message: string | undefined, options: NewOptions) => newConversation(message, options, ctx));
}

export async function newConversation(argument: string | undefined, given: NewOptions, ctx: Context): Promise<void> {
  checkNewOptions(ctx, argument, given);
  checkOutput(ctx, given);
  const limits = limitsOf(ctx, given);
  const stay = stayOf(given);
  // Else the time is the one for the start alone.
  const isWhole = stay === 'ended' || (given.waitTimeout ?? given.timeout) !== undefined;
  const options: NewOptions = { ...given, repo: given.repo ?? given.R };
  if (options.title !== undefined) checkTitle(options.title);
  if (options.idFile !== undefined) await checkIdFile(ctx, options.idFile);
  const draft = await readDraft(ctx, argument, options);
  const isTaskMissing = !hasTask(draft);
  if (isTaskMissing && !ctx.interactive) {
    throw new AppError('usage', 'no message was given, and prompts are off', {
      hint: 'give the message as an argument, with --file, or as - on stdin; or replay a recorded run with --replay',
    });
  }
  // A person who is asked may take as long as the answers need.
  const lookUps = isWhole && !isTaskMissing ? limits : limitsAfter(ctx, Number.POSITIVE_INFINITY);
  const { server, replay } = await beforeStart(ctx, lookUps, async (timed) => {
    const inForce = await timed.server();
    const found = isTaskMissing ? await chooseStart(timed, inForce) : { server: inForce, replay: null };
    await checkServer(found.server, options);
    return found;
  });
  const chosenStart = { server, replay: replay ?? draft.replay };
  await keepingMessage(ctx, async (typed) => {
    const answers = isTaskMissing ? await askForTask(ctx, chosenStart, options, typed) : null;
    const chosen = { ...options, ...answers?.options };
    const { request, known } = await beforeStart(ctx, lookUps, async (timed) => {
      const bound = await server.withSignal(timed.signal);
      const place = await choosePlace(timed, bound, chosen);
      const request: NewConversation = {
        ...draft,
        ...place,
        replay: chosenStart.replay,
        suggested_task: await withProvider(bound, draft.suggested_task),
        message: answers?.message ?? draft.message,
        spec_id: chosen.spec ?? null,
      };
      return { request, known: await findSameStart(bound, request) };
    });
    if (known === null && answers !== null) await confirmTask(ctx, request);
    const onStarted = () => void (typed.text = null);
    await startAndStay(ctx, server, request, { ...options, ...limits, isWhole, stay, known, onStarted });
  });
}

/** What is looked up before the start is sent, which ends at the deadline. */
async function beforeStart<T>(ctx: Context, limits: Limits, work: (timed: TimedContext) => Promise<T>): Promise<T> {
  return await withinDeadline(ctx, limits, async (timed) => {
    try {
      return await work(timed);
    } catch (error) {
      if (!timed.deadline.isOver(error)) throw error;
      const { message, details } = error as AppError;
      throw new AppError('timeout', `${message}; nothing was started`, details);
    }
  });
}

/** Json is one document at the end, also with --follow; -q is the id alone. */
function checkOutput(ctx: Context, options: NewOptions): void {
  const { format } = ctx.globals;
  const isStream = options.follow === true && format !== 'json' && format !== 'id';
  if (isStream) ctx.out.check(eventView(null), 'stream');
  else ctx.out.check(conversationView, 'item');
}

type Draft = Omit<NewConversation, 'repository' | 'branch' | 'git_provider' | 'spec_id' | 'suggested_task'> & {
  suggested_task: ReadTask | null;
};

/** Everything that can be wrong in flags and files is found here, before a server is asked for anything. */
async function readDraft(ctx: Context, argument: string | undefined, options: NewOptions): Promise<Draft> {
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

function hasTask({ message, replay, suggested_task, microagent }: Draft): boolean {
  return [message, replay, suggested_task, microagent].some((part) => part !== null);
}

/** Throws `usage` where the provider has to be said. */
async function withProvider(server: Server, task: ReadTask | null): Promise<SuggestedTask | null> {
  return task && { ...task, git_provider: task.git_provider ?? (await onlyProvider(server, task.repo)) };
}

/** Throws for what this server lacks, before anything is sent. */
async function checkServer(server: Server, { api, id, title, replay, sandbox }: NewOptions): Promise<void> {
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
  // A start over V0 takes none, known or not, and says so itself.
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
