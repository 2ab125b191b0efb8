/** The flat settings of V0, its secrets, and the tokens of git providers (interface sections 2.1 to 2.4). */
import { gitProviders, secretCreate, settings as settingsSchema } from '../../../../protocol/v0/requests.ts';
import { HttpError, json } from '../../../http/answer.ts';
import { readJson } from '../../../http/request.ts';
import type { Handlers } from '../../../http/router.ts';
import type { AppRoute } from '../../../served-routes.ts';
import type { AppContext } from '../../context.ts';
import { leaveActiveProfile } from '../../settings/profiles.ts';
import { providerHostsOf, replaceProviders, storeProviders } from '../../settings/providers.ts';
import { emptySettings, readSettings, writeSettings } from '../../settings/record.ts';
import { replacedV0, shownV0 } from '../../settings/v0.ts';

export function settingsHandlersV0({ store: { documents, secrets } }: AppContext): Handlers<AppRoute> {
  return {
    'GET /api/settings': () => {
      const settings = readSettings(documents);
      if (settings === null) throw new HttpError(404, { error: 'Settings not found' });
      return json(shownV0(settings, providerHostsOf(documents)));
    },
    'POST /api/settings': async (c) => {
      const given = await readJson(c, settingsSchema);
      const settings = replacedV0(readSettings(documents) ?? emptySettings(), given);
      writeSettings(documents, settings);
      leaveActiveProfile(documents, settings);
      return json({ message: 'Settings stored' });
    },
    'GET /api/secrets': () => json({ custom_secrets: secrets.list() }),
    'POST /api/secrets': async (c) => {
      const body = await readJson(c, secretCreate);
      if (secrets.get(body.name) !== null) throw new HttpError(400, { message: `Secret ${body.name} already exists` });
      secrets.put(body.name, body.value, body.description ?? '');
      return json({ message: 'Secret created successfully' }, 201);
    },
    'DELETE /api/secrets/{secret_id}': (c) => {
      const id = c.req.param('secret_id') ?? '';
      if (!secrets.remove(id)) throw new HttpError(404, { error: `Secret with ID ${id} not found` });
      return json({ message: 'Secret deleted successfully' });
    },
    'POST /api/add-git-providers': async (c) => {
      const { provider_tokens: tokens } = await readJson(c, gitProviders);
      await storeProviders(documents, tokens ?? {}, (error) => new HttpError(401, { error }));
      return json({ message: 'Git providers stored' });
    },
    'POST /api/unset-provider-tokens': () => {
      replaceProviders(documents, {});
      return json({ message: 'Unset Git provider tokens' });
    },
  };
}
