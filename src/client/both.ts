/** Servers that speak both dialects: V1, and V0 for what only V0 has. */
import { AppError, isNotFound, isOfKind, nullIf } from '../base/errors.ts';
import type { AppDialect, Conversation, Dialect } from '../domain/conversation.ts';
import type { NewConversation } from '../domain/new-conversation.ts';
import { allPages, byId } from '../domain/pages.ts';
import { parseTime } from '../base/text/time.ts';
import { deferred, forward } from './shared/compose.ts';
import { startMember } from './shared/features.ts';
import type { Links } from './shared/links.ts';
import type { Adapter } from './shared/server.ts';

type Conversations = Adapter['conversations'];
type ByDialect = Record<AppDialect, Conversations>;
type Reading = AsyncGenerator<Conversation, void, void>;

/** @param owners the dialects of conversations by id, kept for the other adapters of the command */
export function createBoth(
  links: Links,
  v1: Adapter,
  v0: Adapter,
  owners: Map<string, AppDialect>,
): Adapter {
  const by: ByDialect = { v0: v0.conversations, v1: v1.conversations };
  const merged = mergedList(by, owners);
  const namesSandboxes = links.facts.features['v0-sandboxes'] === 'present';
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
    sandboxes: namesSandboxes
      ? deferred(async () =>
          (await import('./v1/sandboxes.ts')).createSandboxes(links, [by.v1.list, by.v0.list]),
        )
      : v1.sandboxes,
    conversations: forward((of) => ownerOf(typeof of === 'string' ? of : (of as Conversation).id), {
      async get(id) {
        const conversation = owners.get(id) === 'v0' ? null : await getV1(id);
        return conversation === null ? kept(await by.v0.get(id), 'v0') : kept(conversation, 'v1');
      },
      async *start(request, options) {
        const onlyV0 = needsV0(request, links);
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

function needsV0({ body, mcp_config, replay }: NewConversation, { facts }: Links): boolean {
  const isLacking = (name: string) => startMember(facts, name) !== 'present';
  return (
    'create_microagent' in body ||
    (mcp_config !== null && isLacking('mcp_config')) ||
    (replay !== null && isLacking('replay_json'))
  );
}

function mergedList(by: ByDialect, owners: Map<string, AppDialect>): Conversations['list'] {
  const readings = new Map<string, Reading>();
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

async function* newestFirst(by: ByDialect, query: Parameters<Conversations['list']>[0]): Reading {
  const [v1, v0] = [readAll('v1', by, query), readAll('v0', by, query)];
  let [newer, older] = await Promise.all([v1.next(), v0.next()]);
  // V0 lists those of V1 too where a server does not say which they are.
  const listed = new Set<string>();
  for (;;) {
    const isOlderFirst = isNewer(older.value, newer.value);
    const first = isOlderFirst ? older.value : newer.value;
    if (!first) return;
    if (!listed.has(first.id) || first.id === '') yield first;
    listed.add(first.id);
    if (isOlderFirst) older = await v0.next();
    else newer = await v1.next();
  }
}

/** One without a time keeps its position in its own list. */
function isNewer(one: Conversation | void, other: Conversation | void): boolean {
  if (!one || !other) return Boolean(one);
  const timeOf = ({ created_at }: Conversation): number => parseTime(created_at) ?? Infinity;
  return timeOf(one) > timeOf(other);
}

/** The error names the dialect: a script would treat the missing conversations as deleted. */
async function* readAll(
  dialect: AppDialect,
  by: ByDialect,
  query: Parameters<Conversations['list']>[0],
): Reading {
  try {
    yield* allPages<Conversation>(byId, (page) => by[dialect].list(query, page));
  } catch (error) {
    if (!isOfKind('server')(error)) throw error;
    const { details, message } = error;
    const text = `the list of ${dialect.toUpperCase()} conversations fails: ${message}`;
    const hint =
      details.hint ??
      'without them the list would be incomplete; read each by its id: acs conv show <id>';
    throw new AppError('server', text, { ...details, hint });
  }
}
