/** Named model settings that can be made the current ones (interface section 2.7). */
import { isDeepStrictEqual } from 'node:util';
import type { DocumentStore } from '../../storage/documents.ts';
import { AGENT_FIELDS, defaultsOf, problemOf, withoutSecrets } from './fields.ts';
import type { MASK } from './mcp.ts';
import { overlay, readSettings, valueAt, type StoredSettings } from './record.ts';
import { isObject, type Json, type JsonObject } from './json.ts';

/** `profiles`: what was set of each one's llm, secrets in clear. */
export interface Profiles {
  profiles: Record<string, JsonObject>;
  active: string | null;
}

export const MAX_PROFILES = 10;
const DOCUMENT = 'llm_profiles';

/** A name of the request is looked up in `profiles`, which therefore inherits no member such as `constructor`. */
export function readProfiles(documents: DocumentStore): Profiles {
  const { profiles, active } = (documents.read(DOCUMENT) as Profiles | null) ?? { profiles: {}, active: null };
  return { profiles: Object.assign(Object.create(null) as Profiles['profiles'], profiles), active };
}

export function writeProfiles(documents: DocumentStore, profiles: Profiles): void {
  documents.write(DOCUMENT, profiles);
}

/** No profile is the active one any more once the model settings are others than its own, as on genuine servers. */
export function leaveActiveProfile(documents: DocumentStore, settings: StoredSettings): void {
  const all = readProfiles(documents);
  const active = all.active === null ? undefined : all.profiles[all.active];
  const current = isObject(settings.agent.llm) ? settings.agent.llm : {};
  if (active === undefined || isDeepStrictEqual(withDefaults(active), withDefaults(current))) return;
  writeProfiles(documents, { ...all, active: null });
}

/** One line of the list. */
export function profileLine(name: string, llm: JsonObject): JsonObject {
  return { name, model: llm.model ?? null, base_url: llm.base_url ?? null, api_key_set: Boolean(llm.api_key) };
}

/** A profile's model settings with all defaults; a secret that is set is the mask. */
export function profileConfig(llm: JsonObject, mask: typeof MASK | null = null): JsonObject {
  return withoutSecrets(AGENT_FIELDS, withDefaults(llm), mask).llm as JsonObject;
}

/** Secrets in clear. */
function withDefaults(llm: JsonObject): JsonObject {
  return overlay(defaultsOf(AGENT_FIELDS), { llm });
}

/** The known members of a given llm object, or what is wrong with it. */
export function checkedLlm(
  given: Record<string, unknown>,
): { ok: true; llm: JsonObject } | { ok: false; error: string } {
  const llm: JsonObject = {};
  for (const each of AGENT_FIELDS.filter((one) => one.path.startsWith('llm.'))) {
    const value = valueAt({ llm: given as Json }, each.path);
    if (value == null) continue;
    const problem = problemOf(each, value);
    if (problem !== null) return { ok: false, error: `${each.path}: ${problem}` };
    llm[each.path.slice('llm.'.length)] = value;
  }
  return isObject(llm) ? { ok: true, llm } : { ok: false, error: 'llm: Input should be a valid dictionary' };
}

/** The models that the settings and the profiles name; the service has no other catalogue. */
export function knownModels(documents: DocumentStore): string[] {
  const settings = readSettings(documents);
  const named = [
    settings === null ? undefined : valueAt(settings.agent, 'llm.model'),
    ...Object.values(readProfiles(documents).profiles).map((llm) => llm.model),
  ];
  return [...new Set(named.filter((model) => typeof model === 'string'))].sort();
}
