/**
 * Tokens of git providers (interface 2.4, 2.8). A write replaces the whole map: a provider that is left out is dropped,
 * one with an empty token and its own host keeps its token. So the map is read first, and read again afterwards.
 */
import { AppError, isAppError } from '../../errors.ts';
import type { Dialect } from '../../domain/conversation.ts';
import type { GitProvider } from '../../domain/git-provider.ts';
import type { SecretsStore } from '../../domain/secrets-store.ts';
import { asRecord, optionalRecord } from '../../protocol/shape.ts';
import { isMissingRoute } from '../features.ts';
import { read, type Links } from '../links.ts';
import { notRemoved, removeOrRead } from '../removal.ts';
import type { NewProviderToken, GitPort } from './port.ts';
import { settingsMissing } from '../settings-write.ts';
import { reasonOf, type Answer } from '../transport/answer.ts';
import type { Call } from '../transport/call.ts';

interface Routes {
  settings: string;
  add: string;
  drop: Pick<Call, 'method' | 'path'>;
  tasks: string;
}

const ROUTES: Record<Dialect, Routes> = {
  v0: {
    settings: '/api/settings',
    add: '/api/add-git-providers',
    drop: { method: 'POST', path: '/api/unset-provider-tokens' },
    tasks: '/api/user/suggested-tasks',
  },
  v1: {
    settings: '/api/v1/settings',
    add: '/api/v1/secrets/git-providers',
    drop: { method: 'DELETE', path: '/api/v1/secrets/git-providers' },
    tasks: '/api/v1/git/suggested-tasks/search',
  },
};

type ProviderTokens = SecretsStore['provider_tokens'];

const TRIED = 'a server tries a token at its provider before it stores it: check the token, its expiry and --host';

/** Whether tokens may be dropped that the server has and does not report. */
type Loss = 'refuse' | 'allow';

export function createProviders(links: Links, dialect: Dialect): Pick<GitPort, 'providers' | 'connect' | 'disconnect'> {
  const refuseMissing = (): void => {
    if (links.features.of('git-providers') === 'absent') throw lacksProviders();
  };
  return {
    async providers() {
      refuseMissing();
      const stored = await readProviders(links, dialect);
      if (stored === null) throw unreported('the server has tokens of git providers and does not report which');
      return stored;
    },
    async connect(token, loss) {
      refuseMissing();
      return await connect(links, dialect, token, loss);
    },
    async disconnect(name, loss) {
      refuseMissing();
      await disconnect(links, dialect, name, loss);
    },
  };
}

/** The providers that the server has tokens for, without the tokens. Null: it has some and does not report which. */
async function readProviders(links: Links, dialect: Dialect): Promise<GitProvider[] | null> {
  return (await readReported(links, dialect)) ?? ((await hasTokens(links, dialect)) ? null : []);
}

/** Null while the server has no settings: their record has the providers. */
async function readReported(links: Links, dialect: Dialect): Promise<GitProvider[] | null> {
  const call = { method: 'GET', path: ROUTES[dialect].settings, safe: 'read', accept: [404] } as const;
  const answer = await links.app.request(call);
  if (isMissingRoute(answer)) throw settingsMissing(answer);
  if (answer.status === 404) return null;
  const set = read(answer, (body) => optionalRecord(asRecord(body, 'settings'), 'provider_tokens_set', 'settings'));
  return Object.entries(set ?? {}).map(([git_provider, host]) => ({
    git_provider,
    host: typeof host === 'string' ? host : null,
  }));
}

/** The list of suggested tasks is refused while there is no token at all. */
async function hasTokens(links: Links, dialect: Dialect): Promise<boolean> {
  const query = dialect === 'v1' ? { limit: 1 } : {};
  const accept = [401, 403, 404, 500];
  const call = { method: 'GET', path: ROUTES[dialect].tasks, query, safe: 'read', mayBeMissing: true, accept } as const;
  const { status } = await links.app.request(call);
  return status !== 401 && status !== 403;
}

async function connect(
  links: Links,
  dialect: Dialect,
  { git_provider, token, host }: NewProviderToken,
  loss: Loss,
): Promise<GitProvider & { before: 'absent' | 'present' }> {
  links.network.redaction.add(token);
  const before = await readProviders(links, dialect);
  const known = before?.find((each) => each.git_provider === git_provider);
  const stored = { git_provider, host: host ?? known?.host ?? null };
  await storeTokens(links, dialect, { [git_provider]: { token, host: stored.host } }, before, loss);
  const names = [...(before ?? []).map((each) => each.git_provider), git_provider];
  await checkStored(links, dialect, names);
  return { ...stored, before: known === undefined ? 'absent' : 'present' };
}

