/**
 * Servers that speak both dialects (0.60 to 1.6, the local service): V1, and V0 for what only V0
 * has.
 */
import { AppError, isAppError, isNotFound } from '../base/errors.ts';
import type { Conversation, Dialect } from '../domain/conversation.ts';
import { allPages, byId, eachPage } from '../domain/pages.ts';
import type { Sandbox } from '../domain/sandbox.ts';
import { parseTime } from '../base/text/time.ts';
import { forward } from './shared/compose.ts';
import { startMember, type ProbeFacts } from './shared/features.ts';
import type { Adapter } from './shared/server.ts';
import { OF_V1 } from './v0/calls.ts';

type Conversations = Adapter['conversations'];

/** @param owners the dialects of conversations by id, kept for the other adapters of the command */
export function createBoth(
  v1: Adapter,
  v0: Adapter,
  facts: ProbeFacts,
  owners: Map<string, Dialect>,
): Adapter {
  const { conversations: newer } = v1;
  const { conversations: older } = v0;
  const merged = mergedList(newer, older, owners);
  const namesSandboxes = facts.features['v0-sandboxes'] === 'present';
  const kept = (conversation: Conversation, dialect: Dialect): Conversation => {
    if (conversation.id !== '') owners.set(conversation.id, dialect);
    return conversation;
  };
  /** Null where V1 does not have it. */
  const getNewer = (id: string): Promise<Conversation | null> =>
    newer.get(id).catch((error: unknown) => {
      if (isNotFound(error)) return null;
      throw error;
    });
  const ownerOf = async (id: string): Promise<Conversations> => {
    if (!owners.has(id)) owners.set(id, (await getNewer(id)) === null ? 'v0' : 'v1');
    return owners.get(id) === 'v1' ? newer : older;
  };
  return {
    ...v1,
    sandboxes: namesSandboxes ? withUseByV0(v1.sandboxes, older) : v1.sandboxes,
    conversations: forward((id) => ownerOf(id as string), {
      async get(id) {
        const found = owners.get(id) === 'v0' ? null : await getNewer(id);
        if (found !== null) return kept(found, 'v1');
        try {
          return kept(await older.get(id), 'v0');
        } catch (error) {
          if (!isAppError(error) || error.cause !== OF_V1) throw error;
          return kept(await newer.get(id), 'v1'); // created between the two reads
        }
      },
      async *start(request, options) {
        const onlyV0 =
          'create_microagent' in request.body ||
          request.mcp_config !== null ||
          (request.replay !== null && startMember(facts, 'replay_json') !== 'present');
        const preferred = onlyV0 ? 'v0' : 'v1';
        const dialect = request.api === 'auto' ? preferred : request.api;
        const by = { v0: older, v1: newer };
        try {
          return kept(yield* by[dialect].start(request, options), dialect);
        } catch (error) {
          const isServerError = isAppError(error) && error.kind === 'server';
          if (!isServerError || (error.details.status ?? 0) < 500) throw error;
          const other = dialect === 'v0' ? 'v1' : 'v0';
          if (onlyV0 && other === 'v1') throw error;
          await by[other].list({ pageSize: 1 }, null).catch(() => {
            throw error;
          });
          const hint = `its ${other.toUpperCase()} routes answer: start it with --api ${other}`;
          throw new AppError(error.kind, error.message, { ...error.details, hint });
        }
      },
      findStart: (sent) => (sent.dialect === 'v1' ? newer : older).findStart(sent),
      list: (query, page) =>
        (query.sandboxId !== undefined && !namesSandboxes ? newer.list : merged)(query, page),
    }),
  };
}

interface Side {
  dialect: Dialect;
  pages: AsyncGenerator<Conversation[], void, void>;
  /** What was read and is on no page of the merged list yet. */
  items: Conversation[];
  hasMore: boolean;
}

