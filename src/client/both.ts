/** Servers that speak both dialects: V1, and V0 for what only V0 has. */
import { AppError, isNotFound, nullIf, isOfKind } from '../base/errors.ts';
import type { AppDialect, Conversation, Dialect } from '../domain/conversation.ts';
import type { NewConversation } from '../domain/new-conversation.ts';
import { allPages, byId, collectPages } from '../domain/pages.ts';
import type { Sandbox } from '../domain/sandbox.ts';
import { parseTime } from '../base/text/time.ts';
import { forward } from './shared/compose.ts';
import { startMember, type ProbeFacts } from './shared/features.ts';
import type { Adapter } from './shared/server.ts';

type Conversations = Adapter['conversations'];
type ByDialect = Record<AppDialect, Conversations>;

/** @param owners the dialects of conversations by id, kept for the other adapters of the command */
export function createBoth(
  v1: Adapter,
  v0: Adapter,
  facts: ProbeFacts,
  owners: Map<string, AppDialect>,
): Adapter {
  const by: ByDialect = { v0: v0.conversations, v1: v1.conversations };
  const merged = mergedList(by, owners);
  const namesSandboxes = facts.features['v0-sandboxes'] === 'present';
  const kept = (conversation: Conversation, dialect: AppDialect) => {
    if (conversation.id !== '') owners.set(conversation.id, dialect);
    return conversation;
  };
  const getV1 = (id: string) => by.v1.get(id).catch(nullIf(isNotFound));
  const ownerOf = async (id: string) => {
    const dialect = owners.get(id) ?? ((await getV1(id)) === null ? 'v0' : 'v1');
    owners.set(id, dialect);
    return by[dialect];
  };
  return {
    ...v1,
    sandboxes: namesSandboxes ? withUseByV0(v1.sandboxes, by.v0) : v1.sandboxes,
    conversations: forward((of) => ownerOf(typeof of === 'string' ? of : (of as Conversation).id), {
      async get(id) {
        const conversation = owners.get(id) === 'v0' ? null : await getV1(id);
        return conversation === null ? kept(await by.v0.get(id), 'v0') : kept(conversation, 'v1');
      },
      async *start(request, options) {
        const onlyV0 = needsV0(request, facts);
        const preferred = onlyV0 ? 'v0' : 'v1';
        const dialect = request.api === 'auto' ? preferred : request.api;
        try {
          return kept(yield* by[dialect].start(request, options), dialect);
        } catch (error) {
          if (onlyV0 || !isOfKind('server')(error)) throw error;
          if ((error.details.status ?? 0) < 500) throw error;
          const other = dialect === 'v0' ? 'v1' : 'v0';
          await by[other].list({ pageSize: 1 }, null).catch(() => {
            throw error;
          });
          const hint = `its ${other.toUpperCase()} routes answer: start it with --api ${other}`;
          throw error.with({ hint });
        }
      },
      findStart: (sent) => by[sideOf(sent)].findStart(sent),
      list: (query, page) =>
        (query.sandboxId !== undefined && !namesSandboxes ? by.v1.list : merged)(query, page),
    }),
  };
}

function sideOf({ dialect }: { dialect: Dialect }): AppDialect {
  return dialect === 'v0' ? 'v0' : 'v1';
}

function needsV0({ body, mcp_config, replay }: NewConversation, facts: ProbeFacts): boolean {
  const ofV0 = { mcp_config, replay_json: replay };
  const isLacking = ([name, value]: [string, unknown]): boolean =>
    value !== null && startMember(facts, name) !== 'present';
  return 'create_microagent' in body || Object.entries(ofV0).some(isLacking);
}

