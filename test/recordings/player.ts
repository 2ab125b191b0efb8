/** Sends recorded requests to a local service, in their order, and compares what it answers. */
import { writeFile } from 'node:fs/promises';
import {
  filledUp,
  Identities,
  isAsListed,
  isObject,
  mediaType,
  routesIn,
  routesOf,
  routesOfAgentServer,
  withoutIds,
  type Answer,
  type Document,
  type Exchange,
  type Json,
  type JsonObject,
  type Listed,
  type Routes,
} from './exchanges.ts';
import { InStep, isReleasing, replayFor } from './replays.ts';
import { differences, labelOf, Samples } from './shape.ts';

export interface Played {
  name: string;
  /** `GET /api/…/{id}`, as the document of the server writes it. */
  route: string;
  differences: string[];
  /** What the local service answered, shortened. */
  answer: string;
}

export interface Playing {
  played: Played[];
  /** Routes that a genuine server answered and the local service does not serve. */
  unsupported: Map<string, number>;
}

export interface Endpoint {
  url: string;
  key: string;
}

/** Where the recordings are played, and the values that replace those of the recording. */
export interface Stage {
  app: Endpoint;
  gitHost: string;
  gitToken: string;
  /** Folder that holds the workspaces of the sandboxes. */
  workspaces: string;
  /** A file, not there yet: made when the message has come that was to find its run under way. */
  released: string;
}

const AGENT = routesOfAgentServer();
const STARTS = '/api/v1/app-conversations';

/** A served route with the effect of one that is not served; null: none. */
function standInPath({ method, path }: Exchange['request']): string | null {
  if (method === 'PUT' && path.startsWith('/api/secrets/'))
    return path.replace('/api/', '/api/v1/');
  if (method !== 'POST') return null;
  if (path === `${STARTS}/stream-start`) return STARTS;
  return /^\/api\/conversations\/[^/]+\/message$/.test(path)
    ? path.replace(/message$/, 'events')
    : null;
}

/** States of a start task that pass by themselves. */
const STARTING = /\.(?:WORKING|[A-Z]+_[A-Z_]+)$/;
/** How long a state may take to come. */
const PATIENCE_MS = 60_000;
/**
 * The limit of all waits together: a difference in every exchange is reported before the test
 * reaches its time limit.
 */
const ALL_PATIENCE_MS = 240_000;
const PAUSE_MS = 25;
/** What is called otherwise here; the specs of the recorded sandboxes had no isolation. */
const NAMES: [string, string][] = [
  ['agent-default', 'process'],
  ['agent-alt', 'process'],
  // A folder that is no repository; the temporary files of a machine may be within one.
  ['/tmp', '/dev'],
];
/**
 * Names of readings that were repeated until something had changed; the last part is what they saw.
 */
const WATCHED = /^(.*?)\.(?:execution_status\.[A-Za-z_]+|\(.*\)|[A-Z_]{4,}|0|end)$/;

export class Player {
  readonly #app: Endpoint;
  readonly #exchanges: Exchange[];
  readonly #listed: Map<string, Listed>;
  readonly #identities = new Identities();
  readonly #samples = new Samples();
  readonly #genuine: Record<'app' | 'agent', Routes>;
  readonly #inStep: InStep;
  readonly #workspaces: string;
  readonly #released: string;
  /** Ids that the recorded client chose: ours are the same. */
  readonly #given: Set<string>;
  #patienceMs = ALL_PATIENCE_MS;
  #appRoutes: Routes | null = null;

