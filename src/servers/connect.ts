/**
 * The entry to servers: connections, probe, the adapter of the dialect. Commands without a server do not load it, nor
 * any other module of servers.
 */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Dialect } from '../domain/conversation.ts';
import { AppError, isAppError } from '../errors.ts';
import type { RequestDetails } from '../errors.ts';
import { featuresThat, type Feature, type KnownFeatures, type Presence } from './features.ts';
import type { DeviceFlow } from './device-flow.ts';
import { createServerFacts, type ServerFacts } from './facts.ts';
import type { Links } from './links.ts';
import type { ProbeFacts } from './probe.ts';
import { keyCheckingRoute } from './quirks/unchecked-key.ts';
import type { Adapter, Server, ServerInfo } from './server.ts';
import { serverText, statusError, type Answer } from './transport/answer.ts';
import { normalizeBaseUrl } from './transport/address.ts';
import { createNetwork, type Network } from './transport/network.ts';
import { createPace, PACE_LIMITS, type Pace, type PaceLimit } from './transport/pace.ts';
import { createRedaction } from './transport/redaction.ts';
import type { TransportOptions } from './transport/call.ts';
import { createTransport, type Transport } from './transport/transport.ts';
import type { ConnectOptions } from './connect-options.ts';
import { LIMITS_MS } from './transport/time-limits.ts';

/**
 * Finds the dialects of the server (from the cache, or by a probe, at most 10 s) and returns the port to it.
 * Throws AppError: `auth` key missing or refused · `server` not an OpenHands server · `network` · `config` bad URL or key.
 * Call `server.close()` at the end, or open connections keep the process alive.
 */
export async function connect(options: ConnectOptions): Promise<Server> {
  const run = createRun(options);
  // The facts of most servers are cached by an earlier command.
  const ask = async () => {
    const { probe } = await import('./probe.ts');
    return await probe(appTransport(run, options.signal, unsurprised), options);
  };
  try {
    run.facts = await createServerFacts(options, run.baseUrl, ask);
    return await createServer(run, run.facts.now, options.signal);
  } catch (error) {
    await run.network.close();
    throw error;
  }
}

/** For the sign-in to a server of which no key is known. Sends nothing yet. */
export async function openDeviceFlow(options: Omit<ConnectOptions, 'key'>): Promise<DeviceFlow> {
  const { createDeviceFlow } = await import('./device-flow.ts');
  const run = createRun({ ...options, key: null });
  return createDeviceFlow(appTransport(run, options.signal, unsurprised), () => run.network.close());
}

function createRun(options: ConnectOptions): Run {
  const baseUrl = normalizeBaseUrl(options.baseUrl);
  checkKey(options.key);
  const network = createNetwork({
    env: options.env,
    connectTimeoutMs: options.requestTimeoutMs ?? LIMITS_MS.request,
    redaction: createRedaction([options.key], options.secrets),
  });
  const run: Run = {
    options,
    baseUrl,
    network,
    facts: null,
    appPace: createPace(() => appLimit(run), options.clock),
    agentPaces: new Map(),
    starts: { known: new Map(), missed: 0 },
    owners: new Map(),
  };
  return run;
}

interface Run {
  options: ConnectOptions;
  baseUrl: string;
  network: Network;
  facts: ServerFacts | null;
  /** Of the app server, shared by all its transports. */
  appPace: Pace;
  /** By origin. */
  agentPaces: Map<string, Pace>;
  starts: Links['starts'];
  /** The dialects of conversations, by id. */
  owners: Map<string, Dialect>;
}

/** Node's own error for a bad header prints the whole value, so the key is checked before. */
function checkKey(key: string | null): void {
  if (key === null) return;
  const bad = [...key].findIndex((character) => !/[\x21-\x7e]/.test(character));
  if (key === '' || bad !== -1) {
    const what =
      key === '' ? 'the key is empty' : `the key has a character at position ${bad + 1} that no HTTP header can carry`;
    throw new AppError('config', what, {
      hint: 'a key is one line of visible ASCII characters; check the file or variable it comes from',
    });
  }
}

/**
 * Agent servers have no limit (interface 8.2); a pause requested by 429 and Retry-After applies to all transports of
 * it.
 */
function agentPace(run: Run, baseUrl: string): Pace {
  const { origin } = new URL(baseUrl);
  const pace = run.agentPaces.get(origin) ?? createPace(() => null, run.options.clock);
  run.agentPaces.set(origin, pace);
  return pace;
}

/** Of the app server: `--rate`, else what its flavour allows. */
function appLimit(run: Run): PaceLimit | null {
  const { rate, local } = run.options;
  if (rate !== undefined) return { perSecond: rate, burst: Math.max(1, Math.min(10, rate)) };
  if (local || run.facts?.now.flavour === 'local') return null;
  return PACE_LIMITS[run.facts?.now.flavour === 'cloud' ? 'cloud' : 'self-hosted'];
}

function commonOptions(
  run: Run,
  signal: AbortSignal,
): Pick<TransportOptions, 'network' | 'clock' | 'signal' | 'mode' | 'requestTimeoutMs' | 'log' | 'notice'> {
  const { clock, mode, requestTimeoutMs, log, notice } = run.options;
  return { network: run.network, clock, signal, mode, requestTimeoutMs, log, notice };
}

/** A probe reads routes that may be missing. A new probe because of one would wait for itself. */
const unsurprised = (): Promise<null> => Promise.resolve(null);

