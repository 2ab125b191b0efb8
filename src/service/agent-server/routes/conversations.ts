import type { Context } from 'hono';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type * as v from 'valibot';
import { cut } from '../../../base/text/well-formed.ts';
import * as requests from '../../../protocol/agent-server/requests.ts';
import { toDashedId, toHexId } from '../../../protocol/detail.ts';
import { HttpError, json, refuse, SUCCESS } from '../../http/answer.ts';
import { cursorPage, pathId } from '../../http/request.ts';
import { body, query, type Handlers } from '../../http/route.ts';
import { zipStream } from '../../http/zip.ts';
import type { AgentRoute } from '../../http/served-routes.ts';
import type { EventFilter } from '../../storage/event-log.ts';
import type { WorkerContext } from '../context.ts';
import { type ConversationEntry, policyOf, secretValues } from '../conversations.ts';
import { withModel } from '../../agents/model/config.ts';
import { condensationEvent } from '../events.ts';
import type { Sandbox } from '../../isolation/sandbox.ts';
import { conversationView, finalResponse, firstMessage, trajectoryMembers } from '../views.ts';
import { lookedUp } from './settings.ts';

const NEEDS_ISOLATION =
  'An agent with a model needs isolation, which this sandbox does not have. Use a sandbox of ' +
  'the spec process to permit that.';
const NO_MODEL =
  'A replay has no model, so no answer is possible. Start a conversation with a model.';

