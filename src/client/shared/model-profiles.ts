import { AppError } from '../../base/errors.ts';
import type { ModelChoice, ModelProfile } from '../../domain/settings.ts';
import {
  asList,
  asRecord,
  optionalText,
  optionalTexts,
  requiredText,
} from '../../protocol/shape.ts';
import { refuseIfThere } from './change-routes.ts';
import { errorBy, isMissingRoute, serverText } from '../http/answer.ts';
import { read, type Links } from './links.ts';
import type { Server } from './server.ts';

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

/** @param bodyOf what saves a choice, or the current settings for null */
export function createModelProfiles(
  links: Links,
  root: string,
  bodyOf: (choice: ModelChoice | null, name: string) => object | Promise<object>,
): Server['modelProfiles'] {
  const send = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => {
    const presence = links.facts.features['model-profiles'];
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
  const change = async (path: string, body: object, missing: string) => {
    const answer = await send('POST', path, body);
    const { status } = answer;
    if (status === 404)
      throw errorBy(answer, 'config', missing, {
        hint:
          'set one with acs settings set llm_model=…, or give it: acs settings profile save ' +
          '<name> llm_model=…',
      });
    if (status < 400) return;
    const text = serverText(answer.body) ?? `status ${status}`;
    const kind = status === 409 ? 'conflict' : 'usage';
    throw errorBy(answer, kind, `the server refuses this: ${text}`);
  };
  const list = async () => {
    const answer = await send('GET', root);
    if (answer.status === 404) return [];
    return read(answer, readProfiles);
  };
  const find = async (name: string) => {
    const profile = (await list()).find((each) => each.name === name);
    if (profile !== undefined) return profile;
    throw new AppError('not-found', `the server has no model profile ${name}`, {
      hint: 'list them with: acs settings profile list',
    });
  };
  const pathOf = (name: string) => `${root}/${encodeURIComponent(name)}`;
  return {
    list,
    async save(name, choice) {
      links.network.redaction.add(choice?.api_key);
      await change(
        pathOf(name),
        await bodyOf(choice, name),
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
