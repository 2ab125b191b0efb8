/**
 * Dialects and features (interface 9). Unknown paths may answer HTML with 200, so only JSON counts.
 */
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
import { isJsonType, type Answer } from './http/answer.ts';
import { LIMITS_MS, RETRY_STATUSES } from './http/time-limits.ts';
import type { Transport } from './http/transport.ts';
import { cut } from '../base/text/well-formed.ts';

export interface ConnectOptions {
  /** http(s); a path prefix is allowed. */
  baseUrl: string;
  key: string | null;
  /** None: the key alone. */
  secrets?: SecretKeeper;
  sources?: TargetSources;
  /** True when this is the built-in profile of the local service: no pace, no proxy. */
  local: boolean;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  signal: AbortSignal;
  /** In `dry-run` reads are sent, the first write throws DryRunStop. */
  mode: 'live' | 'dry-run';
  /** Limit of each phase of a request: connect, headers, time between bytes. */
  requestTimeoutMs?: number;
  /** Requests a second. */
  rate?: number;
  log?: (line: string) => void;
  notice?: (text: string) => void;
  cache?: ProbeCache;
  /** For the local service: starts it again when it has ended since it was found. */
  restart?: (() => Promise<unknown>) | undefined;
  /** As in the context. */
  use?: 'calls' | undefined;
}

const UNKNOWN_FEATURES = Object.fromEntries(FEATURES.map((name) => [name, 'unknown'])) as Features;

const MOST_PROBE_BYTES = 16 * 1024 * 1024;
/**
 * All but transient ones: a request that fails so is repeated, and is an error when it still fails.
 */
const ANSWERS = Array.from({ length: 500 }, (_, index) => index + 100).filter(
  (status) => !RETRY_STATUSES.has(status),
);
const RIGHT_URL = 'is this the right server? check the URL, the port and the path';

/**
 * Throws `network`, `auth`, `rate-limited`, and `server` for what is no OpenHands server. No
 * dialect: an agent server.
 */
export async function probe(app: Transport, options: ConnectOptions): Promise<Probed> {
  const { clock, requestTimeoutMs = 0, local } = options;
  const longestMs = Math.max(LIMITS_MS.wholeProbe, 2 * requestTimeoutMs);
  const endsAtMs = clock.now() + longestMs;
  const request = async (path: string): Promise<Answer | AppError> => {
    const limits = {
      timeoutMs: LIMITS_MS.probe,
      maxBytes: MOST_PROBE_BYTES,
      accept: ANSWERS,
      mayBeMissing: true,
    };
    try {
      const sent = app.request({ method: 'GET', path, safe: 'read', ...limits });
      const answer = await beforeTime({ clock }, endsAtMs - clock.now(), [sent]);
      if (answer !== 'time') return answer;
      const text = `${app.baseUrl} did not complete a response within ${longestMs / 1000} s`;
      return new AppError('network', text, { hint: RIGHT_URL, retryable: true });
    } catch (error) {
      if (!isFailure(error)) throw error;
      return error;
    }
  };
  const answers = await Promise.all([
    request('/openapi.json'),
    request('/api/v1/web-client/config'),
    request('/api/v1/app-conversations/count'),
    request('/api/options/config'),
  ]);
  const [documentAnswer, webClientAnswer, countAnswer, optionsAnswer] = answers;
  if (answers.every(isAppError)) throw documentAnswer;
  const document = documentFacts(json(documentAnswer));
  const webClient = json(webClientAnswer);
  const serverOptions = json(optionsAnswer);
  const v1 = document?.v1 ?? (isRecord(webClient) || typeof json(countAnswer) === 'number');
  const v0 = document?.v0 ?? (isRecord(serverOptions) && 'APP_MODE' in serverOptions);
  if (isRefusal(countAnswer) && (v1 || !v0)) throw keyError(options, countAnswer);
  // Without a document only this 401 identifies V0 and a wrong key (quirks/unchecked-key.ts).
  if (isRefusal(optionsAnswer) && (v0 || document === null)) throw keyError(options, optionsAnswer);
  if (!v1 && !v0 && !(await isAgent())) throw notAServer(answers);
  const isNotServed =
    !isAppError(documentAnswer) && [401, 403, 404, 405, 410].includes(documentAnswer.status);
  return {
    facts: {
      format: 2,
      dialects: [v1 && ('v1' as const), v0 && ('v0' as const)].filter((each) => each !== false),
      flavour: local || document?.local ? 'local' : flavourOf(webClient, serverOptions),
      version: document?.version ?? null,
      features: document?.features ?? { ...UNKNOWN_FEATURES },
      v1_start_members: document?.v1StartMembers ?? null,
      echoes_ids: false,
      probed_at_ms: clock.now(),
    },
    holds: document !== null || isNotServed ? 'lasting' : 'transient',
  };

  async function isAgent(): Promise<boolean> {
    if (isAgentServer(json(documentAnswer))) return true;
    const isUnknown = !isAppError(countAnswer) && countAnswer.status === 404;
    return isUnknown && isAgentServer(json(await request('/server_info')));
  }
}