export function workerConversationHandlers({
  conversations,
  sandbox,
  userStore,
  mayRunModels,
}: WorkerContext): Handlers<AgentRoute> {
  /** The conversation in the path; 422 for a malformed id, 404 for an unknown one. */
  const entryOf = (c: Context, unknown = 'Not Found'): ConversationEntry => {
    const entry = conversations.get(pathId(c));
    if (entry === null) throw refuse(404, unknown);
    return entry;
  };
  const withStatus = (status: string | undefined): ConversationEntry[] =>
    conversations
      .all()
      .filter(
        ({ conversation }) =>
          status === undefined || conversation.state.execution_status === status,
      );
  const change =
    (effect: (entry: ConversationEntry) => void | Promise<void>) => async (c: Context) => {
      await effect(entryOf(c));
      return SUCCESS;
    };
  const set = <S extends v.GenericSchema>(
    schema: S,
    effect: (entry: ConversationEntry, given: v.InferOutput<S>) => void | Promise<void>,
    find = (c: Context) => entryOf(c),
  ) =>
    body(schema, async (given, c) => {
      await effect(find(c), given);
      return SUCCESS;
    });
  /** For the two routes whose 404 names the conversation. */
  const namedEntry = (c: Context) =>
    entryOf(c, `Conversation not found: ${c.req.param('conversation_id') ?? ''}`);
  return {
    'POST /api/conversations': body(requests.startConversation, async (wanted) => {
      const id = wanted.conversation_id ?? randomUUID().replaceAll('-', '');
      const { agent, agent_settings, agent_profile_id: profile } = wanted;
      const needsModel = conversations.needsModel(wanted);
      if (needsModel && !mayRunModels) throw refuse(501, NEEDS_ISOLATION);
      const known = conversations.get(id);
      if (known !== null) return conversationView(known.conversation);
      if (needsModel && agent == null && agent_settings == null)
        throw refuse(404, `Agent profile ${profile ?? ''} not found`);
      const working_dir = await workingFolder(sandbox, wanted.workspace.working_dir);
      const instructions = needsModel ? await conversations.instructions(working_dir) : [];
      // Looked up again: another request may have created it meanwhile.
      const existing = conversations.get(id);
      if (existing !== null) return conversationView(existing.conversation);
      const { agent_context } = agent ?? agent_settings ?? {};
      const secrets = lookedUp({ ...agent_context?.secrets, ...wanted.secrets }, userStore);
      const { conversation, loop } = conversations.create(
        id,
        { ...wanted, secrets },
        working_dir,
        instructions,
      );
      const message = wanted.initial_message;
      if (message != null) {
        conversation.addMessage(message.role, message.content);
        if (message.run) loop.startOrJoin();
      }
      return json(conversationView(conversation), 201);
    }),
    'GET /api/conversations': query(requests.conversationIds, ({ ids }) => {
      if (ids.length > 99) throw refuse(400, 'Too many ids');
      return ids
        .map((id) => conversations.get(id))
        .map((entry) => entry && conversationView(entry.conversation));
    }),
    'GET /api/conversations/search': query(
      requests.conversationSearch,
      ({ limit, page_id, sort_order, status }) => {
        const member = sort_order.startsWith('UPDATED') ? 'updated_at' : 'created_at';
        const sign = sort_order.endsWith('_DESC') ? -1 : 1;
        const found = withStatus(status)
          .map(({ conversation }) => conversation)
          .sort((a, b) => (a.state[member] < b.state[member] ? -sign : sign));
        const page = cursorPage(
          { limit, page_id: toHexId(page_id ?? '') ?? undefined },
          found,
          ({ id }) => id,
        );
        return { ...page, items: page.items.map(conversationView) };
      },
    ),
    'GET /api/conversations/count': query(
      requests.conversationCount,
      ({ status }) => withStatus(status).length,
    ),
    'GET /api/conversations/{conversation_id}': (c) => conversationView(entryOf(c).conversation),
    'PATCH /api/conversations/{conversation_id}': set(
      requests.updateConversation,
      ({ conversation }, { title, tags }) => {
        conversation.record([], {
          ...(title == null ? {} : { title }),
          ...(tags == null ? {} : { tags }),
        });
      },
    ),
    'DELETE /api/conversations/{conversation_id}': change(({ conversation }) =>
      conversations.delete(conversation.id),
    ),

    'POST /api/conversations/{conversation_id}/run': change(({ loop }) => {
      loop.start();
    }),
    'POST /api/conversations/{conversation_id}/pause': change(({ loop }) => loop.pause()),
    'POST /api/conversations/{conversation_id}/interrupt': change(({ loop }) => loop.interrupt()),
    'POST /local/conversations/{conversation_id}/user_command': set(
      requests.userCommand,
      ({ loop }, { command }) => {
        loop.tools.runForUser(command);
      },
    ),
    'POST /api/conversations/{conversation_id}/ask_agent': body(
      requests.askAgent,
      async ({ question }, c) => {
        const { conversation, model } = entryOf(c);
        if (model === null) throw refuse(400, NO_MODEL);
        const { signal } = c.req.raw;
        const { text, usage } = await model.ask((agent) =>
          agent.answer(question, conversation.history(), signal),
        );
        conversation.record([], conversation.used(usage).change);
        return { response: conversation.masked(text) };
      },
    ),
    'POST /api/conversations/{conversation_id}/condense': async (c) => {
      const { conversation, loop, model } = entryOf(c);
      if (model === null) throw refuse(400, NO_MODEL);
      const request = { source: 'environment', kind: 'CondensationRequest' } as const;
      // The next step of the run condenses the history.
      if (loop.isRunning) conversation.record([request]);
      else {
        const step = await model.ask((agent) =>
          agent.condense(conversation.history(), c.req.raw.signal),
        );
        if (step === null) throw refuse(400, 'The conversation is too short to be condensed.');
        const { events, change: used } = conversation.used(step.usage);
        conversation.record([request, ...events, condensationEvent(step)], used);
      }
      return SUCCESS;
    },
    'POST /api/conversations/{conversation_id}/fork': body(
      requests.forkConversation,
      (wanted, c) => {
        const { conversation } = entryOf(c, 'Source conversation not found');
        const id = wanted.id ?? randomUUID().replaceAll('-', '');
        if (conversations.get(id) !== null)
          throw refuse(409, `Conversation with id ${toDashedId(id)} already exists`);
        const fork = conversations.fork(conversation, id, wanted);
        if (fork === null)
          throw refuse(404, `from_event_id ${wanted.from_event_id ?? ''} not found`);
        return json(conversationView(fork.conversation), 201);
      },
      {},
    ),
    'GET /api/conversations/{conversation_id}/agent_final_response': (c) => ({
      response: finalResponse(entryOf(c).conversation),
    }),
    'POST /api/conversations/{conversation_id}/generate_title': body(
      requests.generateTitle,
      async ({ max_length }, c) => {
        const { conversation, model } = entryOf(c);
        const title = conversation.state.title ?? 'Untitled';
        const first = firstMessage(conversation);
        if (model === null || first === '') return { title };
        try {
          const { text, usage } = await model.ask((agent) => agent.title(first, c.req.raw.signal));
          conversation.record([], conversation.used(usage).change);
          const plain = conversation
            .masked(text)
            .trim()
            .replace(/^["']|["']$/g, '');
          return { title: cut(plain, max_length) };
        } catch (error) {
          // Without an answer genuine servers return the title of the first message.
          if (error instanceof HttpError) return { title };
          throw error;
        }
      },
      {},
    ),

    'POST /api/conversations/{conversation_id}/secrets': set(
      requests.setSecrets,
      ({ conversation }, { secrets }) => {
        conversation.setSecrets(secretValues(lookedUp(secrets, userStore)));
      },
    ),
    'POST /api/conversations/{conversation_id}/confirmation_policy': set(
      requests.setConfirmationPolicy,
      ({ conversation }, { policy }) =>
        conversation.setMember('confirmation_policy', policyOf(policy)),
    ),
    'POST /api/conversations/{conversation_id}/security_analyzer': set(
      requests.setSecurityAnalyzer,
      ({ conversation }, given) =>
        conversation.setMember('security_analyzer', given.security_analyzer),
    ),
    'POST /api/conversations/{conversation_id}/switch_llm': set(
      requests.switchLlm,
      ({ conversation }, { llm }) => {
        const { model } = conversation;
        // A model alone is another one of the same endpoint.
        const isAlone = llm.base_url == null && llm.api_key == null;
        const given = Object.fromEntries(Object.entries(llm).filter(([, value]) => value !== null));
        if (model !== null && isAlone)
          conversation.setModel({
            ...model,
            llm: { ...withModel(model.llm, llm.model), ...given },
          });
        else if (model !== null) conversation.setModel({ ...model, llm, of_settings: false });
        conversation.record([], { model: llm.model });
      },
    ),

    'POST /api/conversations/{conversation_id}/events': set(
      requests.sendMessage,
      ({ conversation, loop }, { role, content, run }) => {
        // Before the message is stored: a later run would process it without the user's knowledge.
        if (run) loop.assertNotWaiting();
        conversation.addMessage(role, content);
        if (run) loop.startOrJoin();
      },
      namedEntry,
    ),
    'POST /api/conversations/{conversation_id}/events/respond_to_confirmation': set(
      requests.respondToConfirmation,
      ({ loop }, { accept, reason }) => loop.respond(accept, reason),
      namedEntry,
    ),
    'GET /api/conversations/{conversation_id}/events/search': query(
      requests.eventSearch,
      (given, c) => {
        const { shown: log } = entryOf(c).conversation;
        const order = given.sort_order === 'TIMESTAMP' ? 'asc' : 'desc';
        const page = log.search({
          ...filterOf(given),
          fromId: given.page_id,
          limit: given.limit,
          order,
        });
        return { items: page.items, next_page_id: page.next?.id ?? null };
      },
    ),
    'GET /api/conversations/{conversation_id}/events/count': query(
      requests.eventSearch,
      (given, c) => entryOf(c).conversation.log.count(filterOf(given)),
    ),
    'GET /api/conversations/{conversation_id}/events/{event_id}': (c) => {
      const [event] = entryOf(c).conversation.shown.get([c.req.param('event_id') ?? '']);
      if (!event) throw refuse(404, 'Event not found');
      return event;
    },
    'GET /api/file/download-trajectory/{conversation_id}': (c) => {
      const { conversation } = entryOf(c);
      return new Response(zipStream(trajectoryMembers(conversation)), {
        headers: attachment(`${conversation.id}.zip`),
      });
    },
  };
}

/**
 * A folder that is missing in the workspace is made with an empty repository, as by genuine
 * servers.
 */
async function workingFolder(sandbox: Sandbox, given: string): Promise<string> {
  const { workingDir } = await sandbox.folders();
  const folder = path.posix.resolve(workingDir, given);
  if (!folder.startsWith(`${workingDir}/`)) return folder;
  const make = '[ -d "$1" ] || { mkdir -p -- "$1" && git init -q -- "$1"; }';
  const program = { argv: ['sh', '-c', make, 'sh', folder], cwd: workingDir };
  const { exitCode } = await sandbox.run(program, { onOutput: () => undefined });
  if (exitCode !== 0) throw refuse(400, `The folder ${cut(folder, 500)} cannot be made`);
  return folder;
}

/** The headers of a download. */
export function attachment(name: string): Record<string, string> {
  const plain = name.replace(/[^\x20-\x7e]|["\\]/g, '_');
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition':
      `attachment; filename="${plain}"; ` + `filename*=UTF-8''${encodeURIComponent(name)}`,
  };
}

/**
 * The module of each event kind at genuine servers, whose searches take the class path of a kind.
 */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  acp_tool_call: ['ACPToolCallEvent'],
  condenser: ['Condensation', 'CondensationRequest', 'CondensationSummaryEvent'],
  conversation_error: ['ConversationErrorEvent'],
  conversation_state: ['ConversationStateUpdateEvent'],
  hook_execution: ['HookExecutionEvent'],
  llm_completion_log: ['LLMCompletionLogEvent'],
  'llm_convertible.action': ['ActionEvent'],
  'llm_convertible.message': ['MessageEvent'],
  'llm_convertible.observation': ['AgentErrorEvent', 'ObservationEvent', 'UserRejectObservation'],
  'llm_convertible.system': ['SystemPromptEvent'],
  token: ['TokenEvent'],
  user_action: ['InterruptEvent', 'PauseEvent'],
};

/**
 * Times in the naive form of the log; a kind from its path, such as
 * `openhands.sdk.event.user_action.PauseEvent`.
 */
function filterOf({ kind: at, source, body, ...times }: requests.EventSearch): EventFilter {
  const [, module = '', name = ''] =
    /^openhands\.sdk\.event\.([\w.]+)\.(\w+)$/.exec(at ?? '') ?? [];
  // The empty kind finds no event.
  const kind = at === undefined ? undefined : MODULES[module]?.includes(name) === true ? name : '';
  return {
    kind,
    source,
    body,
    gte: times.timestamp__gte?.slice(0, -1),
    lt: times.timestamp__lt?.slice(0, -1),
  };
}