function mergedList(
  v1: Conversations,
  v0: Conversations,
  owners: Map<string, Dialect>,
): Conversations['list'] {
  /** By the id of the next page. */
  const readings = new Map<string, { newer: Side; older: Side; listed: Set<string> }>();
  let pages = 0;
  return async (query, page) => {
    const side = (dialect: Dialect, { list }: Conversations): Side => {
      const read = eachPage<Conversation>(byId, (next) => list(query, next));
      return { dialect, pages: read, items: [], hasMore: true };
    };
    const reading =
      page === null
        ? { newer: side('v1', v1), older: side('v0', v0), listed: new Set<string>() }
        : readings.get(page);
    if (reading === undefined)
      throw new AppError('internal', `there is no page ${page} of the merged list`);
    readings.delete(page ?? '');
    const { newer, older, listed } = reading;
    const items: Conversation[] = [];
    while (items.length < (query.pageSize ?? 100)) {
      await Promise.all([fill(newer), fill(older)]);
      const conversation = newestOf(newer, older).items.shift();
      if (conversation === undefined) return { items, next: null };
      const { id, dialect } = conversation;
      // Servers page by offset: a conversation that is created meanwhile moves a row to the next
      // page (interface 4.3).
      if (listed.has(id)) continue;
      items.push(conversation);
      if (id === '') continue;
      listed.add(id);
      owners.set(id, dialect);
    }
    if (![newer, older].some((each) => each.hasMore || each.items.length > 0))
      return { items, next: null };
    const next = `page-${++pages}`;
    readings.set(next, reading);
    return { items, next };
  };
}

/**
 * Names the half that cannot be read: a script would treat the missing conversations as deleted.
 */
async function fill(side: Side): Promise<void> {
  try {
    while (side.hasMore && side.items.length === 0) {
      const { done = false, value = [] } = await side.pages.next();
      side.hasMore = !done;
      side.items.push(...value);
    }
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'server') throw error;
    const { details, message } = error;
    throw new AppError(
      'server',
      `the list of ${side.dialect.toUpperCase()} conversations fails: ${message}`,
      {
        ...details,
        hint:
          details.hint ??
          'without them the list would be incomplete; read each by its id: acs conv show <id>',
      },
    );
  }
}

/**
 * Of two with the same time the one of V1 is first. One without a time keeps its position in its
 * own list.
 */
function newestOf(newer: Side, older: Side): Side {
  const [one, other] = [newer.items[0], older.items[0]];
  if (one === undefined || other === undefined) return one === undefined ? older : newer;
  const timeOf = ({ created_at }: Conversation): number => parseTime(created_at) ?? Infinity;
  return timeOf(other) > timeOf(one) ? older : newer;
}

function withUseByV0(sandboxes: Adapter['sandboxes'], older: Conversations): Adapter['sandboxes'] {
  const readUses = async (sandboxId?: string): Promise<Conversation[]> => {
    const query = sandboxId === undefined ? {} : { sandboxId };
    const found: Conversation[] = [];
    for await (const one of allPages<Conversation>(byId, (page) => older.list(query, page)))
      found.push(one);
    return found;
  };
  const used = (sandbox: Sandbox, all: readonly Conversation[]): Sandbox => {
    const conversations = all.filter(({ sandbox_id }) => sandbox_id === sandbox.id);
    if (conversations.length === 0) return sandbox;
    const repositories = conversations.flatMap(({ repository }) => repository ?? []);
    const times = conversations.flatMap(({ updated_at }) => updated_at ?? []);
    return {
      ...sandbox,
      conversation_ids: [...sandbox.conversation_ids, ...conversations.map(({ id }) => id)],
      repositories: [...new Set([...sandbox.repositories, ...repositories])],
      last_active_at: [...times, sandbox.last_active_at ?? ''].sort().at(-1) ?? null,
    };
  };
  return forward(() => Promise.resolve(sandboxes), {
    async list(page, pageSize, use = 'read') {
      if (use === 'none') return await sandboxes.list(page, pageSize, use);
      const [found, uses] = await Promise.all([sandboxes.list(page, pageSize), readUses()]);
      return { ...found, items: found.items.map((sandbox) => used(sandbox, uses)) };
    },
    async get(id) {
      const [sandbox, uses] = await Promise.all([sandboxes.get(id), readUses(id)]);
      return used(sandbox, uses);
    },
  });
}
