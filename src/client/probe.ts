/** Dialects and features (interface 9). Unknown paths may be HTML with 200, so only JSON counts. */
import type { Clock } from '../base/clock.ts';
import { AppError, isAppError, isFailure } from '../base/errors.ts';
import { sourceWords, type TargetSources } from '../domain/target-sources.ts';
import type { SecretKeeper } from '../base/text/redact.ts';
import {
  asRecord,
  isRecord,
  isShapeError,
  optionalRecord,
  optionalText,
  ShapeError,
  type Json,
} from '../protocol/shape.ts';
import { beforeTime } from '../runs/deadline.ts';
import {
  FEATURES,
  presenceOf,
  STATED_FEATURES,
  type Feature,
  type Features,
  type ProbeCache,
  type Probed,
  type ProbeFacts,
} from './shared/features.ts';
import { errorBy, isJsonType, type Answer } from './http/answer.ts';
import { LIMITS_MS, RETRY_STATUSES } from './http/time-limits.ts';
import type { Transport } from './http/transport.ts';
import { cut } from '../base/text/well-formed.ts';

export interface ConnectOptions {
  baseUrl: string;
  key: string | null;
  secrets?: SecretKeeper;
  sources?: TargetSources;
  /** True when this is the built-in profile of the local service: no pace, no proxy. */
  local: boolean;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  signal: AbortSignal;
  mode: 'live' | 'dry-run';
  requestTimeoutMs?: number;
  rate?: number;
  log?: (line: string) => void;
  notice?: (text: string) => void;
  cache?: ProbeCache;
  /** For the local service: starts it again when it has ended since it was found. */
  restart?: (() => Promise<unknown>) | undefined;
  use?: 'calls' | undefined;
  /** `once`: a gateway that answers 502 is an error at once. */
  startUp?: 'once' | undefined;
}

const NO_DOCUMENT = {
  isLocal: false,
  version: null,
  features: Object.fromEntries(FEATURES.map((name) => [name, 'unknown'])) as Features,
  v1_start_members: null,
};

const MOST_PROBE_BYTES = 16 * 1024 * 1024;
const ANSWERS = Array.from({ length: 500 }, (_, index) => index + 100).filter(
  (status) => !RETRY_STATUSES.has(status),
);
const RIGHT_URL = 'is this the right server? check the URL, the port and the path';

const START_UP_PAUSE_MS = 1_000;

/** Repeats the probe while a gateway answers 502, as before the servers behind it have started. */
export async function probeStarted(app: Transport, options: ConnectOptions): Promise<Probed> {
  const { clock, signal, notice, startUp } = options;
  const endsAtMs = clock.now() + LIMITS_MS.startUp;
  for (let tries = 1; ; tries++) {
    try {
      return await probe(app, options);
    } catch (error) {
      if (!isAppError(error) || !isBadGateway(error)) throw error;
      if (startUp === 'once' || clock.now() + START_UP_PAUSE_MS > endsAtMs)
        throw error.with({ hint: 'the server may be starting: try again in a minute' });
      const seconds = LIMITS_MS.startUp / 1000;
      if (tries === 1)
        notice?.(`${app.baseUrl} answers 502; acs waits up to ${seconds} s for it to start`);
      await clock.sleep(START_UP_PAUSE_MS, signal);
    }
  }
}