const FLAVOURS: ReadonlyMap<unknown, ProbeFacts['flavour']> = new Map([
  ['local', 'local'],
  ['saas', 'cloud'],
  ['oss', 'self-hosted'],
]);

function flavourOf(webClient: unknown, serverOptions: unknown): ProbeFacts['flavour'] {
  const v0Mode = isRecord(serverOptions) ? serverOptions['APP_MODE'] : null;
  return FLAVOURS.get(isRecord(webClient) ? webClient['app_mode'] : v0Mode) ?? null;
}

function json(answer: Answer | AppError): unknown {
  if (isAppError(answer) || answer.status !== 200 || !isJsonType(answer.contentType)) return null;
  return answer.body ?? null;
}

/** Only JSON counts: a frontend or a proxy may refuse any path. */
function isRefusal(answer: Answer | AppError): answer is Answer {
  return (
    !isAppError(answer) &&
    isJsonType(answer.contentType) &&
    (answer.status === 401 || answer.status === 403)
  );
}

function notAServer(all: readonly (Answer | AppError)[]): AppError {
  const transient = all
    .filter(isAppError)
    .find(({ details }) => RETRY_STATUSES.has(details.status ?? 0));
  if (transient !== undefined) return transient; // a later probe can still identify the server
  const seen = all.find((answer): answer is Answer => !isAppError(answer));
  if (seen === undefined)
    return new AppError('server', 'the server did not answer', { hint: RIGHT_URL });
  const { status, request, contentType } = seen;
  const fails = `the server answered ${status} to every request that would identify it`;
  if (status >= 500) return new AppError('server', fails, { status, request, retryable: true });
  const text =
    'the server at this URL is not an OpenHands server (it sent ' +
    `${cut(contentType, 80) || 'no content type'})`;
  return new AppError('server', text, { status, request, hint: RIGHT_URL });
}

export function keyError(
  { key, sources }: Pick<ConnectOptions, 'key' | 'sources'>,
  { status, request }: Pick<Answer, 'status' | 'request'>,
): AppError {
  const from = sources === undefined ? null : sourceWords(sources);
  const url = from === null ? '' : `the URL comes from ${from.base_url}; `;
  const refused = `the server refuses the key${from?.key == null ? '' : ` from ${from.key}`}`;
  return new AppError('auth', key === null ? 'the server requires an API key' : refused, {
    status,
    request,
    hint:
      `${url}give ${key === null ? 'a' : 'another'} key with --api-key-file <file>, ` +
      'ACS_API_KEY, or a profile: acs login',
  });
}

const ONE_CONVERSATION = /^\/api\/v1\/app-conversations\/\{\w+\}$/;

/** By its document, or the answer of `/server_info`. */
function isAgentServer(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { title } = isRecord(value['info']) ? value['info'] : value;
  return typeof title === 'string' && /^(OpenHands )?agent server/i.test(title);
}

/**
 * Null for what is no document of an app server. With one member of a wrong type nothing of it is
 * used.
 */
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
    // A shortened document may list the methods as text.
    methods: typeof item === 'string' ? item.split(',') : Object.keys(asRecord(item, path)),
  }));
  const has = (pattern: RegExp, method?: string): boolean =>
    routes.some(
      ({ path, methods }) =>
        pattern.test(path) && (method === undefined || methods.includes(method)),
    );
  const v1 = has(/^\/api\/v1\/app-conversations(\/search)?$/);
  const v0 = has(/^\/api\/conversations$/);
  if (!v1 && !v0) return null;
  const members = v1 ? bodyMembers(document, /^\/api\/v1\/app-conversations$/, 'post') : null;
  const takes = (name: string): boolean | null => (v1 ? (members?.includes(name) ?? null) : false);
  const titles = bodyMembers(document, ONE_CONVERSATION, 'patch');
  const stated = recordAt(info, 'x-features') ?? {};
  const statedFeatures = STATED_FEATURES.map((name) => {
    // A document that states nothing is that of an OpenHands server: its frontend is part of the
    // release.
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
    'page-links': has(/^\/local\/conversations\/\{\w+\}\/page-link$/, 'post'),
    ...(Object.fromEntries(statedFeatures) as Record<(typeof STATED_FEATURES)[number], boolean>),
  };
  return {
    v1,
    v0,
    local: optionalText(info, 'title', 'info') === 'acs local service',
    // 0.0.1 and 0.1.0 are not releases (interface 13 "Documents").
    version: version !== null && ['0.0.1', '0.1.0'].includes(version) ? null : version,
    v1StartMembers: members,
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

/** Null where one of these members is missing; throws a ShapeError for one of another type. */
function recordAt(record: Json, ...names: readonly string[]): Json | null {
  return names.reduce<Json | null>(
    (found, name) => found && optionalRecord(found, name, 'document'),
    record,
  );
}
