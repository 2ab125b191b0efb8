/**
 * Keeps the local service in step where its answer differed on purpose: what the genuine server did
 * is done by another way, and what it did not do is undone, so that one difference does not make
 * the requests after it differ too. The difference itself stays one.
 */
import { isObject, type Answer, type Exchange, type Json, type JsonObject } from './exchanges.ts';
import type { Endpoint } from './player.ts';
import { isPauseOfEnded, isToStanding } from './replays.ts';

const PATIENCE_MS = 60_000;
const PAUSE_MS = 25;
/** So long a run is waited for at most. */
const STANDING_MS = 60_000;
const V1 = '/api/v1/app-conversations';
const SETTINGS = '/api/v1/settings';

export class InStep {
  readonly #app: Endpoint;
  #settings: Json = null;

  constructor(app: Endpoint) {
    this.#app = app;
  }

  /**
   * @param path the path of the request, with our ids
   * @param next the request after it
   */
  async before(exchange: Exchange, path: string, next: Exchange | undefined): Promise<void> {
    const { name, request, answer } = exchange;
    if (name === 'sandbox.search.empty') await this.#makeSandboxes(answer);
    if (name === 'clone.settings') await this.#forgetSettings(path, answer);
    if (request.method !== 'POST') return;
    if (isToStanding(exchange) || isPauseOfEnded(exchange, next)) await this.#standing(path);
    if (path === SETTINGS && answer.status >= 400)
      this.#settings = await this.#ask('GET', SETTINGS);
  }

  /** What the recorded server held from before its recording began. */
  async #makeSandboxes(answer: Answer): Promise<void> {
    if (!isObject(answer.body)) return;
    const items = async (): Promise<Json[]> =>
      itemsOf(await this.#ask('GET', '/api/v1/sandboxes/search'));
    const held = (answer.body['items'] as Json[]).length;
    for (let missing = held - (await items()).length; missing > 0; missing -= 1) {
      await this.#ask('POST', '/api/v1/sandboxes?sandbox_spec_id=process');
    }
  }

  /** The recorded server was a fresh one, without the settings of the exchanges before. */
  async #forgetSettings(path: string, { body: recorded }: Answer): Promise<void> {
    const ours = await this.#ask('GET', path);
    if (!isObject(recorded) || !isObject(ours)) return;
    const set = Object.keys(ours).filter((name) => recorded[name] === null && ours[name] !== null);
    const cleared = Object.fromEntries(set.map((name) => [name, null]));
    // Over V0 the settings are replaced as a whole.
    await this.#ask('POST', path, path === SETTINGS ? cleared : { ...ours, ...cleared });
  }

  async after({ request, answer: recorded }: Exchange, url: URL, ours: Answer): Promise<void> {
    const { method } = request;
    if (recorded.status >= 400 && ours.status < 300 && method === 'POST')
      await this.#undo(url.pathname, ours.body, request.body);
    // A genuine server deletes the sandbox that the query names, whatever the path names.
    const named = url.searchParams.get('sandbox_id');
    if (method === 'DELETE' && recorded.status === 200 && ours.status === 400 && named !== null) {
      await this.#ask('DELETE', `/api/v1/sandboxes/${named}?sandbox_id=${named}`);
    }
  }

  async #undo(path: string, made: Json, given: Json): Promise<void> {
    if (path === SETTINGS) await this.#ask('POST', SETTINGS, asBefore(given, this.#settings));
    if (path.startsWith(`${SETTINGS}/profiles/`)) await this.#ask('DELETE', path);
    if (!isObject(made)) return;
    if (path === '/api/conversations')
      await this.#ask('DELETE', `${path}/${String(made['conversation_id'])}`);
    if (path === '/api/v1/sandboxes') {
      const id = String(made['id']);
      await this.#ask('DELETE', `${path}/${id}?sandbox_id=${id}`);
    }
    if (path !== V1) return;
    const task = await this.ended(String(made['id']));
    const id = task?.['app_conversation_id'];
    if (typeof id === 'string') await this.#ask('DELETE', `${V1}/${id}`);
  }

  /** A start task at its end; null when that does not come. */
  async ended(id: string): Promise<JsonObject | null> {
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline;) {
      const [task] = (await this.#ask('GET', `${V1}/start-tasks?ids=${id}`)) as Json[];
      if (isObject(task) && (task['status'] === 'READY' || task['status'] === 'ERROR')) return task;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return null;
  }

  /** Waits until the conversation that a path names does not run. */
  async #standing(path: string): Promise<void> {
    const id = /[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(path)?.[0];
    if (id === undefined) return;
    for (const deadline = Date.now() + STANDING_MS; Date.now() < deadline;) {
      const [record] = (await this.#ask('GET', `${V1}?ids=${id}`)) as Json[];
      if (!isObject(record) || record['execution_status'] !== 'running') return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #ask(method: string, path: string, json?: Json): Promise<Json> {
    const headers = { 'X-Session-API-Key': this.#app.key, 'Content-Type': 'application/json' };
    const body = json === undefined ? undefined : JSON.stringify(json);
    const response = await fetch(new URL(path, this.#app.url), { method, headers, body });
    return (await response.json()) as Json;
  }
}

function itemsOf(page: Json): Json[] {
  return isObject(page) && Array.isArray(page['items']) ? page['items'] : [];
}

/**
 * What brings settings back to what they were: the members that were set, with their values from
 * before.
 */
function asBefore(given: Json, before: Json): Json {
  if (!isObject(given) || !isObject(before)) return before;
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      asBefore(value, before[name.replace(/_diff$/, '')] ?? null),
    ]),
  );
}