/** Throws `network`, `auth`, `rate-limited`, and `server` for what is no OpenHands server. */
export async function probe(app: Transport, options: ConnectOptions): Promise<Probed> {
  const { clock, local } = options;
  const request = requests(app, options);
  const answers = await Promise.all([
    request('/openapi.json'),
    request('/api/v1/web-client/config'),
    request('/api/v1/app-conversations/count'),
    request('/api/options/config'),
  ]);
  const [documentAnswer, webClientAnswer, countAnswer, optionsAnswer] = answers;
  if (answers.every(isAppError)) throw answers.find(isBadGateway) ?? documentAnswer;
  const document = documentFacts(json(documentAnswer));
  const webClient = json(webClientAnswer);
  const serverOptions = json(optionsAnswer);
  const known = document ?? withoutDocument(webClient, json(countAnswer), serverOptions);
  const { v1, v0, isLocal, version, features, v1_start_members } = known;
  const refusal = [
    v1 || !v0 ? countAnswer : null,
    // Without a document only this 401 identifies V0 and a wrong key (quirks/unchecked-key.ts).
    v0 || document === null ? optionsAnswer : null,
  ].find(isRefusal);
  if (refusal !== undefined) throw keyError(options, refusal);
  if (!v1 && !v0) {
    const facts = await agentFacts(request, documentAnswer, countAnswer);
    if (facts === null) throw notAServer(answers);
    return { facts: { ...facts, probed_at_ms: clock.now() }, holds: 'lasting' };
  }
  const isNotServed = [401, 403, 404, 405, 410].includes(statusOf(documentAnswer));
  return {
    facts: {
      format: 2,
      dialects: (['v1', 'v0'] as const).filter((dialect) => known[dialect]),
      flavour: flavourOf(local || isLocal, webClient, serverOptions),
      version,
      features: { ...features },
      v1_start_members,
      echoes_ids: false,
      probed_at_ms: clock.now(),
    },
    holds: document !== null || isNotServed ? 'lasting' : 'transient',
  };
}

/** 1.28: releases before are those that app servers start in sandboxes (interface 14). */
const FIRST_BACKEND = 1_028;

/** Null for what is no agent server; without a dialect for one that an app server has started. */
async function agentFacts(
  request: ReturnType<typeof requests>,
  document: Answer | AppError,
  count: Answer | AppError,
): Promise<Omit<ProbeFacts, 'probed_at_ms'> | null> {
  const isAgent = isAgentServer(json(document));
  if (!isAgent && statusOf(count) !== 404) return null;
  const [infoAnswer, page] = await Promise.all([
    request('/server_info'),
    // An ingress without a front end answers 503, which is not repeated.
    request('/', [...ANSWERS, ...RETRY_STATUSES]),
  ]);
  const info = json(infoAnswer);
  if (!isAgent && !isAgentServer(info)) return null;
  const version = isRecord(info) ? optionalText(info, 'version', 'server_info') : null;
  const isPage = !isAppError(page) && page.status === 200 && /html/.test(page.contentType);
  const shown: Partial<Record<Feature, boolean>> = {
    'web-interface': isPage,
    'conversation-containers': runsContainers(info),
  };
  const features = FEATURES.map(
    (name) => [name, presenceOf(shown[name] ?? BACKEND_FEATURES.includes(name))] as const,
  );
  return {
    format: 2,
    dialects: isOfSandbox(info, version) ? [] : ['agent'],
    flavour: 'self-hosted',
    version,
    features: Object.fromEntries(features) as Features,
    v1_start_members: null,
    echoes_ids: true,
  };
}

function runsContainers(info: unknown): boolean {
  if (!isRecord(info)) return false;
  const { conversation_runtime: runtime, available_conversation_runtimes: others } = info;
  return runtime === 'docker' || (Array.isArray(others) && others.includes('docker'));
}

function isOfSandbox(info: unknown, version: string | null): boolean {
  // The local service starts agent servers for its sandboxes alone.
  if (isRecord(info) && info['title'] === 'Agent server of the local service') return true;
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version ?? '') ?? [];
  return major !== undefined && 1000 * Number(major) + Number(minor) < FIRST_BACKEND;
}

const BACKEND_FEATURES: readonly Feature[] = [
  'caller-conversation-id',
  'delete-conversation',
  'rename',
  'settings-schema',
  'model-profiles',
  'secrets',
  'events',
  'immediate-events',
];

/** Without a document; only JSON counts. */
function withoutDocument(webClient: unknown, count: unknown, serverOptions: unknown) {
  return {
    ...NO_DOCUMENT,
    v1: isRecord(webClient) || typeof count === 'number',
    v0: isRecord(serverOptions) && 'APP_MODE' in serverOptions,
  };
}