function appTransport(
  run: Run,
  signal: AbortSignal,
  surprised: () => Promise<AppError | null> = () => run.facts?.lookAgain() ?? Promise.resolve(null),
): Transport {
  const { key } = run.options;
  // Both names are right for every flavour and release (interface 1.1).
  const headers: Record<string, string> =
    key === null ? {} : { authorization: `Bearer ${key}`, 'x-session-api-key': key };
  const transport: Transport = createTransport({
    ...commonOptions(run, signal),
    baseUrl: run.baseUrl,
    headers,
    pace: run.appPace,
    refused: (answer, details) => judgeRefusal(run, transport, answer, details),
    surprised,
  });
  return transport;
}

/** A 401 or 403 is about the key only if the probe is refused, too (interface 1.2). */
async function judgeRefusal(run: Run, app: Transport, answer: Answer, details: RequestDetails): Promise<AppError> {
  const text = serverText(answer.body);
  // A bare JSON string comes from the git provider (interface 3.1).
  const isOfProvider =
    typeof answer.body === 'string' || /git provider|provider token|valid .* token/i.test(text ?? '');
  if (text !== null && isOfProvider) {
    return new AppError('auth', text, {
      ...details,
      hint: 'this is about the git provider, not the key of acs: store a token with acs git-provider set <provider>',
    });
  }
  const { keyError } = await import('./key-error.ts');
  const { options } = run;
  if (options.key === null || run.facts === null) return withDetails(keyError(options, answer), details);
  const path = keyCheckingRoute(run.facts.now.dialects);
  const accept = [400, 401, 403, 404, 405, 500, 502, 503, 504];
  try {
    const again = await app.request({ method: 'GET', path, safe: 'read', accept });
    if (again.status === 200) {
      if (text === 'Invalid token' && /\/settings\b/.test(answer.request?.url ?? '')) {
        const { unreadableSettings } = await import('./quirks/mistyped-setting.ts');
        return unreadableSettings(statusError(answer, details));
      }
      return new AppError('auth', `the server does not allow this${text === null ? '' : `: ${text}`}`, details);
    }
  } catch (error) {
    if (!isAppError(error) || error.kind === 'interrupted') throw error;
  }
  return withDetails(keyError(options, answer), details);
}

function withDetails(error: AppError, details: RequestDetails): AppError {
  return new AppError(error.kind, error.message, { ...details, ...error.details, request: details.request });
}

function agentTransport(run: Run, signal: AbortSignal, baseUrl: string, key: string | null): Transport {
  run.network.redaction.add(key);
  return createTransport({
    ...commonOptions(run, signal),
    baseUrl: normalizeBaseUrl(baseUrl),
    // Never the app server's key: the sandbox runs what an agent runs.
    headers: key === null ? {} : { 'x-session-api-key': key },
    pace: agentPace(run, baseUrl),
    refused: (answer, details) =>
      Promise.resolve(
        new AppError('auth', 'the server of the sandbox refuses its key', {
          ...details,
          status: answer.status,
          retryable: true,
        }),
      ),
  });
}

function createLinks(run: Run, signal: AbortSignal): Links {
  // Each request in flight adds a listener; above ten Node reports a leak on stderr.
  setMaxListeners(0, signal);
  return {
    app: appTransport(run, signal),
    agent: (baseUrl, key) => agentTransport(run, signal, baseUrl, key),
    network: run.network,
    clock: run.options.clock,
    signal,
    mode: run.options.mode,
    notice: (text) => run.options.notice?.(text),
    randomId: () => randomUUID(), // node:crypto is loaded when one is needed
    starts: run.starts,
    features: knownFeatures(run),
  };
}

function knownFeatures({ facts }: Run): KnownFeatures {
  if (facts === null) throw new AppError('internal', 'the features of a server are used before its probe');
  return facts.features;
}

async function createServer(run: Run, facts: ProbeFacts, signal: AbortSignal): Promise<Server> {
  const info: ServerInfo = {
    base_url: run.baseUrl,
    dialect: facts.dialects[0] ?? 'v1',
    dialects: facts.dialects,
    version: facts.version,
    flavour: facts.flavour,
    features: featuresThat(facts.features, 'present'),
    unknown_features: featuresThat(facts.features, 'unknown'),
  };
  const links = createLinks(run, signal);
  const adapter = await loadAdapter(run, facts, links);
  return {
    info,
    presence: (feature) => presenceAt(facts, feature),
    call: async (call) => (await import('./raw-call.ts')).rawCall(links, call),
    close: () => run.network.close(),
    withSignal: (other) => createServer(run, facts, other),
    ...adapter,
  };
}

/** V0's route renames conversations of both dialects, and no document is read for it. */
function presenceAt({ features, dialects }: ProbeFacts, feature: Feature): Presence {
  const mayBeOverV0 = feature === 'rename' && dialects.includes('v0');
  return features[feature] === 'absent' && mayBeOverV0 ? 'unknown' : features[feature];
}

async function loadAdapter({ owners }: Run, facts: ProbeFacts, links: Links): Promise<Adapter> {
  const v1 = facts.dialects.includes('v1') ? (await import('./v1/index.ts')).createV1(links, facts) : null;
  const v0 = facts.dialects.includes('v0') ? (await import('./v0/index.ts')).createV0(links, facts) : null;
  if (v1 !== null && v0 !== null) return (await import('./both/index.ts')).createBoth(v1, v0, facts, owners);
  const only = v1 ?? v0;
  if (only === null) throw new AppError('server', 'this server has no dialect that acs supports');
  return only;
}
