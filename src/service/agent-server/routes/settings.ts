/** The settings, model profiles and secrets of the user, those of the app server. */
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
  readProfiles,
  readSettings,
  shownProfile,
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
import type { AgentContext } from '../context.ts';
import * as records from '../records.ts';

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
      ...refused(501),
    },
    handle(worker, { body }) {
      const diffs = Object.entries(body).filter(([, diff]) => isJsonObject(diff));
      if (diffs.length === 0) {
        const why = 'agent_settings_diff and conversation_settings_diff must be provided';
        throw refuse(400, `At least one of ${why}`);
      }
      const { documents } = worker.userStore();
      const changes = Object.fromEntries(diffs) as JsonObject;
      writeSettings(documents, mergedV1(readSettings(documents), changes));
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
    parts: { name: profileName },
    headers: EXPOSE,
    answers: { 200: profile(), ...refused(400, 404) },
    handle: ({ userStore }, { path: { name }, c }) =>
      shownProfile(userStore().documents, name, maskFor(c, null)),
  }),
];

function shownSettings({ userStore, nowMicroseconds }: AgentContext, mask: Mask) {
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
  const header = (c.req.header('x-expose-secrets') ?? '').trim().toLowerCase();
  if (header === '') return mask;
  if (header === 'plaintext') return undefined;
  const only = "The only valid value is 'plaintext'.";
  throw refuse(400, `Invalid X-Expose-Secrets header value. ${only}`);
}

const SECRET_URL = /^http:\/\/(?:127\.0\.0\.1|localhost)(?::\d+)?\/.*\/settings\/secrets\/(\w+)$/;

/** The values, also of a LookupSecret of this user. Throws a 400 for another address. */
export function secretValues(
  secrets: Record<string, SecretInput>,
  userStore: AgentContext['userStore'],
): Record<string, string> {
  const valueOf = (secret: SecretInput): string | null | undefined => {
    if (typeof secret === 'string') return secret;
    if (secret.url == null) return secret.value;
    const name = SECRET_URL.exec(secret.url)?.[1] ?? '';
    const own = userSecrets(userStore()).get(name);
    if (own !== undefined) return own.value;
    throw refuse(400, 'A secret can be looked up only among the secrets of this user');
  };
  const values = Object.entries(secrets).map(([name, secret]) => [name, valueOf(secret)] as const);
  return Object.fromEntries(
    values.flatMap(([name, value]) => (value == null ? [] : [[name, value] as const])),
  );
}
