/** Settings of both dialects, their schemas, the user, model profiles (interface 2.1 to 2.8). */
import * as v from 'valibot';
import { dictionary, record, truth } from '../../../protocol/detail.ts';
import { setAt, valueAt, type JsonObject, type JsonValue } from '../../../protocol/settings.ts';
import * as v0 from '../../../protocol/v0/requests.ts';
import * as v1 from '../../../protocol/v1/requests.ts';
import { HttpError, invalidMember, json, refuse } from '../../http/answer.ts';
import {
  errorMessage,
  message,
  pageOf,
  profile,
  refused,
  textOrNull,
  texts,
  validationError,
} from '../../http/records.ts';
import { listPage } from '../../http/request.ts';
import { route, type Route } from '../../http/route.ts';
import type { AppContext } from '../context.ts';
import * as records from '../records.ts';
import { PROVIDER_HOSTS, readProviders } from '../../settings/git-providers.ts';
import {
  AGENT_FIELDS,
  CONVERSATION_FIELDS,
  MASK,
  typeError,
  unsupported,
  schemaOf,
  type Mask,
} from '../../settings/fields.ts';
import {
  hasSettings,
  keysSet,
  knownProfile,
  mergedV1,
  readProfiles,
  readSettings,
  replacedV0,
  shownProfile,
  shownV0,
  shownV1,
  writeProfiles,
  writeSettings,
  type StoredSettings,
} from '../../settings/settings.ts';
import type { DocumentStore } from '../../storage/documents.ts';
import { sandboxOfKey } from './sandboxes.ts';

const MAX_PROFILES = 10;

const userQuery = record({ expose_secrets: v.optional(truth, false) });
const BY_NAME = { name: v1.profileName };
const nameAndMessage = v.object(texts('name', 'message'));

