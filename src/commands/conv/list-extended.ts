/** `conv list` with --cost or --all-profiles. */
import type { ConnectTarget, Context } from '../context.ts';
import { mapConcurrently } from '../../base/concurrent.ts';
import { AppError, isFailure, isOfKind } from '../../base/errors.ts';
import { KEY_VARIABLES } from '../../base/text/secret-names.ts';
import { parseTime } from '../../base/text/time.ts';
import { formatUsd } from '../../base/text/usd.ts';
import type { Server } from '../../client/shared/server.ts';
import { roundedUsd, type Conversation } from '../../domain/conversation.ts';
import type { NewKey } from '../../local/profiles/resolve.ts';
import type { View } from '../../output/view.ts';
import { limitsAfter } from '../../runs/deadline.ts';
import { CONCURRENCY } from '../shared/bulk.ts';
import { withinDeadline } from '../shared/derived-context.ts';
import { withLateProgress } from '../shared/late-progress.ts';
import { limitOf, noticeMore, readActive, readList, type ListRequest } from '../shared/lists.ts';
import { conversationView } from './conversations.ts';

export interface ExtendedOptions {
  cost?: boolean;
  allProfiles?: boolean;
}

/** The record is that of the server: a copy would be read again. */
interface Listed {
  conversation: Conversation;
  server: Server;
  profile: string | null;
}

/** For the list of a server; the other one where all pages are read. */
const [LIST_MS, LONG_LIST_MS] = [15_000, 300_000];
const MOST_COSTS = 1_000;

export async function printExtended(
  ctx: Context,
  request: ListRequest<Conversation>,
  { cost, allProfiles }: ExtendedOptions,
): Promise<void> {
  const { fields, table = [], tsv = [] } = conversationView;
  const own = allProfiles ? ['profile'] : [];
  // In a table these columns are beside the status: the last ones may not fit.
  const added = [...own, 'status', ...(cost ? ['cost_usd'] : [])];
  const view: View<Conversation & Pick<Listed, 'profile'>> = {
    ...conversationView,
    fields: allProfiles ? [...fields, { name: 'profile', weight: 2 }] : fields,
    table: table.flatMap((name) => (name === 'status' ? added : [name])),
    tsv: [...tsv, ...own],
  };
  ctx.out.check(view, 'list');
  const { listed, has_more } = await (allProfiles ? readAllProfiles : readOneProfile)(ctx, request);
  const total = cost ? await readCosts(ctx, listed) : undefined;
  const items = listed.map(({ conversation, profile }) => ({ ...conversation, profile }));
  const none = request.filter && 'none match';
  await ctx.out.list(view, items, { has_more, ...(total && { total }) }, none);
  await noticeMore(ctx, { has_more }, request);
  if (total && ctx.out.format !== 'json') await ctx.notice(totalLine(total));
}

async function readOneProfile(ctx: Context, request: ListRequest<Conversation>) {
  const { server, items, has_more } = await readActive(ctx, request);
  const listed = items.map((conversation): Listed => ({ conversation, server, profile: null }));
  return { listed, has_more };
}

/**
 * The newest conversations of the servers of all profiles, and of the local service if it runs. A
 * server that fails is a warning, and makes the exit code 1.
 */
async function readAllProfiles(ctx: Context, request: ListRequest<Conversation>) {
  const { profile, baseUrl, apiKeyFile } = ctx.globals;
  if ((profile ?? baseUrl ?? apiKeyFile) !== undefined) {
    const flags = '--profile, --base-url and --api-key-file';
    throw new AppError('usage', `--all-profiles cannot be combined with ${flags}`);
  }
  const targets = await readTargets(ctx);
  const variable = KEY_VARIABLES.find((name) => ctx.local.env[name] !== undefined);
  if (variable !== undefined)
    await ctx.notice(`${variable} is set but not used: each profile has its own key`);
  const isLong = request.filter !== undefined || request.paging.allPages;
  const limits = limitsAfter(ctx, isLong ? LONG_LIST_MS : LIST_MS);
  let has_more = false;
  const read = async ({ profile, target }: NamedTarget): Promise<Listed[]> => {
    try {
      const { server, list } = await withinDeadline(ctx, limits, async ({ signal }) => {
        const connected = await ctx.servers.connect(await target(), signal);
        const server = await connected.withSignal(signal);
        return { server: connected, list: await readList(server, request) };
      });
      has_more ||= list.has_more;
      return list.items.map((conversation) => ({ conversation, server, profile }));
    } catch (error) {
      if (!isFailure(error)) throw error;
      const text = `${profile}: ${error.message}`;
      await ctx.warn(text);
      await ctx.terminal.quietError(text);
      ctx.exitCode = 1;
      return [];
    }
  };
  const listed = await withLateProgress(ctx, `reading ${targets.length} servers`, async () =>
    (await Promise.all(targets.map(read))).flat(),
  );
  const createdMs = ({ conversation: { created_at } }: Listed) => parseTime(created_at) ?? Infinity;
  listed.sort((one, other) => createdMs(other) - createdMs(one) || 0);
  const shown = listed.slice(0, limitOf(request.paging));
  return { listed: shown, has_more: has_more || shown.length < listed.length };
}

