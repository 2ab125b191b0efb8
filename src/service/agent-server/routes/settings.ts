/**
 * The settings, model profiles and secrets of the user, which an agent server shares with the app
 * server.
 */
import type { Context } from 'hono';
import * as v from 'valibot';
import {
  type SecretInput,
  secretPut,
  settingsPatch,
} from '../../../protocol/agent-server/requests.ts';
import { profileName } from '../../../protocol/v1/requests.ts';
import { isJsonObject, type JsonObject } from '../../../protocol/settings.ts';
import { MASK, type Mask } from '../../settings/fields.ts';
import {
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
import {
  customSecret,
  errorMessage,
  profile,
  refusal,
  refused,
  validationError,
} from '../../http/records.ts';
import { route, type Route } from '../../http/route.ts';
import { zonedTimestamp } from '../../lifecycle/clock.ts';
import type { AgentContext, WorkerContext } from '../context.ts';
import * as records from '../records.ts';

/** `plaintext` shows keys in clear. */
const EXPOSE = ['X-Expose-Secrets'];

export const userRoutes: readonly Route<AgentContext>[] = [
  route('GET /api/settings', {
    callers: 'sdk, typescript-client',
    headers: EXPOSE,
    answers: { 200: records.settings, ...refused(400) },
    handle: (worker, { c }) => shownSettings(worker, maskFor(c, MASK)),
  }),
  route('PATCH /api/settings', {
    callers: 'typescript-client',
    body: settingsPatch,
    answers: {
      200: records.settings,
      400: v.union([refusal, errorMessage]),
      422: v.union([validationError, errorMessage]),
    },
    handle(worker, { body }) {
      const diffs = Object.fromEntries(
        Object.entries(body).filter(([, diff]) => isJsonObject(diff)),
      );
      if (Object.keys(diffs).length === 0) {
        throw refuse(
          400,
          'At least one of agent_settings_diff and conversation_settings_diff must be provided',
        );
      }
      const { documents } = worker.userStore();
      writeSettings(documents, mergedV1(readSettings(documents), diffs as JsonObject));
      return shownSettings(worker, MASK);
    },
  }),
  route('GET /api/settings/secrets', {
    callers: 'sdk, typescript-client',
    answers: { 200: v.object({ secrets: v.array(customSecret) }) },
    handle: ({ userStore }) => shownSecrets(userSecrets(userStore())),
  }),
  route('PUT /api/settings/secrets', {
    callers: 'typescript-client',
    body: secretPut,
    answers: { 200: customSecret },
    handle({ userStore }, { body: { name, value, description } }) {
      const { secrets } = userStore();
      secrets.put(name, value, description ?? '');
      return secrets.get(name);
    },
  }),
  route('GET /api/settings/secrets/{name}', {
    callers: 'sdk, typescript-client',
    answers: { 200: 'text/plain', ...refused(404) },
    handle: ({ userStore }, { path }) => secretValue(userSecrets(userStore()), path.name),
  }),
  route('DELETE /api/settings/secrets/{name}', {
    callers: 'typescript-client',
    answers: { 200: v.object({ deleted: v.boolean() }), ...refused(404) },
    handle({ userStore }, { path }) {
      if (!userStore().secrets.remove(path.name)) throw refuse(404, 'Secret not found');
      return { deleted: true };
    },
  }),
  route('GET /api/profiles/{name}', {
    callers: 'sdk, typescript-client',
    parts: { name: profileName() },
    headers: EXPOSE,
    answers: { 200: profile(), ...refused(400, 404) },
    handle({ userStore }, { path: { name }, c }) {
      const llm = readProfiles(userStore().documents).profiles[name];
      if (llm === undefined) throw refuse(404, `Profile '${name}' not found`);
      const config = profileConfig(llm, maskFor(c, null));
      return { name, config, api_key_set: Boolean(llm.api_key) };
    },
  }),
];

function shownSettings({ userStore, nowMicroseconds }: WorkerContext, mask: Mask) {
  const { documents } = userStore();
  const settings = readSettings(documents);
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
