/** Settings and what they may hold (interface sections 2.5, 2.6 and the user of 2.8). */
import { dictionary } from '../../../../protocol/detail.ts';
import { HttpAnswer, json, readJson, refuse, refuseDetail } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { AGENT_FIELDS, CONVERSATION_FIELDS, schemaOf } from '../../settings/fields.ts';
import { MASK } from '../../settings/mcp.ts';
import { leaveActiveProfile, profileConfig, readProfiles } from '../../settings/profiles.ts';
import { connectedForgejo, providerHostsOf } from '../../settings/providers.ts';
import { emptySettings, readSettings, writeSettings } from '../../settings/record.ts';
import { mergedV1, shownAsUser, shownV1, type ShownContext } from '../../settings/v1.ts';
import { answered } from '../providers.ts';
import type { Route } from '../../route.ts';
import type { JsonObject } from '../../settings/json.ts';

export function settingsRoutes(context: AppContext): Route[] {
  const { documents } = context.store;
  return [
    {
      method: 'GET',
      path: '/api/v1/settings',
      handle: () => {
        const settings = readSettings(documents);
        if (settings === null) throw new HttpAnswer(404, { error: 'Settings not found' });
        return json(shownV1(settings, surroundings(context)));
      },
    },
    {
      method: 'POST',
      path: '/api/v1/settings',
      handle: async (c) => {
        const given = (await readJson(c, dictionary())) as JsonObject;
        const merged = mergedV1(readSettings(documents) ?? emptySettings(), given);
        if (merged.ok) {
          writeSettings(documents, merged.settings);
          leaveActiveProfile(documents, merged.settings);
          return json({ message: 'Settings stored' });
        }
        if ('detail' in merged) throw refuseDetail(merged.detail);
        const { ok: _, status, ...body } = merged;
        throw new HttpAnswer(status, body);
      },
    },
    {
      method: 'GET',
      path: '/api/v1/settings/agent-schema',
      handle: () => json(schemaOf('AgentSettings', AGENT_FIELDS, 'openhands')),
    },
    {
      method: 'GET',
      path: '/api/v1/settings/conversation-schema',
      handle: () => json(schemaOf('ConversationSettings', CONVERSATION_FIELDS, null)),
    },
    {
      method: 'GET',
      path: '/api/v1/users/me',
      handle: (c) => {
        // Only a sandbox may ask for the secrets, with a key that this service does not take here.
        if (c.req.query('expose_secrets') === 'true') throw refuse(401, 'Invalid session API key');
        return json(shownAsUser(readSettings(documents) ?? emptySettings(), surroundings(context, MASK)));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/users/git-info',
      handle: async () => {
        const forgejo = connectedForgejo(documents);
        if (forgejo === null) throw refuse(403, 'Git provider not connected');
        return json(await answered(forgejo.user()));
      },
    },
  ];
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
