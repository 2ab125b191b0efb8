/**
 * Settings of both dialects, their schemas, the user, and named model settings (interface sections
 * 2.1 to 2.8).
 */
import type { Context } from 'hono';
import * as v from 'valibot';
import { dictionary, record, truth } from '../../../protocol/detail.ts';
import { isJsonObject, setAt, valueAt, type JsonObject } from '../../../protocol/settings.ts';
import * as v0 from '../../../protocol/v0/requests.ts';
import * as v1 from '../../../protocol/v1/requests.ts';
import { HttpError, invalidMember, json, refuse } from '../../http/answer.ts';
import { listPage, pathPart } from '../../http/request.ts';
import { body, query, type Handlers } from '../../http/route.ts';
import type { AppRoute } from '../../http/served-routes.ts';
import type { AppContext } from '../context.ts';
import { readProviders } from '../../settings/git-providers.ts';
import { PROVIDER_HOSTS } from '../../settings/git-providers.ts';
import {
  AGENT_FIELDS,
  CONVERSATION_FIELDS,
  MASK,
  problemOf,
  schemaOf,
  type Mask,
} from '../../settings/fields.ts';
import {
  emptySettings,
  keysSet,
  mergedV1,
  profileConfig,
  readProfiles,
  readSettings,
  replacedV0,
  shownV0,
  shownV1,
  writeProfiles,
  writeSettings,
  type StoredSettings,
} from '../../settings/settings.ts';
import { sandboxOfKey } from './sandboxes.ts';

const MAX_PROFILES = 10;

const userQuery = record({ expose_secrets: v.optional(truth(), false) });

