/** Settings and model profiles of an agent server (interface 14.3). */
import { mcpPatch } from '../../domain/mcp-config.ts';
import { V1_FIELDS } from '../../domain/settings-fields.ts';
import type { JsonValue, SettingsSnapshot } from '../../domain/settings.ts';
import { valueAt } from '../../protocol/settings.ts';
import { isRecord, member, withoutNull } from '../../protocol/shape.ts';
import { AppError } from '../../base/errors.ts';
import { reasonOf, type Answer } from '../http/answer.ts';
import type { CallOptions } from '../http/call.ts';
import type { Links } from '../shared/links.ts';
import { createModelProfiles } from '../shared/model-profiles.ts';
import {
  bodyOf,
  MCP_PATH,
  nestedSchema,
  nestedSnapshot,
  pathOf,
} from '../shared/nested-settings.ts';
import type { Server } from '../shared/server.ts';
import { readSettingsRecord, valuesToWrite, writeSettings } from '../shared/settings.ts';

const FIELDS = V1_FIELDS.filter(({ path }) => path !== undefined);

/** A write merges, and null resets a member. */
export function createBackendSettings(links: Links): Server['settings'] {
  const read = async (): Promise<SettingsSnapshot> => {
    const { values, secrets } = nestedSnapshot(await readSettingsRecord(links, 'agent'), FIELDS);
    // A stored secret is always masked.
    const states = Object.entries(secrets).map(
      ([name, state]) => [name, state === 'set' ? state : 'unset'] as const,
    );
    return { values, secrets: Object.fromEntries(states) };
  };
  return {
    read,
    async write(change) {
      const stored = valueAt((await readSettingsRecord(links, 'agent')) ?? {}, MCP_PATH) ?? null;
      const values = valuesToWrite(change, cleared, (value) => mcpPatch(value, stored));
      await writeSettings(links, 'agent', bodyOf(values));
      return await read();
    },
    schema: () => nestedSchema(links, 'agent', FIELDS),
  };
}

/** Null resets what is below `agent_settings`, and is a wrong value elsewhere. */
function cleared(name: string): JsonValue {
  const path = pathOf(name);
  if (path === 'agent_settings.llm.model')
    throw new AppError('unsupported', `this server cannot unset ${name}; set it to a value`);
  if (path.startsWith('agent_settings.')) return null;
  return FIELDS.find((field) => field.name === name)?.default ?? null;
}

export function agentSettingsOf(body: unknown): Record<string, unknown> {
  const settings = member(body, 'agent_settings');
  if (isRecord(settings)) return settings;
  throw new AppError('server', 'unexpected response: settings has no agent_settings');
}

/** Throws `unsupported` where the server cannot encrypt what it would have to send. */
export async function readEncrypted(
  links: Links,
  path: string,
  options: Omit<CallOptions, 'path'> = {},
): Promise<Answer> {
  const { accept = [] } = options;
  const call = { ...options, path, headers: { 'x-expose-secrets': 'encrypted' } };
  const answer = await links.app.request({ ...call, accept: [...accept, 503] });
  if (answer.status !== 503) return answer;
  if (!reasonOf(answer).startsWith('Encryption not available'))
    return await links.app.request(call);
  throw new AppError(
    'unsupported',
    'this server cannot encrypt its settings, which a start takes: it has no secret key',
    {
      hint:
        'set OH_SECRET_KEY where the server starts\n' +
        'or name an agent profile: --body <file> with {"agent_profile_id": "…"}; list them: acs ' +
        'api GET /api/agent-profiles',
    },
  );
}

const PROFILES = '/api/profiles';

/** A save sends the whole model. */
export function createBackendProfiles(links: Links): Server['modelProfiles'] {
  return createModelProfiles(links, PROFILES, async (choice, name) => {
    if (choice === null) {
      const { body } = await readEncrypted(links, '/api/settings');
      return { llm: agentSettingsOf(body)['llm'] };
    }
    const key = choice.api_key ?? (await encryptedKey(links, name));
    return { llm: { ...withoutNull(choice), ...(key !== null && { api_key: key }) } };
  });
}

/** Null for a profile that is not there, and for one without a key. */
async function encryptedKey(links: Links, name: string): Promise<string | null> {
  // A name that the server refuses is an error of the save.
  const accept = [404, 422];
  const { body } = await readEncrypted(links, `${PROFILES}/${encodeURIComponent(name)}`, {
    accept,
  });
  const key = member(body, 'config', 'api_key');
  return typeof key === 'string' ? key : null;
}
