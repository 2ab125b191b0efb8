/** Named model settings (interface section 2.7). */
import type { Context } from 'hono';
import { profileName, profileRename, profileSave } from '../../../../protocol/v1/requests.ts';
import { invalidMember, json, refuse } from '../../../http/answer.ts';
import { pathPart, readJson } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import {
  checkedLlm,
  MAX_PROFILES,
  profileConfig,
  profileLine,
  readProfiles,
  writeProfiles,
  type Profiles,
} from '../../settings/profiles.ts';
import { emptySettings, readSettings, setAt, valueAt, writeSettings } from '../../settings/record.ts';
import { isObject, type JsonObject } from '../../settings/json.ts';

export function profileHandlers(context: AppContext): Handlers<AppRoute> {
  const { documents } = context.store;
  const known = (name: string): { all: Profiles; llm: JsonObject } => {
    const all = readProfiles(documents);
    const llm = all.profiles[name];
    if (llm === undefined) throw refuse(404, `Profile '${name}' not found`);
    return { all, llm };
  };
  return {
    'GET /api/v1/settings/profiles': () => {
      const { profiles, active } = readProfiles(documents);
      const lines = Object.entries(profiles).map(([name, llm]) => profileLine(name, llm));
      return json({ profiles: lines, active_profile: active });
    },
    'GET /api/v1/settings/profiles/{name}': (c) => {
      const name = nameIn(c);
      const { llm } = known(name);
      return json({ name, config: profileConfig(llm), api_key_set: Boolean(llm.api_key) });
    },
    'POST /api/v1/settings/profiles/{name}': (c) => save(context, c),
    'DELETE /api/v1/settings/profiles/{name}': (c) => {
      const name = nameIn(c);
      const all = readProfiles(documents);
      Reflect.deleteProperty(all.profiles, name);
      writeProfiles(documents, { ...all, active: all.active === name ? null : all.active });
      return json({ name, message: `Profile '${name}' deleted` });
    },
    'POST /api/v1/settings/profiles/{name}/activate': (c) => {
      const name = nameIn(c);
      const { all, llm } = known(name);
      const settings = readSettings(documents) ?? emptySettings();
      setAt(settings.agent, 'llm', llm);
      context.store.transaction(() => {
        writeSettings(documents, settings);
        writeProfiles(documents, { ...all, active: name });
      });
      return json({ name, message: `Switched to profile '${name}'`, model: llm.model ?? null });
    },
    'POST /api/v1/settings/profiles/{name}/rename': async (c) => {
      const name = nameIn(c);
      const { new_name: newName } = await readJson(c, profileRename);
      const { all } = known(name);
      if (newName !== name && all.profiles[newName] !== undefined) {
        throw refuse(409, `Profile '${newName}' already exists`);
      }
      const renamed = Object.entries(all.profiles).map(([each, llm]) => [each === name ? newName : each, llm]);
      const active = all.active === name ? newName : all.active;
      writeProfiles(documents, { profiles: Object.fromEntries(renamed) as Profiles['profiles'], active });
      return json({ name: newName, message: `Profile '${name}' renamed to '${newName}'` });
    },
  };
}

const nameIn = (c: Context): string => pathPart(c, 'name', profileName());

async function save({ store }: AppContext, c: Context): Promise<Response> {
  const name = nameIn(c);
  const body = await readJson(c, profileSave, {});
  const all = readProfiles(store.documents);
  const before = all.profiles[name];
  if (before === undefined && Object.keys(all.profiles).length >= MAX_PROFILES) {
    throw refuse(409, `No more than ${MAX_PROFILES} profiles can be stored`);
  }
  const llm = body.llm == null ? snapshot(store.documents) : given(body.llm);
  if (!body.include_secrets) Reflect.deleteProperty(llm, 'api_key');
  if (body.preserve_existing_api_key && before?.api_key != null) llm.api_key ??= before.api_key;
  writeProfiles(store.documents, { ...all, profiles: { ...all.profiles, [name]: llm } });
  return json({ name, message: `Profile '${name}' saved` }, 201);
}

function snapshot(documents: AppContext['store']['documents']): JsonObject {
  const settings = readSettings(documents);
  if (settings === null) throw refuse(404, 'Settings not found');
  const llm = valueAt(settings.agent, 'llm');
  return isObject(llm) ? { ...llm } : {};
}

function given(llm: Record<string, unknown>): JsonObject {
  const checked = checkedLlm(llm);
  if (!checked.ok) throw invalidMember('llm', checked.error);
  return checked.llm;
}