export const settingsRoutes: readonly Route<AppContext>[] = [
  route('GET /api/options/config', {
    callers: 'acs (probe)',
    answers: { 200: v.object({ APP_MODE: v.string(), FEATURE_FLAGS: dictionary }) },
    handle: () => ({
      APP_MODE: 'oss',
      GITHUB_CLIENT_ID: '',
      POSTHOG_CLIENT_KEY: '',
      FEATURE_FLAGS: { ENABLE_BILLING: false, HIDE_LLM_SETTINGS: false },
    }),
  }),
  route('GET /api/settings', {
    callers: 'acs settings get',
    answers: { 200: records.shownSettingsV0, 404: errorMessage },
    handle: ({ store: { documents } }) => shownV0(storedSettings(documents), hosts(documents)),
  }),
  route('POST /api/settings', {
    callers: 'acs settings set',
    body: v0.settings,
    answers: { 200: message },
    handle({ store: { documents } }, { body }) {
      writeSettings(documents, replacedV0(readSettings(documents), body));
      return { message: 'Settings stored' };
    },
  }),

  route('GET /api/v1/web-client/config', {
    callers: 'acs (probe)',
    access: 'open',
    answers: {
      200: v.object({
        app_mode: v.string(),
        feature_flags: dictionary,
        providers_configured: v.array(v.string()),
      }),
    },
    handle: () => WEB_CLIENT_CONFIG,
  }),
  route('GET /api/v1/settings', {
    callers: 'acs settings get, openhands CLI, typescript-client',
    answers: { 200: records.shownSettings, 404: errorMessage },
    handle({ store: { documents }, clock }) {
      const settings = storedSettings(documents);
      return {
        ...shownV1(settings, readProfiles(documents), clock.stamp(), null),
        provider_tokens_set: hosts(documents),
        ...keysSet(settings),
      };
    },
  }),
  route('POST /api/v1/settings', {
    callers: 'acs settings set, typescript-client',
    body: dictionary,
    answers: {
      200: message,
      400: errorMessage,
      422: v.union([validationError, errorMessage]),
      ...refused(501),
    },
    handle({ store: { documents } }, { body }) {
      writeSettings(documents, mergedV1(readSettings(documents), body as JsonObject));
      return { message: 'Settings stored' };
    },
  }),
  route('GET /api/v1/settings/agent-schema', {
    callers: 'acs settings schema, typescript-client',
    answers: { 200: records.settingsSchema },
    handle: () => schemaOf('AgentSettings', AGENT_FIELDS, 'openhands'),
  }),
  route('GET /api/v1/settings/conversation-schema', {
    callers: 'acs settings schema, typescript-client',
    answers: { 200: records.settingsSchema },
    handle: () => schemaOf('ConversationSettings', CONVERSATION_FIELDS, null),
  }),
  route('GET /api/v1/users/me', {
    callers: 'acs whoami, cloud workspace, openhands CLI',
    query: userQuery,
    answers: { 200: records.user },
    handle({ store, clock }, { query, c }) {
      const { documents } = store;
      const settings = readSettings(documents);
      const shown = (mask: Mask) => ({
        ...shownV1(settings, readProfiles(documents), clock.stamp(), mask),
        id: null,
      });
      if (!query.expose_secrets) return shown(MASK);
      // In addition to the key of the owner, which the router has checked.
      sandboxOfKey(c, store.sandboxes);
      // Read by OpenHandsCloudWorkspace.get_llm, and sent by servers up to 1.6.0.
      return {
        ...shown(undefined),
        llm_model: valueAt(settings.agent, 'llm.model') ?? null,
        llm_api_key: valueAt(settings.agent, 'llm.api_key') ?? null,
        llm_base_url: valueAt(settings.agent, 'llm.base_url') ?? null,
      };
    },
  }),
  route('GET /api/v1/skills/search', {
    callers: 'typescript-client',
    query: v1.pageQuery,
    answers: { 200: pageOf(dictionary) },
    handle: (_, { query }) => listPage(query, []),
  }),
  route('GET /api/v1/settings/profiles', {
    callers: 'acs settings profile list, typescript-client',
    answers: {
      200: v.object({ profiles: v.array(records.modelProfile), active_profile: textOrNull() }),
    },
    handle({ store }) {
      const { profiles, active } = readProfiles(store.documents);
      const lines = Object.entries(profiles).map(
        ([name, { model = null, base_url = null, api_key }]) => ({
          name,
          model,
          base_url,
          api_key_set: Boolean(api_key),
        }),
      );
      return { profiles: lines, active_profile: active };
    },
  }),
  route('GET /api/v1/settings/profiles/{name}', {
    callers: 'typescript-client',
    parts: BY_NAME,
    answers: { 200: profile(), ...refused(404) },
    handle: ({ store }, { path: { name } }) => shownProfile(store.documents, name, null),
  }),
  route('POST /api/v1/settings/profiles/{name}', {
    callers: 'acs settings profile save, typescript-client',
    parts: BY_NAME,
    body: v1.profileSave,
    emptyBody: {},
    answers: { 201: nameAndMessage, ...refused(404, 409, 501) },
    handle({ store: { documents } }, { path: { name }, body }) {
      const all = readProfiles(documents);
      const before = all.profiles[name];
      if (before === undefined && Object.keys(all.profiles).length >= MAX_PROFILES) {
        throw refuse(409, `No more than ${MAX_PROFILES} profiles can be stored`);
      }
      if (body.llm == null && !hasSettings(documents)) throw refuse(404, 'Settings not found');
      const llm = profileOf(
        (body.llm as JsonObject | null | undefined) ?? readSettings(documents).agent.llm,
      );
      if (!body.include_secrets) Reflect.deleteProperty(llm, 'api_key');
      if (body.preserve_existing_api_key && before?.api_key != null) llm.api_key ??= before.api_key;
      writeProfiles(documents, { ...all, profiles: { ...all.profiles, [name]: llm } });
      return json({ name, message: `Profile '${name}' saved` }, 201);
    },
  }),
  route('DELETE /api/v1/settings/profiles/{name}', {
    callers: 'acs settings profile delete, typescript-client',
    parts: BY_NAME,
    answers: { 200: nameAndMessage },
    handle({ store: { documents } }, { path: { name } }) {
      const all = readProfiles(documents);
      Reflect.deleteProperty(all.profiles, name);
      writeProfiles(documents, { ...all, active: all.active === name ? null : all.active });
      return { name, message: `Profile '${name}' deleted` };
    },
  }),
  route('POST /api/v1/settings/profiles/{name}/activate', {
    callers: 'acs settings profile use, typescript-client',
    parts: BY_NAME,
    answers: { 200: v.object({ ...nameAndMessage.entries, model: textOrNull() }), ...refused(404) },
    handle({ store }, { path: { name } }) {
      const { documents } = store;
      const { all, llm } = knownProfile(documents, name);
      const settings = readSettings(documents);
      setAt(settings.agent, 'llm', llm);
      store.transaction(() => {
        writeSettings(documents, settings);
        writeProfiles(documents, { ...all, active: name });
      });
      return { name, message: `Switched to profile '${name}'`, model: llm.model ?? null };
    },
  }),
  route('POST /api/v1/settings/profiles/{name}/rename', {
    callers: 'typescript-client',
    parts: BY_NAME,
    body: v1.profileRename,
    answers: { 200: nameAndMessage, ...refused(404, 409) },
    handle({ store: { documents } }, { path: { name }, body: { new_name: newName } }) {
      const { all } = knownProfile(documents, name);
      if (newName !== name && all.profiles[newName] !== undefined)
        throw refuse(409, `Profile '${newName}' already exists`);
      const renamed = Object.entries(all.profiles).map(
        ([each, llm]) => [each === name ? newName : each, llm] as const,
      );
      const active = all.active === name ? newName : all.active;
      writeProfiles(documents, { profiles: Object.fromEntries(renamed), active });
      return { name: newName, message: `Profile '${name}' renamed to '${newName}'` };
    },
  }),
  route('GET /api/v1/config/models/search', {
    callers: 'typescript-client',
    query: v1.configSearchQuery,
    answers: { 200: pageOf(v.object({ provider: textOrNull(), name: v.string() })) },
    handle({ store }, { query }) {
      const same = { verified: false, hidden: false, canonical: null };
      const models = modelsOf(store.documents, query.query ?? '');
      return listPage(
        query,
        models.map((model) => ({ ...model, ...same })),
      );
    },
  }),
  route('GET /api/v1/config/providers/search', {
    callers: 'typescript-client',
    query: v1.configSearchQuery,
    answers: { 200: pageOf(v.object({ name: v.string(), verified: v.boolean() })) },
    handle({ store }, { query }) {
      const part = (query.query ?? '').toLowerCase();
      const providers = new Set(modelsOf(store.documents, '').map(({ provider }) => provider));
      const names = [...providers].filter((name) => name?.toLowerCase().includes(part));
      return listPage(
        query,
        names.map((name) => ({ name, verified: false })),
      );
    },
  }),
];