function mergedList(by: ByDialect, owners: Map<string, AppDialect>): Conversations['list'] {
  const readings = new Map<string, AsyncGenerator<Conversation, void, void>>();
  let pages = 0;
  return async (query, page) => {
    const reading = page === null ? newestFirst(by, query) : readings.get(page);
    if (reading === undefined)
      throw new AppError('internal', `there is no page ${page} of the merged list`);
    readings.delete(page ?? '');
    const items: Conversation[] = [];
    while (items.length < (query.pageSize ?? 100)) {
      const { value } = await reading.next();
      if (value === undefined) return { items, next: null };
      items.push(value);
      if (value.id !== '') owners.set(value.id, sideOf(value));
    }
    const next = `page-${++pages}`;
    readings.set(next, reading);
    return { items, next };
  };
}

interface Side {
  dialect: AppDialect;
  rest: AsyncGenerator<Conversation, void, void>;
  /** Undefined: not read yet; null: the list has ended. */
  first: Conversation | null | undefined;
}

async function* newestFirst(
  by: ByDialect,
  query: Parameters<Conversations['list']>[0],
): AsyncGenerator<Conversation, void, void> {
  const side = (dialect: AppDialect): Side => {
    const rest = allPages<Conversation>(byId, (page) => by[dialect].list(query, page));
    return { dialect, rest, first: undefined };
  };
  const [newer, older] = [side('v1'), side('v0')];
  const listed = new Set<string>();
  for (;;) {
    await Promise.all([fill(newer), fill(older)]);
    const from = isNewer(older.first, newer.first) ? older : newer;
    const { first } = from;
    if (!first) return;
    from.first = undefined;
    // A page may repeat a conversation, because servers page by offset (interface 4.3).
    if (first.id !== '' && listed.has(first.id)) continue;
    listed.add(first.id);
    yield first;
  }
}

/** One without a time keeps its position in its own list. */
function isNewer(one: Side['first'], other: Side['first']): boolean {
  if (!one || !other) return Boolean(one);
  const timeOf = ({ created_at }: Conversation): number => parseTime(created_at) ?? Infinity;
  return timeOf(one) > timeOf(other);
}

/** The error names the dialect: a script would treat the missing conversations as deleted. */
async function fill(side: Side): Promise<void> {
  if (side.first !== undefined) return;
  try {
    side.first = (await side.rest.next()).value ?? null;
  } catch (error) {
    if (!isOfKind('server')(error)) throw error;
    const { details, message } = error;
    const dialect = side.dialect.toUpperCase();
    throw new AppError('server', `the list of ${dialect} conversations fails: ${message}`, {
      ...details,
      hint:
        details.hint ??
        'without them the list would be incomplete; read each by its id: acs conv show <id>',
    });
  }
}

function withUseByV0(sandboxes: Adapter['sandboxes'], older: Conversations): Adapter['sandboxes'] {
  const readUses = async (sandboxId?: string): Promise<Conversation[]> => {
    const query = sandboxId === undefined ? {} : { sandboxId };
    return (await collectPages({ fetch: (page) => older.list(query, page), id: byId })).items;
  };
  const used = (sandbox: Sandbox, all: readonly Conversation[]) => {
    const conversations = all.filter(({ sandbox_id }) => sandbox_id === sandbox.id);
    const repositories = conversations.flatMap(({ repository }) => repository ?? []);
    const times = conversations.flatMap(({ updated_at }) => updated_at ?? []);
    return {
      ...sandbox,
      conversation_ids: [...sandbox.conversation_ids, ...conversations.map(byId)],
      repositories: [...new Set([...sandbox.repositories, ...repositories])],
      last_active_at: [...times, sandbox.last_active_at ?? ''].sort().at(-1) || null,
    };
  };
  return forward(() => Promise.resolve(sandboxes), {
    async list(page, pageSize, use = 'read') {
      if (use === 'none') return await sandboxes.list(page, pageSize, use);
      const [listed, uses] = await Promise.all([sandboxes.list(page, pageSize), readUses()]);
      return { ...listed, items: listed.items.map((sandbox) => used(sandbox, uses)) };
    },
    async get(id) {
      const [sandbox, uses] = await Promise.all([sandboxes.get(id), readUses(id)]);
      return used(sandbox, uses);
    },
  });
}
