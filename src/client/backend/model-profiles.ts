/** Model profiles of an agent server (interface 14.3): a save sends the whole model. */
import { isRecord } from '../../protocol/shape.ts';
import { chosenModel, createModelProfiles } from '../shared/model-profiles.ts';
import type { Links } from '../shared/links.ts';
import type { Server } from '../shared/server.ts';
import { agentSettingsOf, readEncrypted } from './settings.ts';

const ROOT = '/api/profiles';

export function createBackendProfiles(links: Links): Server['modelProfiles'] {
  return createModelProfiles(links, {
    root: ROOT,
    async bodyOf(choice, name) {
      if (choice === null) {
        const { body } = await readEncrypted(links, '/api/settings');
        return { llm: agentSettingsOf(body)['llm'] };
      }
      const key = choice.api_key ?? (await encryptedKey(links, name));
      return { llm: { ...chosenModel(choice), ...(key !== null && { api_key: key }) } };
    },
  });
}

/** Null for a profile that is not there, and for one without a key. */
async function encryptedKey(links: Links, name: string): Promise<string | null> {
  // A name that the server refuses is an error of the save.
  const accept = [404, 422];
  const { body } = await readEncrypted(links, `${ROOT}/${encodeURIComponent(name)}`, { accept });
  const config = isRecord(body) ? body['config'] : null;
  const key = isRecord(config) ? config['api_key'] : null;
  return typeof key === 'string' ? key : null;
}