function storedSettings(documents: DocumentStore): StoredSettings {
  if (!hasSettings(documents)) throw new HttpError(404, { error: 'Settings not found' });
  return readSettings(documents);
}

function hosts(documents: DocumentStore) {
  return Object.fromEntries(
    Object.entries(readProviders(documents)).map(([name, { host }]) => [name, host]),
  );
}

/** The settings of a model that are not null. Throws a 422, and a 501 for an unsupported one. */
function profileOf(model: JsonValue = null): JsonObject {
  const given = { llm: model };
  const profile = { llm: {} };
  for (const each of AGENT_FIELDS.filter(({ section }) => section === 'llm')) {
    const value = valueAt(given, each.path) ?? null;
    if (value === null) continue;
    const error = typeError(each, value);
    if (error !== null) throw invalidMember('llm', `${each.path}: ${error}`);
    setAt(profile, each.path, value);
  }
  const reason = unsupported(profile);
  if (reason !== null) throw refuse(501, reason);
  return profile.llm;
}

/** The models that the settings and the profiles name; `part` is a part of `provider/name`. */
function modelsOf(documents: DocumentStore, part: string) {
  const ids = [
    valueAt(readSettings(documents).agent, 'llm.model'),
    ...Object.values(readProfiles(documents).profiles).map((llm) => llm.model),
  ].filter((id) => typeof id === 'string');
  const matching = ids.filter((id) => id.toLowerCase().includes(part.toLowerCase()));
  return [...new Set(matching)].sort().map((id) => {
    const [, provider = null, name = id] = /^([^/]*)\/(.*)$/s.exec(id) ?? [];
    return { provider, name };
  });
}

const WEB_CLIENT_CONFIG = {
  app_mode: 'oss',
  posthog_client_key: null,
  feature_flags: {
    enable_billing: false,
    hide_llm_settings: false,
    enable_jira: false,
    enable_jira_dc: false,
    enable_linear: false,
    hide_users_page: true,
    hide_billing_page: true,
    hide_integrations_page: true,
    hide_personal_workspaces: false,
    allow_user_llm_configuration: true,
    enable_acp: false,
    deployment_mode: null,
    enable_onboarding: false,
    enable_automations: false,
  },
  providers_configured: [],
  maintenance_start_time: null,
  auth_url: null,
  recaptcha_site_key: null,
  faulty_models: [],
  error_message: null,
  updated_at: '2026-01-01T00:00:00Z',
  github_app_slug: null,
  gitlab_enabled: false,
  provider_default_hosts: PROVIDER_HOSTS,
  slack_enabled: false,
  email_enabled: false,
  acp_providers: [],
  jira_dc_oauth_host: null,
  jira_dc_service_account_managed: false,
  jira_dc_service_account_email: null,
  jira_dc_service_account_config_error: null,
  kind: 'WebClientConfig',
};
