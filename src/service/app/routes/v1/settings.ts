/** Settings and their schemas (interface sections 2.5, 2.6 and the user of 2.8). */
import { dictionary } from '../../../../protocol/detail.ts';
import { HttpError, invalid, json, refuse } from '../../../http/answer.ts';
import { readJson } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { AGENT_FIELDS, CONVERSATION_FIELDS, schemaOf } from '../../settings/fields.ts';
import { MASK } from '../../settings/mcp.ts';
import { leaveActiveProfile, profileConfig, readProfiles } from '../../settings/profiles.ts';
import { providerHostsOf } from '../../settings/providers.ts';
import { emptySettings, readSettings, writeSettings } from '../../settings/record.ts';
import { mergedV1, shownAsUser, shownV1, type ShownContext } from '../../settings/v1.ts';
import type { JsonObject } from '../../settings/json.ts';

export function settingsHandlers(context: AppContext): Handlers<AppRoute> {
  const { documents } = context.store;
  return {
    'GET /api/v1/settings': () => {
      const settings = readSettings(documents);
      if (settings === null) throw new HttpError(404, { error: 'Settings not found' });
      return json(shownV1(settings, surroundings(context)));
    },
    'POST /api/v1/settings': async (c) => {
      const given = (await readJson(c, dictionary())) as JsonObject;
      const merged = mergedV1(readSettings(documents) ?? emptySettings(), given);
      if (merged.ok) {
        writeSettings(documents, merged.settings);
        leaveActiveProfile(documents, merged.settings);
        return json({ message: 'Settings stored' });
      }
      if ('detail' in merged) throw invalid(merged.detail);
      const { ok: _, status, ...body } = merged;
      throw new HttpError(status, body);
    },
    'GET /api/v1/settings/agent-schema': () => json(schemaOf('AgentSettings', AGENT_FIELDS, 'openhands')),
    'GET /api/v1/settings/conversation-schema': () => json(schemaOf('ConversationSettings', CONVERSATION_FIELDS, null)),
    'GET /api/v1/users/me': (c) => {
      // The secrets require the key of a sandbox, which this service does not accept here.
      if (c.req.query('expose_secrets') === 'true') throw refuse(401, 'Invalid session API key');
      return json(shownAsUser(readSettings(documents) ?? emptySettings(), surroundings(context, MASK)));
    },
  };
}

function surroundings({ store, clock }: AppContext, mask: typeof MASK | null = null): ShownContext {
  const { profiles, active } = readProfiles(store.documents);
  const shown = Object.entries(profiles).map(([name, llm]) => [name, profileConfig(llm, mask)]);
  return {
    providers: providerHostsOf(store.documents),
    profiles: { profiles: Object.fromEntries(shown) as JsonObject, active },
    now: clock.stamp(),
  };
}
