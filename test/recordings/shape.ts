/**
 * Comparing two answers by their shape: the members, their types, null or not, the values of
 * enumerations, and the form of ids, times and addresses. The words of texts, numbers and the
 * number of items in a list are free.
 */
import {
  CLASSES,
  isCut,
  isObject,
  meaningOf,
  readListed,
  type Class,
  type Json,
  type JsonObject,
  type Release,
} from './exchanges.ts';
import type { Playing } from './player.ts';

/** Members whose values are one of a few words. */
const ENUMERATIONS = new Set([
  'action',
  'agent_kind',
  'agent_state',
  'code',
  'conversation_status',
  'conversation_version',
  'error',
  'execution_status',
  'kind',
  'msg_id',
  'observation',
  'role',
  'runtime_status',
  'sandbox_status',
  'source',
  'status',
  'tool_name',
  'trigger',
  'type',
]);

/** Members that map names of the user's or of the server's choice to values of one shape. */
const MAPS = new Set([
  'paths',
  'usage_to_metrics',
  'initial_env',
  'tags',
  'provider_tokens',
  'provider_tokens_set',
  'mcpServers',
  'hosts',
  'properties',
  'secrets',
]);

/** Tool servers by name; over V0, and of a server's own settings, it is a record. */
function isMap(place: string): boolean {
  return MAPS.has(lastMember(place)) || place.endsWith('.agent.mcp_config');
}

/**
 * Members that only the local service has, or that say that a conversation has a replay and no
 * model.
 */
const OWN = new Set([
  // Settings with more information for the client.
  'required',
  'title_llm_profile',
  'transport',
  'status_detail',
  'last_active_at',
  'replay_json',
  'workspace_commit',
  'workspace_dependencies',
  // Members of an LLM that agent servers have from 1.49 on.
  'provider_connection_id',
  'api_mode',
  'capability_overrides',
  'fallback_strategy',
  'confirmation_policy',
  'sandbox_spec_id',
  'local_sandbox_id',
  'local_agent_state',
  'local_base_commit',
]);

/** What only a conversation with a model has; the replayed ones have none. */
const OF_A_MODEL = new Set([
  'llm_metrics',
  'model_response',
  'openhands_version',
  'costs',
  'response_latencies',
  'token_usages',
  'llm_model',
  'llm_response_id',
  'dynamic_context',
]);

/** Values that identify the machine. */
const OF_THE_MACHINE = new Set(['username', 'hostname', 'py_interpreter_path']);

