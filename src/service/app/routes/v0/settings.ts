/** The flat settings (interface sections 2.1 and 2.2). */
import { settings as settingsSchema } from '../../../../protocol/v0/requests.ts';
import { HttpAnswer, json, readJson } from '../../../http/request.ts';
import type { AppContext } from '../../context.ts';
import { leaveActiveProfile } from '../../settings/profiles.ts';
import { providerHostsOf } from '../../settings/providers.ts';
import { emptySettings, readSettings, writeSettings } from '../../settings/record.ts';
import { replacedV0, shownV0 } from '../../settings/v0.ts';
import type { Route } from '../../route.ts';

export function settingsRoutes({ store }: AppContext): Route[] {
  const { documents } = store;
  return [
    {
      method: 'GET',
      path: '/api/settings',
      handle: () => {
        const settings = readSettings(documents);
        if (settings === null) throw new HttpAnswer(404, { error: 'Settings not found' });
        return json(shownV0(settings, providerHostsOf(documents)));
      },
    },
    {
      method: 'POST',
      path: '/api/settings',
      handle: async (c) => {
        const given = await readJson(c, settingsSchema);
        const settings = replacedV0(readSettings(documents) ?? emptySettings(), given);
        writeSettings(documents, settings);
        leaveActiveProfile(documents, settings);
        return json({ message: 'Settings stored' });
      },
    },
  ];
}
