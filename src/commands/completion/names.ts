/**
 * `acs __complete <what>`: names for a completion script, one a line, each with a tab and its title where it has one.
 * It reads what this machine has: profiles, the schema of settings, the last conversation of a server, and the local
 * service while that is running. It starts nothing, sends nothing to another server, and prints
 * nothing when anything fails: what it prints is inserted into the line that the user types.
 */
import type { Context } from '../../context.ts';
import { isAppError } from '../../errors.ts';
import { safeLine } from '../../text/safe-text.ts';
import type { NameKind } from './tree.ts';

/** The answer of the local service is not awaited longer than this. */
const LIMIT_MS = 300;
const NEWEST = 100;

interface Name {
  name: string;
  title?: string | null;
}

type LocalServer = Awaited<ReturnType<Context['connect']>>;

export async function printNames(what: string, ctx: Context): Promise<void> {
  const names = await namesOf(what as NameKind, ctx).catch(() => []);
  // Shells expand what they are given: a name is a plain word or is left out.
  const lines = names
    .filter(({ name }) => /^[\w.@][\w.@:+/-]*$/.test(name))
    .map(({ name, title }) => `${name}${title ? `\t${safeLine(title)}` : ''}\n`);
  if (lines.length > 0) await ctx.out.raw(lines.join(''));
}

async function namesOf(what: NameKind, ctx: Context): Promise<Name[]> {
  switch (what) {
    case 'profiles':
      return [...(await (await ctx.profiles()).list()), { name: 'local' }].map(({ name }) => ({ name }));
    case 'settings': {
      const { SETTINGS_FIELDS } = await import('../../domain/settings-fields.ts');
      return SETTINGS_FIELDS.map(({ name, description }) => ({ name, title: description }));
    }
    case 'conversations':
      return [...(await lastOf(ctx)), ...(await fromLocal(ctx, conversationsOf))];
    default:
      return await fromLocal(ctx, (server) => LISTS[what](server));
  }
}

const LISTS: Record<
  Exclude<NameKind, 'profiles' | 'settings' | 'conversations'>,
  (server: LocalServer) => Promise<Name[]>
> = {
  sandboxes: async (server) =>
    (await server.sandboxes.list(null, NEWEST)).items.map(({ id, status }) => ({ name: id, title: status })),
  specs: async (server) => (await server.specs.list(null, NEWEST)).items.map(({ id }) => ({ name: id })),
  secrets: async (server) =>
    (await server.secrets.list(null, NEWEST)).items.map(({ name, description }) => ({ name, title: description })),
  'model-profiles': async (server) =>
    (await server.modelProfiles.list()).map(({ name, model }) => ({ name, title: model })),
};

async function conversationsOf(server: LocalServer): Promise<Name[]> {
  const { items } = await server.conversations.list({ pageSize: NEWEST }, null);
  return items.map(({ id, title, status }) => ({ name: id, title: [status, title].filter(Boolean).join(' · ') }));
}

/** `@last`, where a conversation was started on the active server. */
async function lastOf(ctx: Context): Promise<Name[]> {
  const url = (await targetOf(ctx)) ?? (await (await ctx.localService()).running())?.url;
  const last = url === undefined ? null : await ctx.lastConversation.get(new URL(url).origin);
  return last === null ? [] : [{ name: '@last', title: last }];
}

/** URL of the active server; null for the local service, which is also the default without a configured server. */
async function targetOf(ctx: Context): Promise<string | null> {
  try {
    const { local, base_url } = await ctx.target();
    return local ? null : base_url;
  } catch (error) {
    // In a completion stderr is not a terminal, so that nothing is assumed; a person who types means the local service.
    if (isAppError(error) && error.kind === 'config') return null;
    throw error;
  }
}

async function fromLocal(ctx: Context, read: (server: LocalServer) => Promise<Name[]>): Promise<Name[]> {
  if ((await targetOf(ctx)) !== null) return [];
  const running = await (await ctx.localService()).running();
  if (running === null) return [];
  const time = new AbortController();
  const asked = (async () => {
    const sources = { base_url_source: 'built-in', key_source: 'local' } as const;
    const server = await ctx.connect({ base_url: running.url, key: running.key, local: true, sources });
    return await read(await server.withSignal(time.signal));
  })().catch(() => []);
  try {
    const { beforeTime } = await import('../../runs/deadline.ts');
    const names = await beforeTime(ctx, LIMIT_MS, [asked]);
    return names === 'time' ? [] : names;
  } finally {
    time.abort();
  }
}