/** Each request of the probe; none is waited for longer than the whole probe may take. */
function requests(app: Transport, { clock, requestTimeoutMs = 0 }: ConnectOptions) {
  const longestMs = Math.max(LIMITS_MS.wholeProbe, 2 * requestTimeoutMs);
  const endsAtMs = clock.now() + longestMs;
  const limits = { timeoutMs: LIMITS_MS.probe, maxBytes: MOST_PROBE_BYTES };
  return async (path: string, accept = ANSWERS): Promise<Answer | AppError> => {
    try {
      const sent = app.request({ path, ...limits, accept, mayBeMissing: true });
      const answer = await beforeTime({ clock }, endsAtMs - clock.now(), [sent]);
      if (answer !== 'time') return answer;
      const text = `${app.baseUrl} did not complete a response within ${longestMs / 1000} s`;
      return new AppError('network', text, { hint: RIGHT_URL, retryable: true });
    } catch (error) {
      if (!isFailure(error)) throw error;
      return error;
    }
  };
}

const FLAVOURS: ReadonlyMap<unknown, ProbeFacts['flavour']> = new Map([
  ['local', 'local'],
  ['saas', 'cloud'],
  ['oss', 'self-hosted'],
]);

function flavourOf(
  isLocal: boolean,
  webClient: unknown,
  serverOptions: unknown,
): ProbeFacts['flavour'] {
  if (isLocal) return 'local';
  const v0Mode = isRecord(serverOptions) ? serverOptions['APP_MODE'] : null;
  return FLAVOURS.get(isRecord(webClient) ? webClient['app_mode'] : v0Mode) ?? null;
}

function statusOf(answer: Answer | AppError): number {
  return isAppError(answer) ? 0 : answer.status;
}

function isBadGateway(answer: Answer | AppError): answer is AppError {
  return isAppError(answer) && answer.details.status === 502;
}

function json(answer: Answer | AppError): unknown {
  return isAppError(answer) || answer.status !== 200 ? null : (answer.body ?? null);
}

/** Only in JSON: a frontend or a proxy may refuse any path. */
function isRefusal(answer: Answer | AppError | null): answer is Answer {
  if (answer === null || isAppError(answer)) return false;
  return [401, 403].includes(answer.status) && isJsonType(answer.contentType);
}

function notAServer(all: readonly (Answer | AppError)[]): AppError {
  // After a transient failure a later probe can still identify the server.
  const isTransient = (each: AppError) => RETRY_STATUSES.has(each.details.status ?? 0);
  const transient = all.find(isBadGateway) ?? all.filter(isAppError).find(isTransient);
  if (transient !== undefined) return transient;
  const shown = all.find((each) => !isAppError(each)) as Answer;
  const { status, contentType } = shown;
  const message = `the server answered ${status} to every request that would identify it`;
  if (status >= 500) return errorBy(shown, 'server', message, { retryable: true });
  const type = cut(contentType, 80) || 'no content type';
  const text = `the server at this URL is not an OpenHands server (it sent ${type})`;
  return errorBy(shown, 'server', text, { hint: RIGHT_URL });
}

export function keyError(
  { key, sources }: Pick<ConnectOptions, 'key' | 'sources'>,
  answer: Pick<Answer, 'status' | 'request'>,
): AppError {
  const from = sources && sourceWords(sources);
  const url = from ? `the URL comes from ${from.base_url}; ` : '';
  const refused = `the server refuses the key${from?.key ? ` from ${from.key}` : ''}`;
  return errorBy(answer, 'auth', key === null ? 'the server requires an API key' : refused, {
    hint:
      `${url}give ${key === null ? 'a' : 'another'} key with --api-key-file <file>, ` +
      'ACS_API_KEY, or a profile: acs login',
  });
}

const ONE_CONVERSATION = /^\/api\/v1\/app-conversations\/\{\w+\}$/;

function isAgentServer(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { title } = isRecord(value['info']) ? value['info'] : value;
  return typeof title === 'string' && /^(OpenHands )?agent server/i.test(title);
}

/** Null for what is no document of an app server, and for one with a member of a wrong type. */
function documentFacts(value: unknown) {
  try {
    return isAgentServer(value) ? null : readDocument(asRecord(value, 'document'));
  } catch (error) {
    if (!isShapeError(error)) throw error;
    return null;
  }
}

