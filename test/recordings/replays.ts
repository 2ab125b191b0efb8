/**
 * The local service gets no model here: a recorded conversation becomes one that is started with a
 * small replay, which does what the scripted model of the recordings did on the words of each
 * message.
 */
import {
  isCut,
  isObject,
  type Answer,
  type Exchange,
  type Json,
  type JsonObject,
} from './exchanges.ts';
import type { Endpoint } from './player.ts';

const call = (action: Json, risk: string): Json => ({
  kind: 'ActionEvent',
  source: 'agent',
  security_risk: risk,
  thought: [],
  action,
});
const run = (command: string, risk = 'LOW'): Json =>
  call({ kind: 'TerminalAction', command }, risk);
const finish = (message: string): Json => call({ kind: 'FinishAction', message }, 'UNKNOWN');

const TURNS: Record<string, Json[]> = {
  QUICK: [finish('Done at once.')],
  PLAIN: [
    {
      action: 'message',
      source: 'agent',
      args: { content: 'A plain answer.', wait_for_response: true },
    },
  ],
  WORK: [run('ls -la'), run('echo hello from the agent > hello.txt'), finish('All done.')],
  // Long enough for some requests while it runs, also where both are slow.
  SLOW: [run('sleep 8; date'), finish('All done.')],
  RISKY: [run('echo carried out > risky.txt', 'HIGH'), finish('All done.')],
  LOOP: Array.from({ length: 400 }, () => run('sleep 0.5; echo again')),
  COUNT: Array.from({ length: 30 }, (_, index) => run(`sleep 0.1; echo round ${index + 1}`)),
};
const WORD = /\b(QUICK|PLAIN|WORK|SLOW|RISKY|LOOP|COUNT|FAIL\d*)\b/;
/**
 * A model that gets request after request, or never answers: the run is under way, and is never
 * waited for.
 */
const RETRY = [run('sleep 900')];
/** Conversations whose next message arrives while they run, and continues from there. */
const UNDER_WAY = 'iter.';
const STUCK = [
  run('echo again'),
  {
    kind: 'ConversationStateUpdateEvent',
    source: 'environment',
    key: 'execution_status',
    value: 'stuck',
  },
];
const SPARE = Array.from({ length: 4 }, () => 'QUICK');

/**
 * The text of a trajectory that answers every message of a recorded conversation; null for a body
 * that is none, and for one that was refused because neither a model nor a replay was there.
 *
 * @param released the file whose appearance ends a run that is under way when the next message
 * comes
 */
export function replayFor(exchange: Exchange, later: Exchange[], released: string): string | null {
  if (!isObject(exchange.request.body) || isRefusedWithoutModel(exchange)) return null;
  // Of a long trajectory only the beginning was recorded.
  const given = exchange.request.body['replay_json'];
  if (given !== undefined && !isCut(given)) return null;
  const end = endOf(exchange, later, released);
  // Without a message at the start, the first message begins the run.
  const first = isSilent(exchange) ? [] : [wordIn(exchange.request.body)];
  const words = [...first, ...laterWords(exchange, later), ...SPARE];
  const spoken = { action: 'message', source: 'user', args: { content: 'go on' } };
  const steps = words.map((word, index) =>
    index === 0 && end !== null ? end : (TURNS[word] ?? []),
  );
  return JSON.stringify(steps.flatMap((turn, index) => (index === 0 ? turn : [spoken, ...turn])));
}

/** Whether it is a message to a run that stands: the recorded client had waited for its end. */
export function isToStanding(exchange: Exchange): boolean {
  return isMessage(exchange) && !exchange.name.includes('while') && !isReleasing(exchange);
}

/**
 * Whether it is a pause that came when the run had ended, as the record that was read next shows.
 */
export function isPauseOfEnded(
  { request: { method, path } }: Exchange,
  next: Exchange | undefined,
): boolean {
  return (
    method === 'POST' &&
    path.endsWith('/pause') &&
    next?.name.endsWith('.execution_status.finished') === true
  );
}

/** Whether it is the message that was to find its run under way: the run may end now. */
export function isReleasing(exchange: Exchange): boolean {
  return isMessage(exchange) && exchange.name.startsWith(UNDER_WAY);
}

function isMessage({ request: { method, path } }: Exchange): boolean {
  return method === 'POST' && /\/(?:events|message|send-message)$/.test(path);
}

/**
 * How the first run ended when it did not come through: with the error that was recorded, going in
 * circles, or not yet when the recording went on. Null: as the words of the message say.
 */
