/** Named model settings (interface 2.7). */
import { AppError } from '../../base/errors.ts';
import type { ModelProfile } from '../../domain/settings.ts';
import {
  asList,
  asRecord,
  optionalText,
  optionalTexts,
  requiredText,
} from '../../protocol/shape.ts';
import { refuseIfThere } from '../shared/change-routes.ts';
import { type Answer, isMissingRoute, serverText } from '../http/answer.ts';
import { read, type Links } from '../shared/links.ts';
import type { Server } from '../shared/server.ts';

const ROOT = '/api/v1/settings/profiles';

function readProfiles(value: unknown): ModelProfile[] {
  const record = asRecord(value, 'profiles');
  const active = optionalText(record, 'active_profile', 'profiles');
  return asList(record['profiles'], 'profiles').map((item) => {
    const profile = asRecord(item, 'profile');
    const name = requiredText(profile, 'name', 'profile');
    return {
      name,
      ...optionalTexts(profile, ['model', 'base_url'], 'profile'),
      api_key_set: profile['api_key_set'] === true,
      active: name === active,
    };
  });
}

export function createModelProfilesV1(links: Links): Server['modelProfiles'] {
  const send = async (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<Answer> => {
    const presence = links.features.of('model-profiles');
    if (presence !== 'absent') {
      const safe = method === 'GET' ? 'read' : 'idempotent';
      const accept = method === 'POST' ? [400, 404, 405, 409, 422] : [404];
      const answer = await links.app.request({ method, path, safe, accept, ...(body && { body }) });
      if (presence === 'present' || !isMissingRoute(answer)) return answer;
    }
    const message = 'this server has no routes for model profiles';
    throw new AppError('unsupported', message, {
      hint: 'set the model itself with: acs settings set llm_model=…',
    });
  };
  /** @param missing the message where a 404 is about the model */
  const change = async (path: string, body: object, missing: string): Promise<void> => {
    const answer = await send('POST', path, body);
    const { status, request } = answer;
    if (status === 404)
      throw new AppError('config', missing, {
        status,
        request,
        hint:
          'set one with acs settings set llm_model=…, or give it: acs settings profile save ' +
          '<name> llm_model=…',
      });
    if (status < 400) return;
    const text = serverText(answer.body) ?? `status ${status}`;
    const kind = status === 409 ? 'conflict' : 'usage';
    throw new AppError(kind, `the server refuses this: ${text}`, { status, request });
  };
  const list = async (): Promise<ModelProfile[]> => {
    const answer = await send('GET', ROOT);
    // A user without settings has no profiles either.
    if (answer.status === 404) return [];
    return read(answer, readProfiles);
  };
  const find = async (name: string): Promise<ModelProfile> => {
    const found = (await list()).find((profile) => profile.name === name);
    if (found !== undefined) return found;
    throw new AppError('not-found', `the server has no model profile ${name}`, {
      hint: 'list them with: acs settings profile list',
    });
  };
  const pathOf = (name: string): string => `${ROOT}/${encodeURIComponent(name)}`;
  return {
    list,
    async save(name, choice) {
      links.network.redaction.add(choice?.api_key);
      const llm = Object.fromEntries(
        Object.entries(choice ?? {}).filter(([, value]) => value !== null),
      );
      const body =
        choice === null ? {} : { llm, preserve_existing_api_key: choice.api_key === null };
      await change(
        pathOf(name),
        body,
        'no model is set at this server yet, so there is nothing to save',
      );
      return await find(name);
    },
    async use(name) {
      const before = await find(name);
      await change(`${pathOf(name)}/activate`, {}, `the server has no model profile ${name}`);
      return { ...(await find(name)), changed: !before.active };
    },
    async remove(name) {
      const answer = await send('DELETE', pathOf(name));
      await refuseIfThere(answer, `model profile ${name}`, async () => {
        const isListed = (await list()).some((profile) => profile.name === name);
        return isListed ? 'the server still lists it' : null;
      });
    },
  };
}
