/** Named model settings (interface 2.7). */
import { AppError } from '../../errors.ts';
import type { ModelProfile } from '../../domain/model-profile.ts';
import { asList, asRecord, isRecord, optionalText, requiredText } from '../../protocol/shape.ts';
import { isMissingRoute } from '../features.ts';
import { read, type Links } from '../links.ts';
import type { ProbeFacts } from '../probe.ts';
import type { Server } from '../server.ts';
import { serverText, type Answer } from '../transport/answer.ts';

const ROOT = '/api/v1/settings/profiles';

export function createModelProfilesV1(links: Links, facts: ProbeFacts): Server['modelProfiles'] {
  const pathOf = (name: string): string => `${ROOT}/${encodeURIComponent(name)}`;
  const refuseMissing = (): void => {
    if (facts.features['model-profiles'] === 'absent') throw lacksModelProfiles();
  };
  /** Without a document a route that is missing shows so only here. */
  const refuseMissingRoute = (answer: Answer): void => {
    if (facts.features['model-profiles'] !== 'present' && isMissingRoute(answer)) throw lacksModelProfiles();
  };
  const list = async (): Promise<ModelProfile[]> => {
    refuseMissing();
    const answer = await links.app.request({ method: 'GET', path: ROOT, safe: 'read', accept: [404] });
    refuseMissingRoute(answer);
    // A user without settings has no profiles either.
    if (answer.status === 404) return [];
    return read(answer, readProfiles);
  };
  const known = async (name: string): Promise<ModelProfile> => {
    const found = (await list()).find((profile) => profile.name === name);
    if (found === undefined) throw noProfile(name);
    return found;
  };
  /** A call to a profile that a dry run looks for itself; else the server answers 404. */
  const postTo = async (name: string, verb: string, body: Record<string, unknown>): Promise<Answer> => {
    if (links.mode === 'dry-run') await known(name);
    return await post(`${pathOf(name)}/${verb}`, body);
  };
  const post = async (path: string, body: Record<string, unknown>): Promise<Answer> => {
    const accept = [400, 404, 405, 409, 422];
    const answer = await links.app.request({ method: 'POST', path, body, safe: 'idempotent', accept });
    refuseMissingRoute(answer);
    return answer;
  };
  return {
    list,
    async get(name) {
      const profile = await known(name);
      const answer = await links.app.request({ method: 'GET', path: pathOf(name), safe: 'read', accept: [404] });
      if (answer.status === 404) throw noProfile(name);
      const config = isRecord(answer.body) && isRecord(answer.body['config']) ? answer.body['config'] : {};
      return { ...profile, config: links.network.redaction.value(config) };
    },
    async save(name, choice) {
      refuseMissing();
      links.network.redaction.add(choice?.api_key);
      const answer = await post(pathOf(name), choice === null ? {} : bodyOf(choice));
      if (answer.status === 404) throw nothingToSave(answer);
      if (answer.status >= 400) throw refused(answer);
      return await known(name);
    },
    async use(name) {
      refuseMissing();
      const answer = await postTo(name, 'activate', {});
      if (answer.status === 404) throw noProfile(name);
      if (answer.status >= 400) throw refused(answer);
      return await known(name);
    },
    async rename(name, newName) {
      refuseMissing();
      const answer = await postTo(name, 'rename', { new_name: newName });
      if (answer.status === 404) throw noProfile(name);
      if (answer.status >= 400) throw refused(answer);
      return await known(newName);
    },
    async remove(name) {
      // The server answers 200 for any name.
      await known(name);
      await links.app.request({ method: 'DELETE', path: pathOf(name), safe: 'idempotent', accept: [404] });
    },
  };
}

export function lacksModelProfiles(): AppError {
  return new AppError('unsupported', 'this server keeps no model profiles; the local service and newer V1 servers do', {
    hint: 'set the model itself with: acs settings set llm_model=…',
  });
}

function bodyOf(choice: { model: string; base_url: string | null; api_key: string | null }): Record<string, unknown> {
  const llm = Object.fromEntries(Object.entries(choice).filter(([, value]) => value !== null));
  return { llm, preserve_existing_api_key: choice.api_key === null };
}

function readProfiles(body: unknown): ModelProfile[] {
  const record = asRecord(body, 'profiles');
  const active = optionalText(record, 'active_profile', 'profiles');
  return asList(record['profiles'], 'profiles').map((value): ModelProfile => {
    const profile = asRecord(value, 'profile');
    const name = requiredText(profile, 'name', 'profile');
    return {
      name,
      model: optionalText(profile, 'model', 'profile'),
      base_url: optionalText(profile, 'base_url', 'profile'),
      api_key_set: profile['api_key_set'] === true,
      active: name === active,
    };
  });
}

function noProfile(name: string): AppError {
  return new AppError('not-found', `there is no model profile ${name.slice(0, 64)} at this server`, {
    hint: 'list them with: acs settings profile list',
  });
}

function nothingToSave(answer: Answer): AppError {
  return new AppError('config', 'no model is set at this server yet, so there is nothing to save', {
    status: answer.status,
    request: answer.request,
    hint: 'set one with acs settings set llm_model=…, or give it: acs settings profile save <name> llm_model=…',
  });
}

function refused(answer: Answer): AppError {
  const text = serverText(answer.body) ?? `status ${answer.status}`;
  return new AppError(answer.status === 409 ? 'conflict' : 'usage', `the server refuses this: ${text}`, {
    status: answer.status,
    request: answer.request,
  });
}
