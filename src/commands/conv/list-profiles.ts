import type { ConnectTarget, Context } from '../context.ts';
import { AppError, isFailure } from '../../base/errors.ts';
import { KEY_VARIABLES } from '../../base/text/secret-names.ts';
import { parseTime } from '../../base/text/time.ts';
import type { Conversation } from '../../domain/conversation.ts';
import type { NewKey } from '../../local/profiles/resolve.ts';
import { limitsAfter } from '../../runs/deadline.ts';
import { withinDeadline } from '../shared/derived-context.ts';
import { withLateProgress } from '../shared/late-progress.ts';
import { limitOf, readList, type ListRequest } from '../shared/lists.ts';
import type { ListedConversation } from './list-costs.ts';

/** For the list of a server; the other one where all pages are read. */
const [LIST_MS, LONG_LIST_MS] = [15_000, 300_000];

interface NamedTarget {
  profile: string;
  target(): Promise<ConnectTarget>;
}

/**
 * The newest conversations of the servers of all profiles, and of the local service if it runs. A
 * server that fails is a warning, and makes the exit code 1.
 */
export async function readAllProfiles(
  ctx: Context,
  request: ListRequest<Conversation>,
): Promise<{ listed: ListedConversation[]; has_more: boolean }> {
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
  const read = async ({ profile, target }: NamedTarget): Promise<ListedConversation[]> => {
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
  const createdMs = ({ conversation: { created_at } }: ListedConversation) =>
    parseTime(created_at) ?? Infinity;
  listed.sort((one, other) => createdMs(other) - createdMs(one) || 0);
  const shown = listed.slice(0, limitOf(request.paging));
  return { listed: shown, has_more: has_more || shown.length < listed.length };
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