export function settingsHandlers({ store, clock }: AppContext): Handlers<AppRoute> {
  const { documents } = store;
  const storedSettings = (): StoredSettings => {
    const settings = readSettings(documents);
    if (settings === null) throw new HttpError(404, { error: 'Settings not found' });
    return settings;
  };
  const hosts = () =>
    Object.fromEntries(
      Object.entries(readProviders(documents)).map(([name, { host }]) => [name, host]),
    );
  const nameIn = (c: Context): string => pathPart(c, 'name', v1.profileName());
  const knownProfile = (name: string) => {
    const all = readProfiles(documents);
    const llm = all.profiles[name];
    if (llm === undefined) throw refuse(404, `Profile '${name}' not found`);
    return { all, llm };
  };
  /**
   * The models that the settings and the profiles name, as `provider/name` or `name`; there is no
   * other catalogue.
   */
  const models = (wanted: string): string[] => {
    const named = [
      valueAt(readSettings(documents)?.agent ?? {}, 'llm.model'),
      ...Object.values(readProfiles(documents).profiles).map((llm) => llm.model),
    ].filter((model) => typeof model === 'string');
    return [...new Set(named)]
      .filter((model) => model.toLowerCase().includes(wanted.toLowerCase()))
      .sort();
  };
  return {
    'GET /api/options/config': () => ({
      APP_MODE: 'oss',
      GITHUB_CLIENT_ID: '',
      POSTHOG_CLIENT_KEY: '',
      FEATURE_FLAGS: { ENABLE_BILLING: false, HIDE_LLM_SETTINGS: false },
    }),
    'GET /api/v1/web-client/config': () => WEB_CLIENT_CONFIG,
    'GET /api/settings': () => shownV0(storedSettings(), hosts()),
    'POST /api/settings': body(v0.settings, (given) => {
      writeSettings(documents, replacedV0(readSettings(documents) ?? emptySettings(), given));
      return { message: 'Settings stored' };
    }),
    'GET /api/v1/settings': () => {
      const settings = storedSettings();
      return {
        ...shownV1(settings, readProfiles(documents), clock.stamp(), null),
        provider_tokens_set: hosts(),
        ...keysSet(settings),
      };
    },
    'POST /api/v1/settings': body(dictionary(), (given) => {
      writeSettings(
        documents,
        mergedV1(readSettings(documents) ?? emptySettings(), given as JsonObject),
      );
      return { message: 'Settings stored' };
    }),
    'GET /api/v1/settings/agent-schema': () => schemaOf('AgentSettings', AGENT_FIELDS, 'openhands'),
    'GET /api/v1/settings/conversation-schema': () =>
      schemaOf('ConversationSettings', CONVERSATION_FIELDS, null),
    'GET /api/v1/users/me': query(userQuery, (given, c) => {
      const settings = readSettings(documents) ?? emptySettings();
      const shown = (mask: Mask) => ({
        ...shownV1(settings, readProfiles(documents), clock.stamp(), mask),
        id: null,
      });
      if (!given.expose_secrets) return shown(MASK);
      // In addition to the key of the owner, which the router has checked.
      sandboxOfKey(c, store.sandboxes);
      // Read by OpenHandsCloudWorkspace.get_llm, and sent by servers up to 1.6.0.
      return {
        ...shown(undefined),
        llm_model: valueAt(settings.agent, 'llm.model') ?? null,
        llm_api_key: valueAt(settings.agent, 'llm.api_key') ?? null,
        llm_base_url: valueAt(settings.agent, 'llm.base_url') ?? null,
      };
    }),
    // There are no skills.
    'GET /api/v1/skills/search': query(v1.pageQuery, (given) => listPage(given, [])),
    'GET /api/v1/settings/profiles': () => {
      const { profiles, active } = readProfiles(documents);
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
    'GET /api/v1/settings/profiles/{name}': (c) => {
      const name = nameIn(c);
      const { llm } = knownProfile(name);
      return { name, config: profileConfig(llm, null), api_key_set: Boolean(llm.api_key) };
    },
    'POST /api/v1/settings/profiles/{name}': body(
      v1.profileSave,
      (given, c) => {
        const name = nameIn(c);
        const all = readProfiles(documents);
        const before = all.profiles[name];
        if (before === undefined && Object.keys(all.profiles).length >= MAX_PROFILES) {
          throw refuse(409, `No more than ${MAX_PROFILES} profiles can be stored`);
        }
        const settings = readSettings(documents);
        if (given.llm == null && settings === null) throw refuse(404, 'Settings not found');
        const model = given.llm == null ? settings?.agent.llm : (given.llm as JsonObject);
        const llm: JsonObject = {};
        for (const each of AGENT_FIELDS.filter(({ section }) => section === 'llm')) {
          const member = each.path.slice('llm.'.length);
          const value = isJsonObject(model) ? model[member] : null;
          if (value == null) continue;
          const problem = problemOf(each, value);
          if (problem !== null) throw invalidMember('llm', `${each.path}: ${problem}`);
          llm[member] = value;
        }
        if (!given.include_secrets) Reflect.deleteProperty(llm, 'api_key');
        if (given.preserve_existing_api_key && before?.api_key != null)
          llm.api_key ??= before.api_key;
        writeProfiles(documents, { ...all, profiles: { ...all.profiles, [name]: llm } });
        return json({ name, message: `Profile '${name}' saved` }, 201);
      },
      {},
    ),
    'DELETE /api/v1/settings/profiles/{name}': (c) => {
      const name = nameIn(c);
      const all = readProfiles(documents);
      Reflect.deleteProperty(all.profiles, name);
      writeProfiles(documents, { ...all, active: all.active === name ? null : all.active });
      return { name, message: `Profile '${name}' deleted` };
    },
    'POST /api/v1/settings/profiles/{name}/activate': (c) => {
      const name = nameIn(c);
      const { all, llm } = knownProfile(name);
      const settings = readSettings(documents) ?? emptySettings();
      setAt(settings.agent, 'llm', llm);
      store.transaction(() => {
        writeSettings(documents, settings);
        writeProfiles(documents, { ...all, active: name });
      });
      return { name, message: `Switched to profile '${name}'`, model: llm.model ?? null };
    },
    'POST /api/v1/settings/profiles/{name}/rename': body(
      v1.profileRename,
      ({ new_name: newName }, c) => {
        const name = nameIn(c);
        const { all } = knownProfile(name);
        if (newName !== name && all.profiles[newName] !== undefined) {
          throw refuse(409, `Profile '${newName}' already exists`);
        }
        const renamed = Object.entries(all.profiles).map(
          ([each, llm]) => [each === name ? newName : each, llm] as const,
        );
        const active = all.active === name ? newName : all.active;
        writeProfiles(documents, { profiles: Object.fromEntries(renamed), active });
        return { name: newName, message: `Profile '${name}' renamed to '${newName}'` };
      },
    ),
    'GET /api/v1/config/models/search': query(v1.configSearchQuery, (given) => {
      const shown = models(given.query ?? '').map((model) => ({
        provider: model.includes('/') ? model.slice(0, model.indexOf('/')) : null,
        name: model.slice(model.indexOf('/') + 1),
        verified: false,
        hidden: false,
        canonical: null,
      }));
      return listPage(given, shown);
    }),
    'GET /api/v1/config/providers/search': query(v1.configSearchQuery, (given) => {
      const all = models('').flatMap((model) =>
        model.includes('/') ? [model.slice(0, model.indexOf('/'))] : [],
      );
      const wanted = [...new Set(all)].filter((name) =>
        name.toLowerCase().includes((given.query ?? '').toLowerCase()),
      );
      return listPage(
        given,
        wanted.map((name) => ({ name, verified: false })),
      );
    }),
  };
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