/** Adds tokens to those that are stored. Throws `conflict` where the server does not report which these are. */
export async function addTokens(links: Links, dialect: Dialect, tokens: ProviderTokens): Promise<void> {
  await storeTokens(links, dialect, tokens, await readProviders(links, dialect), 'refuse');
}

/** Drops the tokens of all providers. */
export async function dropTokens(links: Links, dialect: Dialect): Promise<void> {
  await send(links, ROUTES[dialect].drop);
}

async function storeTokens(
  links: Links,
  dialect: Dialect,
  tokens: ProviderTokens,
  before: GitProvider[] | null,
  loss: Loss,
): Promise<void> {
  refuseLoss(before, loss);
  await write(links, dialect, { ...keptTokens(before ?? []), ...tokens });
}

/** Throws `conflict` where a write may drop tokens that the server does not report. */
function refuseLoss(stored: GitProvider[] | null, loss: Loss): void {
  if (stored !== null || loss === 'allow') return;
  throw unreported('this may delete tokens of other git providers: the server has some and does not report which');
}

/** Stored tokens as they are sent to be kept. The host has to be the stored one: else the server tries the token at it. */
function keptTokens(stored: readonly GitProvider[]): ProviderTokens {
  return Object.fromEntries(stored.map(({ git_provider, host }) => [git_provider, { token: '', host }]));
}

async function write(links: Links, dialect: Dialect, provider_tokens: ProviderTokens): Promise<void> {
  const call = { method: 'POST', path: ROUTES[dialect].add, body: { provider_tokens } } as const;
  const answer = await send(links, call).catch((error: unknown) => {
    if (!isAppError(error) || error.kind !== 'auth' || !/valid .* token/i.test(error.message)) throw error;
    throw new AppError('auth', `the server refuses the token: ${error.message}`, { ...error.details, hint: TRIED });
  });
  if (answer.status < 400) return;
  const { status, request } = answer;
  throw new AppError('usage', `the server refuses this: ${reasonOf(answer)}`, { status, request });
}

/** A request that writes. Throws `unsupported` where the route is missing. */
async function send(links: Links, call: Pick<Call, 'method' | 'path' | 'body'>): Promise<Answer> {
  const mayBeMissing = links.features.of('git-providers') !== 'present';
  const accept = [400, 404, 405, 422];
  const answer = await links.app.request({ ...call, safe: 'idempotent', mayBeMissing, accept });
  if (isMissingRoute(answer)) throw lacksProviders();
  return answer;
}

async function disconnect(links: Links, dialect: Dialect, name: string, loss: Loss): Promise<void> {
  const before = await readProviders(links, dialect);
  refuseLoss(before, loss);
  if (before !== null && !before.some(({ git_provider }) => git_provider === name)) throw noProvider(name);
  const others = (before ?? []).filter(({ git_provider }) => git_provider !== name);
  await removeOrRead(links, `the token of ${name}`, {
    remove: async () => {
      if (others.length > 0) await write(links, dialect, keptTokens(others));
      else await dropTokens(links, dialect);
    },
    isThere: async () =>
      (await readReported(links, dialect))?.some(({ git_provider }) => git_provider === name) ?? true,
  });
  const after = await checkStored(
    links,
    dialect,
    others.map(({ git_provider }) => git_provider),
  );
  if (after?.some(({ git_provider }) => git_provider === name)) throw notRemoved(`the token of ${name}`);
}

/**
 * Throws `server` when one of these is not stored. The write was accepted: a list that cannot be read is no failure.
 * @returns what is stored; null where it cannot be read
 */
async function checkStored(links: Links, dialect: Dialect, names: readonly string[]): Promise<GitProvider[] | null> {
  const after = await readReported(links, dialect).catch((error: unknown) => {
    if (isAppError(error) && error.kind !== 'interrupted') return null;
    throw error;
  });
  const missing = names.filter((name) => after?.every(({ git_provider }) => git_provider !== name));
  if (missing.length === 0) return after;
  throw new AppError('server', `the server accepted the change and has no token of ${missing.join(', ')} now`, {
    hint: 'store it again: acs git-provider set <provider>',
  });
}

function unreported(message: string): AppError {
  return new AppError('conflict', message, {
    hint: 'a server reports them once it has settings: store one, for example with acs settings set language=en',
  });
}

function noProvider(name: string): AppError {
  return new AppError('not-found', `the server has no token of ${name.slice(0, 100)}`, {
    hint: 'list the providers that it has tokens for: acs git-provider list',
  });
}

function lacksProviders(): AppError {
  return new AppError(
    'unsupported',
    'this server stores no tokens of git providers; V0 servers, and V1 servers of 2026 such as OpenHands 1.11, do',
  );
}
