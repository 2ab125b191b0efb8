/**
 * The settings, model profiles and secrets of the user, which an agent server shares with the app
 * server.
 */
import type { Context } from 'hono';
import {
  type SecretInput,
  secretPut,
  settingsPatch,
} from '../../../protocol/agent-server/requests.ts';
import { profileName } from '../../../protocol/v1/requests.ts';
import { isJsonObject, type JsonObject } from '../../../protocol/settings.ts';
import { MASK, type Mask } from '../../settings/fields.ts';
import {
  emptySettings,
  keysSet,
  mergedV1,
  profileConfig,
  readProfiles,
  readSettings,
  shownV1,
  writeSettings,
} from '../../settings/settings.ts';
import { secretValue, shownSecrets, userSecrets } from '../../settings/user-secrets.ts';
import { refuse } from '../../http/answer.ts';
import { pathPart } from '../../http/request.ts';
import { body, type Handlers } from '../../http/route.ts';
import { zonedTimestamp } from '../../lifecycle/clock.ts';
import type { AgentRoute } from '../../http/served-routes.ts';
import type { WorkerContext } from '../context.ts';

export function workerSettingsHandlers({
  userStore,
  nowMicroseconds,
}: WorkerContext): Handlers<AgentRoute> {
  const shown = (mask: Mask) => {
    const { documents } = userStore();
    const settings = readSettings(documents) ?? emptySettings();
    const profiles = readProfiles(documents);
    const now = zonedTimestamp(nowMicroseconds());
    const { agent_settings, conversation_settings } = shownV1(settings, profiles, now, mask);
    return {
      agent_settings,
      conversation_settings,
      llm_api_key_is_set: keysSet(settings).llm_api_key_set,
      active_profile: profiles.active,
      active_agent_profile_id: null,
      misc_settings: {},
    };
  };
  return {
    'GET /api/settings': (c) => shown(maskFor(c, MASK)),
    'PATCH /api/settings': body(settingsPatch, (given) => {
      const diffs = Object.fromEntries(
        Object.entries(given).filter(([, diff]) => isJsonObject(diff)),
      );
      if (Object.keys(diffs).length === 0) {
        throw refuse(
          400,
          'At least one of agent_settings_diff and conversation_settings_diff must be provided',
        );
      }
      const { documents } = userStore();
      writeSettings(
        documents,
        mergedV1(readSettings(documents) ?? emptySettings(), diffs as JsonObject),
      );
      return shown(MASK);
    }),
    'GET /api/profiles/{name}': (c) => {
      const name = pathPart(c, 'name', profileName());
      const llm = readProfiles(userStore().documents).profiles[name];
      if (llm === undefined) throw refuse(404, `Profile '${name}' not found`);
      return {
        name,
        config: profileConfig(llm, maskFor(c, null)),
        api_key_set: Boolean(llm.api_key),
      };
    },
    'GET /api/settings/secrets': () => shownSecrets(userSecrets(userStore())),
    'PUT /api/settings/secrets': body(secretPut, ({ name, value, description }) => {
      const { secrets } = userStore();
      secrets.put(name, value, description ?? '');
      return secrets.get(name);
    }),
    'GET /api/settings/secrets/{name}': (c) =>
      secretValue(userSecrets(userStore()), c.req.param('name')),
    'DELETE /api/settings/secrets/{name}': (c) => {
      if (!userStore().secrets.remove(c.req.param('name') ?? ''))
        throw refuse(404, 'Secret not found');
      return { deleted: true };
    },
  };
}

function maskFor(c: Context, mask: Mask): Mask {
  const wanted = (c.req.header('x-expose-secrets') ?? '').trim().toLowerCase();
  if (wanted === '') return mask;
  if (wanted !== 'plaintext')
    throw refuse(
      400,
      "Invalid X-Expose-Secrets header value. The only valid value is 'plaintext'.",
    );
  return undefined;
}

/**
 * A LookupSecret that names a secret of this user gets its value now; another address is refused.
 */
export function lookedUp(
  secrets: Record<string, SecretInput>,
  userStore: WorkerContext['userStore'],
): Record<string, SecretInput> {
  const valueOf = (secret: SecretInput): SecretInput => {
    if (typeof secret === 'string' || secret.url == null) return secret;
    const [, name = ''] =
      /^http:\/\/(?:127\.0\.0\.1|localhost)(?::\d+)?\/.*\/settings\/secrets\/(\w+)$/.exec(
        secret.url,
      ) ?? [];
    const found = userSecrets(userStore()).get(name);
    if (found === undefined)
      throw refuse(400, 'A secret can be looked up only among the secrets of this user');
    return found.value;
  };
  return Object.fromEntries(
    Object.entries(secrets).map(([name, secret]) => [name, valueOf(secret)]),
  );
}
