/** Named model settings (interface section 2.7). */
import type { Context } from 'hono';
import { check } from '../../../../protocol/detail.ts';
import { profileName, profileRename, profileSave } from '../../../../protocol/v1/requests.ts';
import { json, readBody, readJson, refuse, refuseDetail } from '../../../http/request.ts';
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
import type { Route } from '../../route.ts';
import { isObject, type JsonObject } from '../../settings/json.ts';

const ROOT = '/api/v1/settings/profiles';

export function profileRoutes(context: AppContext): Route[] {
  const { documents } = context.store;
  const known = (name: string): { all: Profiles; llm: JsonObject } => {
    const all = readProfiles(documents);
    const llm = all.profiles[name];
    if (llm === undefined) throw refuse(404, `Profile '${name}' not found`);
    return { all, llm };
  };
  return [
    {
      method: 'GET',
      path: ROOT,
      handle: () => {
        const { profiles, active } = readProfiles(documents);
        const lines = Object.entries(profiles).map(([name, llm]) => profileLine(name, llm));
        return json({ profiles: lines, active_profile: active });
      },
    },
    {
      method: 'GET',
      path: `${ROOT}/{name}`,
      handle: (c) => {
        const { llm } = known(nameIn(c));
        return json({ name: nameIn(c), config: profileConfig(llm), api_key_set: Boolean(llm.api_key) });
      },
    },
    { method: 'POST', path: `${ROOT}/{name}`, handle: (c) => save(context, c) },
    {
      method: 'DELETE',
      path: `${ROOT}/{name}`,
      handle: (c) => {
        const name = nameIn(c);
        const all = readProfiles(documents);
        Reflect.deleteProperty(all.profiles, name);
        writeProfiles(documents, { ...all, active: all.active === name ? null : all.active });
        return json({ name, message: `Profile '${name}' deleted` });
      },
    },
    {
      method: 'POST',
      path: `${ROOT}/{name}/activate`,
      handle: (c) => {
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
    },
    {
      method: 'POST',
      path: `${ROOT}/{name}/rename`,
      handle: async (c) => {
        const name = nameIn(c);
        const { new_name: newName } = await readJson(c, profileRename);
        const { all } = known(name);
        if (newName !== name && all.profiles[newName] !== undefined)
          throw refuse(409, `Profile '${newName}' already exists`);
        const renamed = Object.entries(all.profiles).map(([each, llm]) => [each === name ? newName : each, llm]);
        const active = all.active === name ? newName : all.active;
        writeProfiles(documents, { profiles: Object.fromEntries(renamed) as Profiles['profiles'], active });
        return json({ name: newName, message: `Profile '${name}' renamed to '${newName}'` });
      },
    },
  ];
}

function nameIn(c: Context): string {
  const result = check(profileName(), c.req.param('name') ?? '', 'path');
  if (!result.ok) throw refuseDetail(result.detail.map((each) => ({ ...each, loc: ['path', 'name'] })));
  return result.value;
}

async function save({ store }: AppContext, c: Context): Promise<Response> {
  const name = nameIn(c);
  const raw = (await readBody(c)).toString('utf8');
  const parsed = check(profileSave, raw.trim() === '' ? {} : parse(raw), 'body');
  if (!parsed.ok) throw refuseDetail(parsed.detail);
  const all = readProfiles(store.documents);
  const before = all.profiles[name];
  if (before === undefined && Object.keys(all.profiles).length >= MAX_PROFILES) {
    throw refuse(409, `No more than ${MAX_PROFILES} profiles can be stored`);
  }
  const llm = parsed.value.llm == null ? snapshot(store.documents) : given(parsed.value.llm);
  if (!parsed.value.include_secrets) Reflect.deleteProperty(llm, 'api_key');
  if (parsed.value.preserve_existing_api_key && before?.api_key != null) llm.api_key ??= before.api_key;
  writeProfiles(store.documents, { ...all, profiles: { ...all.profiles, [name]: llm } });
  return json({ name, message: `Profile '${name}' saved` }, 201);
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return raw;
  }
}

function snapshot(documents: AppContext['store']['documents']): JsonObject {
  const settings = readSettings(documents);
  if (settings === null) throw refuse(404, 'Settings not found');
  const llm = valueAt(settings.agent, 'llm');
  return isObject(llm) ? { ...llm } : {};
}

function given(llm: Record<string, unknown>): JsonObject {
  const checked = checkedLlm(llm);
  if (!checked.ok)
    throw refuseDetail([{ type: 'value_error', loc: ['body', 'llm'], msg: `Value error, ${checked.error}` }]);
  return checked.llm;
}
