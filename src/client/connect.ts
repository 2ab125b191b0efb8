/** The entry to servers, which commands without a server do not load. */
import { randomUUID } from 'node:crypto';
import type { AppDialect } from '../domain/conversation.ts';
import { AppError, isFailure, nullIf } from '../base/errors.ts';
import type { DeviceFlow } from './device-flow.ts';
import { deferred } from './shared/compose.ts';
import { readServerFacts, type ServerFacts, featuresThat } from './shared/features.ts';
import type { Links } from './shared/links.ts';
import type { ModelEndpoint, ModelInterface } from './model-endpoint.ts';
import type { ConnectOptions } from './probe.ts';
import type { Server } from './shared/server.ts';
import { errorBy, routeOf, serverText, statusError, type Answer } from './http/answer.ts';
import { normalizeBaseUrl } from './http/address.ts';
import { Network } from './http/network.ts';
import { Redaction } from './http/redaction.ts';
import { LIMITS_MS, Pace, PACE_LIMITS, type PaceLimit } from './http/time-limits.ts';
import { Transport, type TransportOptions } from './http/transport.ts';

/** Throws `auth`, `server`, `network`; `unsupported` for an agent server. The caller closes it. */
export async function connect(options: ConnectOptions): Promise<Server> {
  const connection = new Connection(options);
  try {
    const known = await readServerFacts(options, connection.baseUrl, async () => {
      const { probe, probeStarted } = await import('./probe.ts');
      const first = connection.known === null ? probeStarted : probe;
      return await first(connection.app(options.signal), options);
    });
    connection.known = known;
    return await connection.server(known, options.signal);
  } catch (error) {
    connection.network.close();
    throw error;
  }
}

export async function openDeviceFlow(options: Omit<ConnectOptions, 'key'>): Promise<DeviceFlow> {
  const { DeviceFlow } = await import('./device-flow.ts');
  const connection = new Connection({ ...options, key: null });
  return new DeviceFlow(connection.app(options.signal), connection.network);
}

export async function openModelEndpoint(
  options: ConnectOptions,
  api: ModelInterface,
): Promise<ModelEndpoint> {
  const { ModelEndpoint } = await import('./model-endpoint.ts');
  const connection = new Connection(options);
  return new ModelEndpoint(connection.model(options), connection.network, options.key, api);
}