interface NamedTarget {
  profile: string;
  target(): Promise<ConnectTarget>;
}

async function readTargets(ctx: Context): Promise<NamedTarget[]> {
  const stored = await (await ctx.profiles.store()).list();
  const targets = stored.map((profile): NamedTarget => {
    const { name, base_url, key: value, key_command: command } = profile;
    const source = `profile:${name}`;
    // Never a key of the environment: it belongs to one server.
    const own: NewKey = value === undefined ? { from: 'none' } : { from: 'value', value, source };
    return {
      profile: name,
      async target() {
        const key = await ctx.profiles.readKey(
          command === undefined ? own : { from: 'command', command },
        );
        const sources = { base_url_source: source, key_source: key === null ? null : source };
        return { base_url, key, sources, startUp: 'once' };
      },
    };
  });
  const running = await (await ctx.local.service()).running();
  if (running !== null) {
    const { url: base_url, key, pid } = running;
    const target = { base_url, key, pid, local: true };
    targets.push({ profile: 'local', target: () => Promise.resolve(target) });
  }
  if (targets.length > 0) return targets;
  throw new AppError('config', 'no profile is stored, and the local service does not run', {
    hint: 'add one: acs login <name> --base-url <url>',
  });
}

interface Total {
  cost_usd: number;
  tokens: { input: number; output: number };
  /** Conversations whose cost is not known. */
  unknown: number;
}

/** Sets the cost and the tokens of the records that lack them. */
async function readCosts(ctx: Context, listed: readonly Listed[]): Promise<Total> {
  const lacking = listed
    .filter(({ conversation: { id, cost_usd } }) => id !== '' && cost_usd === null)
    .slice(0, MOST_COSTS);
  const failures: string[] = [];
  await withLateProgress(ctx, 'reading costs', async (update) => {
    let begun = 0;
    await mapConcurrently(lacking, CONCURRENCY, async ({ conversation, server }) => {
      update(`cost ${++begun} of ${lacking.length}`);
      try {
        const { cost_usd, tokens } = await server.conversations.getComplete(conversation);
        Object.assign(conversation, { cost_usd, tokens });
      } catch (error) {
        if (!isOfKind('not-found', 'server')(error)) throw error;
        failures.push(error.message);
      }
    });
  });
  if (failures.length > 0) {
    const count = `${failures.length} of ${lacking.length}`;
    await ctx.warn(`${count} costs could not be read: ${failures[0]}`);
    ctx.exitCode = 1;
  }
  const conversations = listed.map(({ conversation }) => conversation);
  const sum = (numbers: (number | undefined)[]) =>
    numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
  const costs = conversations.flatMap(({ cost_usd }) => cost_usd ?? []);
  return {
    cost_usd: roundedUsd(sum(costs)),
    tokens: {
      input: sum(conversations.map(({ tokens }) => tokens?.input)),
      output: sum(conversations.map(({ tokens }) => tokens?.output)),
    },
    unknown: conversations.length - costs.length,
  };
}

function totalLine({ cost_usd, tokens: { input, output }, unknown }: Total): string {
  const number = (count: number): string => count.toLocaleString('en-US');
  const cost = cost_usd === 0 && unknown > 0 ? '' : `${formatUsd(cost_usd)}, `;
  const used = `${cost}${number(input)} input and ${number(output)} output tokens`;
  return `total: ${used}${unknown === 0 ? '' : `; the cost of ${unknown} is not known`}`;
}