const FORMS: [string, RegExp][] = [
  ['id of 32 digits', /^[0-9a-f]{32}$/],
  ['id with dashes', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
  ['time without a zone', /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?$/],
  ['time in UTC', /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)$/],
  ['address', /^(?:https?|wss?):\/\//],
];

function formOf(text: string): string {
  return FORMS.find(([, form]) => form.test(text))?.[0] ?? 'text';
}

function typeOf(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

/** The kind that an object names: a kind of event, or the state of something that moves. */
export function labelOf(value: Json): string | null {
  if (!isObject(value)) return null;
  const say = (...names: string[]): string => names.map((name) => String(value[name])).join(' ');
  if (typeof value['kind'] === 'string') {
    if (value['kind'] === 'ConversationStateUpdateEvent') return `kind ${say('kind', 'key')}`;
    return `kind ${say('kind')}`;
  }
  if ('app_conversation_id' in value && 'status' in value) return `start task ${say('status')}`;
  if ('sandbox_spec_id' in value && 'status' in value) return `sandbox ${say('status')}`;
  if ('execution_status' in value && 'sandbox_status' in value) {
    return `conversation ${say('sandbox_status', 'execution_status')}`;
  }
  if ('workspace' in value && 'execution_status' in value)
    return `agent conversation ${say('execution_status')}`;
  if ('conversation_status' in value || ('runtime_status' in value && 'status' in value)) {
    return `V0 conversation ${say('status', 'runtime_status')}`;
  }
  if ('observation' in value || 'action' in value)
    return `V0 event ${say('action', 'observation')}`;
  return null;
}

/** Whether a value is a record that moves from state to state. */
function isState(value: Json): boolean {
  return / /.test(labelOf(value) ?? '') && !/^(?:kind|V0 event)/.test(labelOf(value) ?? '');
}

/**
 * Every labelled object that was recorded, by its label: any of them is a shape that a genuine
 * server gives.
 */
export class Samples {
  readonly #newer = new Set<string>();
  readonly #samples = new Map<string, JsonObject[]>();

  /** Members that a newer release has: the local service follows that one. */
  allow(value: Json): void {
    if (Array.isArray(value)) return value.forEach((item) => this.allow(item));
    if (!isObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      this.#newer.add(name);
      this.allow(member);
    }
  }

  isNewer(name: string): boolean {
    return this.#newer.has(name);
  }

  add(value: Json): void {
    if (Array.isArray(value)) return value.forEach((item) => this.add(item));
    if (!isObject(value)) return;
    const label = labelOf(value);
    if (label !== null) this.#samples.set(label, [...(this.#samples.get(label) ?? []), value]);
    Object.values(value).forEach((member) => this.add(member));
  }

  of(label: string): JsonObject[] {
    return this.#samples.get(label) ?? [];
  }
}

/** How `ours` differs from `recorded`, one line for each place; empty when the shapes agree. */
export function differences(
  recorded: Json,
  ours: Json | undefined,
  samples: Samples,
  place = '',
): string[] {
  // The members of an archive.
  if (isObject(recorded) && 'zip members' in recorded && typeof ours === 'string') return [];
  // A list that was sent piece by piece was recorded as a text.
  if (typeof recorded === 'string' && /^\[\s*\{/.test(recorded) && Array.isArray(ours)) return [];
  if (isCut(recorded))
    return typeof ours === 'string' ? [] : [`${place}: text, ours ${typeOf(ours)}`];
  if (typeOf(recorded) !== typeOf(ours))
    return [`${place}: ${typeOf(recorded)}, ours ${typeOf(ours)}`];
  if (typeof recorded === 'string' && typeof ours === 'string')
    return ofTexts(recorded, ours, place);
  if (Array.isArray(recorded) && Array.isArray(ours))
    return ofLists(recorded, ours, samples, place);
  if (isObject(recorded) && isObject(ours)) return ofObjects(recorded, ours, samples, place);
  return [];
}

function ofTexts(recorded: string, ours: string, place: string): string[] {
  if (/^<.*>$/.test(recorded)) return ours === '' ? [`${place}: empty`] : [];
  if (ENUMERATIONS.has(lastMember(place)) && /^[\w$]*$/.test(recorded)) {
    return recorded === ours ? [] : [`${place}: ${recorded}, ours ${ours}`];
  }
  if (formOf(recorded) !== formOf(ours))
    return [`${place}: ${formOf(recorded)}, ours ${formOf(ours)}`];
  return [];
}

function lastMember(place: string): string {
  return /\.(\w+)$/.exec(place)?.[1] ?? '';
}

function ofLists(recorded: Json[], ours: Json[], samples: Samples, place: string): string[] {
  if (lastMember(place) === 'loc')
    return recorded.join() === ours.join()
      ? []
      : [`${place}: ${recorded.join()}, ours ${ours.join()}`];
  const patterns = recorded.filter((item) => !isCut(item));
  // Only the count is known, or there is none on both sides.
  if (patterns.length === 0 && (recorded.length > 0 || ours.length === 0)) return [];
  if (patterns.length === 0) return [`${place}: empty list, ours not empty`];
  if (ours.length === 0) return [`${place}: list, ours empty`];
  const [only, single] = [patterns[0] ?? null, ours[0] ?? null];
  // One record that was requested by its id: its state counts. In a longer list each may have
  // another one.
  if (recorded.length === 1 && ours.length === 1 && isState(single) && isState(only)) {
    return differences(only, single, samples, `${place}[]`);
  }
  // Records that differ only by their place cannot be compared beyond the cut.
  const isCutOff =
    patterns.length < recorded.length && patterns.every((pattern) => labelOf(pattern) === null);
  const compared = isCutOff ? ours.slice(0, patterns.length) : ours;
  const found = compared.flatMap((item) => {
    const label = labelOf(item);
    const same =
      label === null ? patterns : patterns.filter((pattern) => labelOf(pattern) === label);
    const candidates = same.length > 0 ? same : label === null ? patterns : samples.of(label);
    if (candidates.length === 0) return [`${place}[]: never recorded: ${label ?? typeOf(item)}`];
    const best = fewest(
      candidates.map((pattern) => differences(pattern, item, samples, `${place}[]`)),
    );
    if (best.length === 0 || label === null) return best;
    return fewest([
      best,
      ...samples.of(label).map((pattern) => differences(pattern, item, samples, `${place}[]`)),
    ]);
  });
  return [...new Set(found)];
}

function ofObjects(
  recorded: JsonObject,
  ours: JsonObject,
  samples: Samples,
  place: string,
): string[] {
  const found = isMap(place)
    ? ofMaps(recorded, ours, samples, place)
    : ofMembers(recorded, ours, samples, place);
  const label = labelOf(ours);
  if (found.length === 0 || label === null || label !== labelOf(recorded)) return found;
  // Members that come and go with time: as another record of the same state had them.
  return fewest([
    found,
    ...samples.of(label).map((sample) => ofMembers(sample, ours, samples, place)),
  ]);
}

function ofMembers(
  recorded: JsonObject,
  ours: JsonObject,
  samples: Samples,
  place: string,
): string[] {
  const names = new Set([...Object.keys(recorded), ...Object.keys(ours)]);
  return [...names].flatMap((name) => {
    const isEmpty =
      ours[name] === undefined ||
      ours[name] === null ||
      (Array.isArray(ours[name]) && ours[name].length === 0);
    if ((OF_A_MODEL.has(name) || OF_THE_MACHINE.has(name)) && isEmpty) return [];
    // Of a validation error the type and the location are served; the message is that of the
    // library in use.
    if (place.endsWith('.detail[]') && (name === 'input' || name === 'ctx') && isEmpty) return [];
    // A replay has no model: only its name is shown.
    if (
      (name === 'llm' && place.endsWith('.agent')) ||
      (name === 'llm' && place.endsWith('agent.condenser'))
    )
      return [];
    if (!(name in recorded))
      return OWN.has(name) || samples.isNewer(name) ? [] : [`${place}.${name}: only ours has it`];
    return differences(recorded[name] ?? null, ours[name], samples, `${place}.${name}`);
  });
}

function ofMaps(recorded: JsonObject, ours: JsonObject, samples: Samples, place: string): string[] {
  const [pattern] = Object.values(recorded);
  if (pattern === undefined) return [];
  return Object.values(ours).flatMap((value) => differences(pattern, value, samples, `${place}{}`));
}

function fewest(lists: string[][]): string[] {
  return lists.reduce((best, list) => (list.length < best.length ? list : best));
}

// What came of playing the recordings, for a reader to judge.

/** Exchanges: all of them, those that agree, and those that differ, by class. */
export interface Counts extends Record<Class, number> {
  all: number;
  agreed: number;
}

export function countsOf(results: [Release, Playing][]): Counts {
  const counts: Counts = { all: 0, agreed: 0, breakage: 0, model: 0, chosen: 0 };
  for (const [release, { played }] of results) {
    const listed = readListed(release);
    for (const { name, differences } of played) {
      counts.all += 1;
      if (differences.length === 0) counts.agreed += 1;
      else counts[listed.get(name)?.class ?? 'chosen'] += 1;
    }
  }
  return counts;
}

/** In percent. */
export function shareOf(part: number, all: number): number {
  return (100 * part) / Math.max(all, 1);
}

/**
 * Three shares: of all exchanges of the routes that the local service has, of those where no
 * genuine server breaks, and of those that are meant to agree, which leaves out as well where only
 * a model can answer. Below, what was not played.
 */
export function reportOf(results: ReadonlyMap<Release, Playing>): string {
  const lines = [...results].flatMap(([release, playing]) => [
    ...linesOf(release, countsOf([[release, playing]])),
    ...notServed(playing),
  ]);
  return `${[...lines, ...linesOf('both', countsOf([...results]))].join('\n')}\n`;
}

function linesOf(name: string, counts: Counts): string[] {
  const sound = counts.all - counts.breakage;
  const shares = [
    `${share(counts.agreed, counts.all)} of all agree`,
    `${share(counts.agreed, sound)} of those where no genuine server breaks`,
    `${share(counts.agreed, sound - counts.model)} of those meant to`,
  ];
  return [
    `${name}: ${shares.join(', ')}`,
    ...CLASSES.map((each) => `  ${String(counts[each]).padStart(4)} differ: ${meaningOf(each)}`),
  ];
}

function notServed({ unsupported }: Playing): string[] {
  const routes = [...unsupported].sort().map(([route, count]) => `    ${route} (${count})`);
  return ['  not served by the local service, so not played (exchanges):', ...routes];
}

function share(part: number, all: number): string {
  return `${part} of ${all} (${shareOf(part, all).toFixed(1)} %)`;
}