class Connection {
  readonly baseUrl: string;
  readonly network: Network;
  known: ServerFacts | null = null;
  readonly #options: ConnectOptions;
  readonly #appPace: Pace;
  readonly #agentPaces = new Map<string, Pace>();
  readonly #starts: Links['starts'] = { record: null, backend: null };
  #starting: Promise<unknown> | null = null;
  readonly #owners = new Map<string, AppDialect>();

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.baseUrl = normalizeBaseUrl(options.baseUrl);
    this.network = new Network({
      env: options.env,
      connectTimeoutMs: options.requestTimeoutMs ?? LIMITS_MS.request,
      redaction: new Redaction([options.key], options.secrets),
    });
    this.#appPace = new Pace(() => this.#appLimit(), options.clock);
  }

  async server(known: ServerFacts, signal: AbortSignal): Promise<Server> {
    const { baseUrl, network } = this;
    const links = this.#links(known, signal);
    const { dialects, version, flavour, features } = known.facts;
    if (dialects.length === 0 && this.#options.use !== 'calls')
      throw new AppError(
        'unsupported',
        'the URL is that of an agent server in a sandbox, not of an app server',
        {
          server: baseUrl,
          hint:
            'use the URL of the app server that created the sandbox; `acs api` sends ' +
            'requests to an agent server',
        },
      );
    const v1 = dialects.includes('v1') ? (await import('./v1/index.ts')).createV1(links) : null;
    const v0 = dialects.includes('v0')
      ? (await import('./v0/index.ts')).createV0(this.#links(known, signal, LIMITS_MS.requestV0))
      : null;
    const adapter =
      v1 !== null && v0 !== null
        ? (await import('./both.ts')).createBoth(links, v1, v0, this.#owners)
        : (v1 ?? v0 ?? (await import('./backend/index.ts')).createBackend(links));
    return {
      ...adapter,
      automations: deferred(async () =>
        (await import('./automations/index.ts')).createAutomations(links, known.facts),
      ),
      models: deferred(async () =>
        (await import('./models.ts')).createModels(links, adapter.modelProfiles),
      ),
      info: {
        base_url: baseUrl,
        dialect: dialects[0] ?? 'v1',
        dialects,
        version,
        flavour,
        features: featuresThat(features, 'present'),
        unknown_features: featuresThat(features, 'unknown'),
      },
      presence(feature) {
        const shown = features[feature];
        // V0's route renames conversations of both dialects, and no document is read for it.
        return feature === 'rename' && shown === 'absent' && v0 !== null ? 'unknown' : shown;
      },
      async account() {
        // The probe may be cached, and other routes may accept a wrong key.
        const { keyCheckingRoute } = await import('./shared/quirks/unchecked-key.ts');
        await links.app.request({ path: keyCheckingRoute(dialects) });
        return await adapter.account();
      },
      call: async (call) => (await import('./raw-call.ts')).rawCall(links, call),
      redact: (text) => network.redaction.text(text),
      close: () => Promise.resolve(network.close()),
      withSignal: (other) => this.server(known, other),
    };
  }

  #links(known: ServerFacts, signal: AbortSignal, usualTimeoutMs?: number): Links {
    const { key, clock, mode, notice } = this.#options;
    return {
      ...known,
      network: this.network,
      clock,
      signal,
      mode,
      starts: this.#starts,
      app: this.app(signal, usualTimeoutMs),
      appUntil: (other) => this.app(other, usualTimeoutMs),
      appKey: key,
      agent: (url, agentKey) => this.#agent({ signal, usualTimeoutMs }, url, agentKey),
      notice: (text) => notice?.(text),
      // Of digits alone it breaks servers that keep ids in SQLite (interface 4.1).
      randomId: () => randomUUID().replace(/^./, 'a'),
    };
  }

  app(
    signal: AbortSignal,
    usualTimeoutMs?: number,
    whenStarted = () => this.#whenStarted(signal),
  ): Transport {
    const { key } = this.#options;
    const transport: Transport = new Transport({
      ...this.#common(),
      signal,
      usualTimeoutMs,
      baseUrl: this.baseUrl,
      pace: this.#appPace,
      restart: this.#options.restart,
      whenStarted,
      // Both names are right for every flavour and release (interface 1.1).
      headers: key === null ? {} : { authorization: `Bearer ${key}`, 'x-session-api-key': key },
      refused: (answer) => this.#refusal(transport, answer),
      // The probe itself reads routes that may be missing: none begins while it runs.
      probeAgain: async () => (await this.known?.probeAgain()) ?? null,
    });
    return transport;
  }

  model({ signal, clock }: Pick<ConnectOptions, 'signal' | 'clock'>): Transport {
    return new Transport({
      ...this.#common(),
      signal,
      baseUrl: this.baseUrl,
      pace: new Pace(() => null, clock),
      headers: {},
      refused: (answer) => Promise.resolve(statusError(answer)),
    });
  }

  #agent(
    of: Pick<TransportOptions, 'signal' | 'usualTimeoutMs'>,
    url: string,
    key: string | null,
  ): Transport {
    this.network.redaction.add(key);
    const baseUrl = normalizeBaseUrl(url);
    const { origin } = new URL(baseUrl);
    // Agent servers have no limit (interface 8.2); a pause after 429 is that of one server.
    const pace = this.#agentPaces.get(origin) ?? new Pace(() => null, this.#options.clock);
    this.#agentPaces.set(origin, pace);
    return new Transport({
      ...this.#common(),
      ...of,
      baseUrl,
      pace,
      // Never the app server's key: the sandbox runs what an agent runs.
      headers: key === null ? {} : { 'x-session-api-key': key },
      refused: (answer) => {
        const message = 'the server of the sandbox refuses its key';
        return Promise.resolve(errorBy(answer, 'auth', message, { retryable: true }));
      },
    });
  }

  #common() {
    const { clock, mode, requestTimeoutMs, log, notice } = this.#options;
    return { network: this.network, clock, mode, requestTimeoutMs, log, notice };
  }

  /** The facts of a backend are cached, so no probe has waited for it. */
  async #whenStarted(signal: AbortSignal): Promise<boolean> {
    const options = { ...this.#options, signal };
    if (options.startUp === 'once' || !this.known?.facts.dialects.includes('agent')) return false;
    this.#starting ??= import('./probe.ts')
      .then(({ probeStarted }) =>
        probeStarted(
          this.app(signal, undefined, () => Promise.resolve(false)),
          options,
        ),
      )
      .finally(() => (this.#starting = null));
    await this.#starting;
    return true;
  }

  #appLimit(): PaceLimit | null {
    const { rate, local } = this.#options;
    if (rate !== undefined) return { perSecond: rate, burst: Math.max(1, Math.min(10, rate)) };
    // An agent server has no limit (interface 8.2).
    if (this.known?.facts.dialects.includes('agent')) return null;
    const flavour = local ? 'local' : this.known?.facts.flavour;
    return flavour === 'local' ? null : PACE_LIMITS[flavour === 'cloud' ? 'cloud' : 'self-hosted'];
  }

  /** A 401 or 403 is about the key only if a route that checks keys refuses it (interface 1.2). */
  async #refusal(app: Transport, answer: Answer): Promise<AppError> {
    if (this.known !== null) {
      const { keyCheckingRoute } = await import('./shared/quirks/unchecked-key.ts');
      const path = keyCheckingRoute(this.known.facts.dialects);
      const accept = [400, 401, 403, 404, 405];
      const check = await app.request({ path, accept }).catch(nullIf(isFailure));
      if (check?.status === 200) return await notAllowed(answer);
      const hint =
        'the route that checks the key fails, so it is not known whether this is about the ' +
        'key: acs doctor';
      if (check === null) return statusError(answer).with({ hint });
    }
    const { keyError } = await import('./probe.ts');
    return keyError(this.#options, answer);
  }
}

async function notAllowed(answer: Answer): Promise<AppError> {
  const route = routeOf(answer);
  if (answer.status === 401 && route.endsWith('/settings')) {
    const { unreadableSettings } = await import('./shared/quirks/mistyped-setting.ts');
    return unreadableSettings(statusError(answer));
  }
  const text = serverText(answer.body);
  // A bare JSON string comes from the git provider (interface 3.1).
  if (typeof answer.body === 'string' || /\/(?:git|user)\//.test(route))
    return errorBy(answer, 'auth', text ?? 'the git provider does not allow this', {
      hint:
        'this is about the git provider, not the key of acs: store a token with acs ' +
        'git-provider set <provider>',
    });
  const reason = text === null ? '' : `: ${text}`;
  return errorBy(answer, 'auth', `the server does not allow this${reason}`);
}
