import { randomUUID } from 'node:crypto';
import path from 'node:path';
import * as v from 'valibot';
import { cut } from '../../../base/text/well-formed.ts';
import * as requests from '../../../protocol/agent-server/requests.ts';
import { toDashedId, toHexId, uuid } from '../../../protocol/detail.ts';
import { HttpError, json, refuse, SUCCESS } from '../../http/answer.ts';
import { integer, pageOf, refused, success, texts } from '../../http/records.ts';
import { cursorPage } from '../../http/request.ts';
import { route, type Route } from '../../http/route.ts';
import { zipStream } from '../../http/zip.ts';
import type { AgentContext } from '../context.ts';
import { type ConversationEntry, policyOf } from '../conversations.ts';
import { withModel } from '../../base/model-config.ts';
import { unsupported } from '../../settings/fields.ts';
import { condensationEvent } from '../events.ts';
import { NO_INSTRUCTIONS, readInstructions } from '../instructions.ts';
import type { Sandbox } from '../../isolation/sandbox.ts';
import * as records from '../records.ts';
import { conversationView, finalResponse, firstMessage, trajectoryMembers } from '../views.ts';
import { secretValues } from './settings.ts';

const MAX_IDS = 99;
const NEEDS_ISOLATION =
  'An agent with a model needs isolation, which this sandbox does not have. Use a sandbox ' +
  'of the spec process to permit that.';
type AgentWithModel = NonNullable<requests.StartConversation['agent_settings']>;

const NO_MODEL =
  'A replay has no model, so no answer is possible. Start a conversation with a model.';

export const BY_ID = { conversation_id: uuid };
const response = v.object(texts('response'));