function readDocument(document: Json) {
  const info = recordAt(document, 'info') ?? {};
  const routes = Object.entries(recordAt(document, 'paths') ?? {}).map(([path, item]) => ({
    path,
    methods: typeof item === 'string' ? item.split(',') : Object.keys(asRecord(item, path)),
  }));
  const has = (pattern: RegExp, method?: string) =>
    routes.some(({ path, methods }) => pattern.test(path) && (!method || methods.includes(method)));
  const v1 = has(/^\/api\/v1\/app-conversations(\/search)?$/);
  const v0 = has(/^\/api\/conversations$/);
  if (!v1 && !v0) return null;
  const members = v1 ? bodyMembers(document, /^\/api\/v1\/app-conversations$/, 'post') : null;
  const takes = (name: string) => (v1 ? (members?.includes(name) ?? null) : false);
  const titles = bodyMembers(document, ONE_CONVERSATION, 'patch');
  const stated = recordAt(info, 'x-features') ?? {};
  const statedFeatures = STATED_FEATURES.map((name) => {
    // The frontend is part of each OpenHands release, whose document states nothing.
    const { [name]: value = name === 'web-interface' } = stated;
    if (typeof value !== 'boolean') throw new ShapeError(name, 'a boolean');
    return [name, value];
  });
  const version = optionalText(info, 'version', 'info');
  const features: Record<Feature, boolean | null> = {
    replay: v0 || takes('replay_json'),
    'caller-conversation-id': takes('conversation_id'),
    'send-message': has(/\/send-message$/),
    'delete-conversation': has(ONE_CONVERSATION, 'delete'),
    rename: has(ONE_CONVERSATION, 'patch') && (titles?.includes('title') ?? null),
    'v1-settings': has(/^\/api\/v1\/settings$/),
    'settings-schema': has(/^\/api\/v1\/settings\/agent-schema$/),
    'model-profiles': has(/^\/api\/v1\/settings\/profiles$/),
    secrets: has(/^\/api(\/v1)?\/secrets(\/search)?$/),
    'v1-secrets': has(/^\/api\/v1\/secrets(\/search)?$/),
    'git-providers': has(/^\/api\/(add-git-providers|v1\/secrets\/git-providers)$/, 'post'),
    repositories: has(/^\/api\/(user\/repositories|v1\/git\/repositories\/search)$/),
    'v1-git': has(/^\/api\/v1\/git\/repositories\/search$/),
    events: has(/\/events(\/search)?$/),
    sandboxes: has(/^\/api\/v1\/sandboxes\/search$/),
    'stored-changes': has(/^\/local\/conversations\/\{\w+\}\/changes$/),
    'conversation-containers': false,
    'page-links': has(/^\/local\/conversations\/\{\w+\}\/page-link$/, 'post'),
    ...(Object.fromEntries(statedFeatures) as Record<(typeof STATED_FEATURES)[number], boolean>),
  };
  return {
    v1,
    v0,
    isLocal: optionalText(info, 'title', 'info') === 'acs local service',
    // 0.0.1 and 0.1.0 are not releases (interface 13 "Documents").
    version: version !== null && ['0.0.1', '0.1.0'].includes(version) ? null : version,
    v1_start_members: members,
    features: Object.fromEntries(
      Object.entries(features).map(([name, has]) => [name, presenceOf(has)]),
    ) as Features,
  };
}

function bodyMembers(document: Json, pattern: RegExp, method: string): string[] | null {
  const paths = recordAt(document, 'paths') ?? {};
  const item = Object.entries(paths).find(([path]) => pattern.test(path))?.[1];
  if (!isRecord(item)) return null;
  let schema = recordAt(item, method, 'requestBody', 'content', 'application/json', 'schema');
  for (let hops = 0; hops < 5 && schema !== null; hops++) {
    const target = optionalText(schema, '$ref', 'schema');
    if (target === null) break;
    schema = recordAt(document, ...target.replace(/^#\//, '').split('/'));
  }
  const properties = schema && recordAt(schema, 'properties');
  return properties && Object.keys(properties);
}

function recordAt(record: Json, ...names: readonly string[]): Json | null {
  return names.reduce<Json | null>(
    (found, name) => found && optionalRecord(found, name, 'document'),
    record,
  );
}