  /** @param newer what a newer release answered: the local service follows that one */
  constructor(stage: Stage, exchanges: Exchange[], newer: Exchange[], listed: Map<string, Listed>) {
    this.#app = stage.app;
    this.#inStep = new InStep(stage.app);
    this.#workspaces = stage.workspaces;
    this.#released = stage.released;
    const documents = exchanges.filter(({ request }) => request.path === '/openapi.json');
    const [ofApp, ofAgent] = documents.map(({ answer }) =>
      routesIn(answer.body as unknown as Document),
    );
    if (ofApp === undefined || ofAgent === undefined)
      throw new Error('the documents of the servers were not recorded');
    this.#genuine = { app: ofApp, agent: ofAgent };
    this.#exchanges = exchanges.filter((exchange) => !documents.includes(exchange));
    this.#listed = listed;
    this.#identities.setText('http://127.0.0.1:3997', stage.gitHost);
    this.#identities.setText('forge-token', stage.gitToken);
    this.#identities.setText('/DATA/sandboxes', stage.workspaces);
    this.#given = new Set(
      exchanges.flatMap(({ request: { body } }) =>
        isObject(body) ? [plain(String(body['conversation_id']))] : [],
      ),
    );
    for (const [recorded, ours] of NAMES) this.#identities.set(recorded, ours);
    for (const { answer } of newer) this.#samples.allow(answer.body);
    for (const { answer } of newer) this.#samples.add(answer.body);
    for (const { answer } of exchanges) this.#samples.add(answer.body);
  }

  async play(): Promise<Playing> {
    const playing: Playing = { played: [], unsupported: new Map() };
    this.#appRoutes = await routesOf(this.#app.url);
    for (const [index, exchange] of this.#exchanges.entries()) {
      const { request, answer } = exchange;
      const routes = request.host === 'agent' ? AGENT : this.#appRoutes;
      const route = routes?.find(request.method, request.path) ?? null;
      if (route === null) {
        const nobodyHas = answer.status === 404 || answer.status === 405;
        const shown = `${request.method} ${withoutIds(request.path)}`;
        if (!nobodyHas) playing.unsupported.set(shown, (playing.unsupported.get(shown) ?? 0) + 1);
        if (answer.status < 300) await this.#standIn(exchange, index);
        continue;
      }
      // A route of a newer release than the recorded one.
      if (this.#genuine[request.host ?? 'app'].find(request.method, request.path) === null)
        continue;
      const compared = await this.#compare(exchange, index);
      const host = request.host === 'agent' ? 'agent server: ' : '';
      playing.played.push({ name: exchange.name, route: host + route, ...compared });
    }
    return playing;
  }

  /**
   * Sends another request with the effect of one whose route is not served, so that later exchanges
   * find the same state.
   */
  async #standIn({ name, request, answer, seconds }: Exchange, index: number): Promise<void> {
    const path = standInPath(request);
    if (path === null) return;
    const { body } = request;
    const message = isObject(body)
      ? { action: 'message', args: { content: body['message'] ?? '' } }
      : body;
    const sent = path.endsWith('/events') ? message : body;
    const exchange = { name, answer, seconds, request: { ...request, path, body: sent } };
    const ours = await this.#send(exchange, index, await this.#urlOf(exchange, index));
    const recorded = Array.isArray(answer.body) ? answer.body.at(-1) : answer.body;
    const ended =
      isObject(ours.body) && path === STARTS
        ? await this.#inStep.ended(String(ours.body['id']))
        : ours.body;
    this.#identities.learn(recorded ?? null, ended ?? undefined);
  }

  async #compare(exchange: Exchange, index: number): Promise<Omit<Played, 'name' | 'route'>> {
    const { name, request, answer } = exchange;
    const watched = WATCHED.exec(name)?.[1];
    const next = this.#exchanges[index + 1];
    const isPassing =
      watched !== undefined &&
      (WATCHED.exec(next?.name ?? '')?.[1] === watched || STARTING.test(name));
    const expected = this.#listed.get(name)?.differs ?? [];
    // The recorded client waited, or came back until it saw what it looked for; only reading can be
    // repeated.
    await this.#inStep.before(exchange, this.#identities.translateText(request.path), next);
    const patienceMs = request.method === 'GET' ? Math.min(PATIENCE_MS, this.#patienceMs) : 0;
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const url = await this.#urlOf(exchange, index);
      const ours = await this.#send(exchange, index, url);
      const found = isPassing ? this.#passing(answer, ours) : this.#differencesOf(answer, ours);
      const isExpected = isAsListed(found, expected);
      if (isExpected || Date.now() >= deadline) {
        if (!isExpected) this.#patienceMs -= patienceMs;
        this.#identities.learn(answer.body, ours.body);
        this.#identities.learnPage(request.path, answer.body, ours.body);
        await this.#inStep.after(exchange, url.url, ours);
        if (isReleasing(exchange)) await writeFile(this.#released, '');
        return {
          differences: found,
          answer: `${ours.status} ${JSON.stringify(ours.body).slice(0, 300)}`,
        };
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  #differencesOf(recorded: Answer, ours: Answer): string[] {
    const status =
      recorded.status === ours.status ? [] : [`status ${recorded.status}, ours ${ours.status}`];
    const type =
      recorded.contentType === ours.contentType
        ? []
        : [`${recorded.contentType}, ours ${ours.contentType}`];
    if (status.length > 0) return [...status, ...type];
    return [...type, ...differences(recorded.body, ours.body, this.#samples)];
  }

  /**
   * A state on the way: ours may be further, then it is compared with a recorded record of that
   * state.
   */
  #passing(recorded: Answer, ours: Answer): string[] {
    const [first] = Array.isArray(recorded.body) ? recorded.body : [recorded.body];
    const [record] = Array.isArray(ours.body) ? ours.body : [ours.body];
    const label = labelOf(record ?? null);
    const samples = label === null ? [] : this.#samples.of(label);
    if (samples.length === 0) return this.#differencesOf(recorded, ours);
    const isList = Array.isArray(ours.body);
    const asked: JsonObject =
      isObject(first) && 'request' in first ? { request: first['request'] ?? null } : {};
    const tried = samples.map((sample) => {
      const like = { ...sample, ...asked };
      return this.#differencesOf({ ...recorded, body: isList ? [like] : like }, ours);
    });
    return tried.reduce((best, found) => (found.length < best.length ? found : best));
  }

  async #urlOf(exchange: Exchange, index: number): Promise<{ url: URL; endpoint: Endpoint }> {
    const { request } = exchange;
    const endpoint = request.host === 'agent' ? await this.#agentEndpoint(index) : this.#app;
    if (endpoint === null) throw new Error(`${exchange.name}: no sandbox is known`);
    const url = new URL(this.#identities.translateText(request.path), endpoint.url);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      const known =
        name === 'page_id'
          ? this.#identities.translatePage(request.path, value)
          : this.#identities.translate(value);
      const values = filledUp(known);
      for (const one of Array.isArray(values) ? values : [values])
        url.searchParams.append(
          name,
          await this.#placed(textOf(one, endpoint, this.#app), exchange, url),
        );
    }
    return { url, endpoint };
  }

  /**
   * A path of a workspace was absolute before it was recorded as `.`; the app server is not in the
   * workspace.
   */
  async #placed(value: string, { request }: Exchange, url: URL): Promise<string> {
    if (request.host === 'agent' || !/^\.(?:\/|$)/.test(value)) return value;
    const id = /[0-9a-f]{32}/.exec(plain(url.pathname))?.[0];
    const [record] = await this.#conversations(id ?? '');
    return `${this.#workspaces}/${String(record?.['sandbox_id'])}${value.slice(1)}`;
  }

  async #conversations(id: string): Promise<JsonObject[]> {
    const url = new URL(`/api/v1/app-conversations?ids=${id}`, this.#app.url);
    const response = await fetch(url, { headers: { 'X-Session-API-Key': this.#app.key } });
    const records = (await response.json()) as (JsonObject | null)[];
    return records.filter((record) => record !== null);
  }

  async #send(
    exchange: Exchange,
    index: number,
    { url, endpoint }: { url: URL; endpoint: Endpoint },
  ): Promise<Answer> {
    const { request } = exchange;
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers))
      headers.set(name, withKeys(value, endpoint, this.#app));
    if (!request.host) headers.set('X-Session-API-Key', this.#app.key);
    const body = this.#bodyOf(exchange, index, headers);
    const response = await fetch(url, {
      method: request.method,
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(120_000),
    });
    return answerOf(response);
  }

  #bodyOf(exchange: Exchange, index: number, headers: Headers): string | FormData | undefined {
    const { body, method, path } = exchange.request;
    if (body === null) return undefined;
    if (body === 'multipart files') return upload();
    if (typeof body === 'string') return body;
    if (!headers.has('Content-Type')) headers.set('Content-Type', 'application/json');
    const sent = this.#identities.translate(filledUp(body));
    const isStart =
      method === 'POST' &&
      /^\/api\/(?:v1\/app-conversations(?:\/stream-start)?|conversations)$/.test(path);
    const replay = isStart
      ? replayFor(exchange, this.#exchanges.slice(index + 1), this.#released)
      : null;
    return JSON.stringify(
      replay === null ? sent : { ...(sent as JsonObject), replay_json: replay },
    );
  }

  /**
   * The agent server of the sandbox of the conversation that the request, or else the one nearest
   * to it, names.
   */
  async #agentEndpoint(index: number): Promise<Endpoint | null> {
    const near = [
      ...this.#exchanges.slice(0, index + 1).reverse(),
      ...this.#exchanges.slice(index + 1),
    ];
    for (const { request } of near) {
      const recorded =
        request.host === 'agent'
          ? /conversations\/([0-9a-f-]{32,36})/.exec(request.path)?.[1]
          : undefined;
      if (recorded === undefined) continue;
      const id = this.#identities.translateText(recorded);
      if (id === recorded && !this.#given.has(plain(id))) continue;
      const [record] = await this.#conversations(id);
      const { conversation_url: address, session_api_key: key } = record ?? {};
      if (typeof address === 'string' && typeof key === 'string')
        return { url: new URL(address).origin, key };
    }
    return null;
  }
}

function plain(id: string): string {
  return id.replaceAll('-', '');
}

function textOf(value: Json, endpoint: Endpoint, app: Endpoint): string {
  return withKeys(typeof value === 'string' ? value : JSON.stringify(value), endpoint, app);
}

function withKeys(text: string, endpoint: Endpoint, app: Endpoint): string {
  return text.replace('<app-key>', app.key).replace('<sandbox-key>', endpoint.key);
}

function upload(): FormData {
  const form = new FormData();
  form.append('file', new Blob(['content\n']), 'x.txt');
  form.append('files', new Blob(['content\n']), 'x.txt');
  return form;
}

async function answerOf(response: Response): Promise<Answer> {
  const contentType = mediaType(response.headers.get('content-type'));
  const text = await response.text();
  return {
    status: response.status,
    contentType,
    body: contentType === 'application/json' && text !== '' ? (JSON.parse(text) as Json) : text,
  };
}