export const conversationRoutes: readonly Route<AgentContext>[] = [
  route('POST /api/conversations', {
    callers: 'local app server, sdk, typescript-client',
    body: requests.startConversation,
    answers: {
      200: records.conversation,
      201: records.conversation,
      ...refused(400, 404, 409, 501),
    },
    async handle(context, { body }) {
      const { config, conversations, sandbox, userStore, log } = context;
      const id = body.conversation_id ?? newId();
      const needsModel = conversations.needsModel(body);
      const before = conversations.get(id);
      if (before !== null) return conversationView(before.conversation);
      const agent = body.agent ?? body.agent_settings ?? null;
      if (needsModel) assertModelMayRun(config, agent, body.agent_profile_id);
      const workingDir = await workingFolder(sandbox, body.workspace.working_dir);
      const instructions = needsModel
        ? await readInstructions(sandbox, workingDir, body.disabled_skills)
        : NO_INSTRUCTIONS;
      // Another request may have created it during the reads.
      const existing = conversations.get(id);
      if (existing !== null) return conversationView(existing.conversation);
      const secrets = { ...agent?.agent_context?.secrets, ...body.secrets };
      const start = { body, agent, workingDir, instructions };
      const values = secretValues(secrets, userStore);
      const { conversation, loop } = conversations.create(id, start, values);
      const setup = await setUp(loop, body.setup_script, context);
      // It was deleted meanwhile, or the worker ends.
      if (conversations.get(id) === null) throw refuse(404, `Conversation not found: ${id}`);
      const message = body.initial_message;
      if (message) conversation.addMessage(message.role, message.content);
      const notices = [instructions.notice, setup.notice].filter((notice) => notice !== '');
      for (const notice of notices) conversation.notice(notice);
      if (setup.output !== '') log(`the output of the setup script:\n${setup.output}`);
      if (message?.run) loop.startOrJoin();
      return json(conversationView(conversation), 201);
    },
  }),
  route('GET /api/conversations', {
    callers: 'typescript-client',
    query: requests.conversationIds,
    answers: { 200: v.array(v.nullable(records.conversation)), ...refused(400) },
    handle({ conversations }, { query: { ids } }) {
      if (ids.length > MAX_IDS) throw refuse(400, 'Too many ids');
      return ids
        .map((id) => conversations.get(id))
        .map((entry) => entry && conversationView(entry.conversation));
    },
  }),
  route('GET /api/conversations/search', {
    callers: 'typescript-client',
    query: requests.conversationSearch,
    answers: { 200: pageOf(records.conversation) },
    handle({ conversations }, { query: { limit, page_id, sort_order, status } }) {
      const member = sort_order.startsWith('UPDATED') ? 'updated_at' : 'created_at';
      const sign = sort_order.endsWith('_DESC') ? -1 : 1;
      const matching = conversations
        .withStatus(status)
        .map(({ conversation }) => conversation)
        .sort((a, b) => (a.state[member] < b.state[member] ? -sign : sign));
      const from = { limit, page_id: toHexId(page_id ?? '') ?? undefined };
      const page = cursorPage(from, matching, ({ id }) => id);
      return { ...page, items: page.items.map(conversationView) };
    },
  }),
  route('GET /api/conversations/count', {
    callers: 'typescript-client',
    query: requests.conversationCount,
    answers: { 200: integer() },
    handle: ({ conversations }, { query }) => conversations.withStatus(query.status).length,
  }),
  route('GET /api/conversations/{conversation_id}', {
    callers: 'acs conv show, sdk, typescript-client',
    parts: BY_ID,
    answers: { 200: records.conversation, ...refused(404) },
    handle: (worker, { path }) => conversationView(entryOf(worker, path).conversation),
  }),
  change('PATCH /api/conversations/{conversation_id}', {
    callers: 'acs conv rename, sdk, typescript-client',
    body: requests.updateConversation,
    effect: ({ conversation }, { title, tags }) => {
      conversation.record([], {
        ...(title == null ? {} : { title }),
        ...(tags == null ? {} : { tags }),
      });
    },
  }),
  change('DELETE /api/conversations/{conversation_id}', {
    callers: 'local app server, sdk, typescript-client',
    effect: ({ conversation }, _, { conversations }) => conversations.delete(conversation.id),
  }),
  route('GET /api/conversations/{conversation_id}/agent_final_response', {
    callers: 'typescript-client',
    parts: BY_ID,
    answers: { 200: response, ...refused(404) },
    handle: (worker, { path }) => ({
      response: finalResponse(entryOf(worker, path).conversation),
    }),
  }),
  change('POST /api/conversations/{conversation_id}/run', {
    callers: 'acs conv resume, sdk, typescript-client',
    refuses: [409],
    effect: ({ loop }) => loop.start(),
  }),
  change('POST /api/conversations/{conversation_id}/pause', {
    callers: 'acs conv stop, sdk, typescript-client',
    effect: ({ loop }) => loop.pause(),
  }),
  change('POST /api/conversations/{conversation_id}/interrupt', {
    callers: 'acs conv stop, sdk, typescript-client',
    effect: ({ loop }) => loop.interrupt(),
  }),
  change('POST /local/conversations/{conversation_id}/user_command', {
    callers: 'local app server',
    body: requests.userCommand,
    refuses: [409],
    effect: ({ loop }, { command }) => loop.tools.runForUser(command),
  }),
  route('POST /api/conversations/{conversation_id}/ask_agent', {
    callers: 'sdk, typescript-client',
    parts: BY_ID,
    body: requests.askAgent,
    answers: { 200: response, ...refused(400, 404, 502) },
    async handle(worker, { path, body: { question }, c }) {
      const { conversation, model } = entryOf(worker, path);
      if (model === null) throw refuse(400, NO_MODEL);
      const response = await model.text((agent) =>
        agent.answer(question, conversation.history(), c.req.raw.signal),
      );
      return { response };
    },
  }),
  route('POST /api/conversations/{conversation_id}/condense', {
    callers: 'sdk, typescript-client',
    parts: BY_ID,
    answers: { 200: success, ...refused(400, 404, 502) },
    async handle(worker, { path, c }) {
      const { conversation, loop, model } = entryOf(worker, path);
      if (model === null) throw refuse(400, NO_MODEL);
      const request = { source: 'environment', kind: 'CondensationRequest' } as const;
      if (loop.isRunning) {
        // The next step of the run condenses the history.
        conversation.record([request]);
        return SUCCESS;
      }
      const step = await model.ask((agent) =>
        agent.condense(conversation.history(), c.req.raw.signal),
      );
      if (step === null) throw refuse(400, 'The conversation is too short to be condensed.');
      const { events, change: used } = conversation.used(step.usage);
      conversation.record([request, ...events, condensationEvent(step)], used);
      return SUCCESS;
    },
  }),
  change('POST /api/conversations/{conversation_id}/secrets', {
    callers: 'sdk, typescript-client',
    body: requests.setSecrets,
    refuses: [400],
    effect: ({ conversation }, { secrets }, { userStore }) =>
      conversation.setSecrets(secretValues(secrets, userStore)),
  }),
  change('POST /api/conversations/{conversation_id}/confirmation_policy', {
    callers: 'acs conv new, sdk, typescript-client',
    body: requests.setConfirmationPolicy,
    effect: ({ conversation }, { policy }) =>
      conversation.setMember('confirmation_policy', policyOf(policy)),
  }),
  change('POST /api/conversations/{conversation_id}/security_analyzer', {
    callers: 'sdk, typescript-client',
    body: requests.setSecurityAnalyzer,
    effect: ({ conversation }, { security_analyzer }) =>
      conversation.setMember('security_analyzer', security_analyzer),
  }),
  change('POST /api/conversations/{conversation_id}/switch_llm', {
    callers: 'local app server, typescript-client',
    body: requests.switchLlm,
    refuses: [404, 501],
    effect: ({ conversation }, { llm }) => {
      refuseUnsupported({ llm });
      const { model } = conversation;
      if (model !== null) {
        const members = Object.entries(llm).filter(([, value]) => value !== null);
        const isOfSameEndpoint = llm.base_url == null && llm.api_key == null;
        conversation.setModel(
          isOfSameEndpoint
            ? {
                ...model,
                llm: { ...withModel(model.llm, llm.model), ...Object.fromEntries(members) },
              }
            : { ...model, llm, of_settings: false },
        );
      }
      conversation.record([], { model: llm.model });
    },
  }),
  route('POST /api/conversations/{conversation_id}/generate_title', {
    callers: 'sdk 1.11.5',
    parts: BY_ID,
    body: requests.generateTitle,
    emptyBody: {},
    answers: { 200: v.object(texts('title')), ...refused(404) },
    async handle(worker, { path, body: { max_length }, c }) {
      const { conversation, model } = entryOf(worker, path);
      const title = conversation.state.title ?? 'Untitled';
      const first = firstMessage(conversation);
      if (model === null || first === '') return { title };
      try {
        const text = await model.text((agent) => agent.title(first, c.req.raw.signal));
        return { title: cut(text.trim().replace(/^["']|["']$/g, ''), max_length) };
      } catch (error) {
        if (error instanceof HttpError) return { title };
        throw error;
      }
    },
  }),
  route('POST /api/conversations/{conversation_id}/fork', {
    callers: 'sdk, typescript-client',
    parts: BY_ID,
    body: requests.forkConversation,
    emptyBody: {},
    answers: { 201: records.conversation, ...refused(404, 409) },
    handle(worker, { path, body }) {
      const { conversations } = worker;
      const { conversation } = entryOf(worker, path, 'Source conversation not found');
      const id = body.id ?? newId();
      if (conversations.get(id) !== null)
        throw refuse(409, `Conversation with id ${toDashedId(id)} already exists`);
      const fork = conversations.fork(conversation, id, body);
      if (fork === null) throw refuse(404, `from_event_id ${body.from_event_id ?? ''} not found`);
      return json(conversationView(fork.conversation), 201);
    },
  }),
  route('GET /api/file/download-trajectory/{conversation_id}', {
    callers: 'typescript-client',
    parts: BY_ID,
    answers: { 200: 'application/octet-stream', ...refused(404) },
    handle(worker, { path }) {
      const { conversation } = entryOf(worker, path);
      return new Response(zipStream(trajectoryMembers(conversation)), {
        headers: attachment(`${conversation.id}.zip`),
      });
    },
  }),
];

export function entryOf(
  { conversations }: AgentContext,
  { conversation_id: id }: Readonly<Record<'conversation_id', string>>,
  unknown = 'Not Found',
): ConversationEntry {
  const entry = conversations.get(id);
  if (entry === null) throw refuse(404, unknown);
  return entry;
}

/** A request that changes one conversation. */
export function change<Body extends v.GenericSchema>(
  name: `${string}/{conversation_id}${string}`,
  {
    refuses = [],
    isNamed = false,
    effect,
    ...declaration
  }: {
    callers: string;
    body?: Body;
    /** Statuses beside 404. */
    refuses?: number[];
    /** The 404 names the conversation, as on genuine servers. */
    isNamed?: boolean;
    effect: (
      entry: ConversationEntry,
      body: v.InferOutput<Body>,
      worker: AgentContext,
    ) => void | Promise<void>;
  },
): Route<AgentContext> {
  return route(name, {
    ...declaration,
    parts: BY_ID,
    answers: { 200: success, ...refused(404, ...refuses) },
    async handle(worker: AgentContext, { path, body, c }) {
      const named = `Conversation not found: ${c.req.param('conversation_id')}`;
      await effect(entryOf(worker, path, isNamed ? named : undefined), body, worker);
      return SUCCESS;
    },
  });
}

async function setUp(
  { tools }: ConversationEntry['loop'],
  script: string | null | undefined,
  { config, setUpLimit }: AgentContext,
) {
  if (script == null) return { notice: '', output: '' };
  if (config.spec !== 'process') return tools.terminal.setUp(script, setUpLimit.signal);
  // A repository of somebody else would run it with the rights of the user.
  const why = 'this sandbox has no isolation. Run it where the task needs it.';
  return { notice: `The setup script ${script} has not run, because ${why}`, output: '' };
}

function newId(): string {
  return randomUUID().replaceAll('-', '');
}

function refuseUnsupported(agent: Pick<AgentWithModel, 'llm' | 'condenser'>): void {
  const reason = unsupported(agent) ?? unsupported({ llm: agent.condenser?.llm });
  if (reason !== null) throw refuse(501, reason);
}

function assertModelMayRun(
  { fell_back }: AgentContext['config'],
  agent: AgentWithModel | null,
  profile: string | null | undefined,
): void {
  if (fell_back) throw refuse(501, NEEDS_ISOLATION);
  if (agent === null) throw refuse(404, `Agent profile ${profile ?? ''} not found`);
  refuseUnsupported(agent);
}

/** Makes a missing folder of the workspace with an empty repository, as genuine servers do. */
async function workingFolder(sandbox: Sandbox, requested: string): Promise<string> {
  const { workingDir } = await sandbox.folders();
  const folder = path.posix.resolve(workingDir, requested);
  if (!folder.startsWith(`${workingDir}/`)) return folder;
  const make = '[ -d "$1" ] || { mkdir -p -- "$1" && git init -q -- "$1"; }';
  const argv = ['sh', '-c', make, 'sh', folder];
  const { exitCode } = await sandbox.run({ argv, cwd: workingDir });
  if (exitCode !== 0) throw refuse(400, `The folder ${cut(folder, 500)} cannot be made`);
  return folder;
}

export function attachment(name: string): Record<string, string> {
  const plain = name.replace(/[^\x20-\x7e]|["\\]/g, '_');
  const encoded = encodeURIComponent(name);
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`,
  };
}