function endOf({ name }: Exchange, later: Exchange[], released: string): Json[] | null {
  const prefix = name.replace(/create$/, '');
  if (prefix === name) return null;
  const own = later.filter((one) => one.name.startsWith(prefix));
  const has = (ending: string): boolean =>
    own.some((one) => one.name === `${prefix}execution_status.${ending}`);
  const failure = own.map(({ answer }) => failureIn(answer.body)).find((event) => event !== null);
  if (failure?.['code'] === 'MaxIterationsReached') {
    const steps = TURNS['COUNT'] ?? [];
    return steps.slice(0, 3);
  }
  if (failure !== undefined) return [failure ?? null];
  if (has('stuck')) return STUCK;
  if (prefix === 'llm.loop.' || !has('running') || has('finished')) return null;
  if (prefix === UNDER_WAY) return [run(`while ! test -e '${released}'; do sleep 0.1; done`)];
  return prefix.startsWith('llm.') ? RETRY : null;
}

/** The event that reports a failure, of a page of events. */
function failureIn(body: Json): JsonObject | null {
  const items = isObject(body) && Array.isArray(body['items']) ? body['items'] : [];
  return items.filter(isObject).find((item) => item['kind'] === 'ConversationErrorEvent') ?? null;
}

/** The words of the messages that made the agent run again, in their order. */
function laterWords(exchange: Exchange, later: Exchange[]): string[] {
  const id = conversationOf(exchange, later);
  if (id === null) return [];
  const posts = later.filter(({ request, answer }) => {
    const isOwn = request.path.replaceAll('-', '').includes(id.replaceAll('-', ''));
    return request.method === 'POST' && isOwn && answer.status < 300;
  });
  return posts.flatMap(({ request: { path, body } }, index) => {
    if (!/\/(?:events|message|send-message)$/.test(path) || !isObject(body)) return [];
    const action = body['action'];
    if (typeof action === 'string' && action !== 'message') return [];
    const isRun = body['run'] ?? !path.startsWith('/api/conversations/');
    // What is only stored is answered when the conversation is run, if that is what comes next.
    const next = posts[index + 1]?.request.path ?? '';
    const isAnswered =
      isRun === true ||
      typeof action === 'string' ||
      path.endsWith('/message') ||
      next.endsWith('/run');
    return isAnswered ? [wordIn(body)] : [];
  });
}

function isSilent({ request: { path, body } }: Exchange): boolean {
  return path.startsWith('/api/v1/') && isObject(body) && body['initial_message'] == null;
}

function isRefusedWithoutModel({ answer }: Exchange): boolean {
  return isObject(answer.body) && answer.body['msg_id'] === 'CONFIGURATION$SETTINGS_NOT_FOUND';
}

/** What the model does on a message: the first word that the model has an action for. */
function wordIn(body: Json): string {
  return WORD.exec(JSON.stringify(body))?.[1] ?? 'QUICK';
}

/**
 * The id of the recorded conversation: from the answer to the start (V0), or from its start task
 * when that was ready.
 */
function conversationOf({ answer }: Exchange, later: Exchange[]): string | null {
  if (!isObject(answer.body)) return null;
  const { conversation_id: answered, id: task } = answer.body;
  if (typeof answered === 'string') return answered;
  for (const { answer: polled } of later) {
    const [record] = Array.isArray(polled.body) ? polled.body : [];
    if (
      isObject(record) &&
      record['id'] === task &&
      typeof record['app_conversation_id'] === 'string'
    ) {
      return record['app_conversation_id'];
    }
  }
  return null;
}

// Keeps the local service in step where its answer differed on purpose: what the genuine server did
// is done by another way, and what it did not do is undone, so that one difference does not make
// the requests after it differ too. The difference itself stays one.

const PATIENCE_MS = 60_000;
const PAUSE_MS = 25;
/** So long a run is waited for at most. */
const STANDING_MS = 60_000;
const V1 = '/api/v1/app-conversations';
const SETTINGS = '/api/v1/settings';
/** Starts of runs that finished without a question, though the settings ask for risky actions. */
const IN_CONFIRMATION_MODE = ['confirm.mode.create', 'confirm.mode2.create', 'v0.confirm.create'];

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
    if (IN_CONFIRMATION_MODE.includes(name)) await this.#askNothing();
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

  /** A sandbox without isolation asks for writes too, which the recorded model called harmless. */
  async #askNothing(): Promise<void> {
    await this.#ask('POST', SETTINGS, { conversation_settings_diff: { confirmation_mode: false } });
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
