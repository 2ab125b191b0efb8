/** The fields in the schemas of a V1 server (interface 2.5, agent-schema and conversation-schema). */
import { V1_PATHS } from '../../domain/settings-merge.ts';
import type { JsonValue, SettingsField } from '../../domain/settings.ts';
import { isRecord } from '../../protocol/shape.ts';
import type { Links } from '../links.ts';

const FLAT = new Set(Object.values(V1_PATHS).map((path) => path.join('.')));
const TYPES: Record<string, SettingsField['type']> = {
  string: 'string',
  integer: 'integer',
  number: 'number',
  float: 'number',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
};

/** Dotted fields that have no flat name; none where the server has no such route. */
export async function schemaFieldsV1(links: Links): Promise<SettingsField[]> {
  const [agent, conversation] = await Promise.all([
    sections(links, '/api/v1/settings/agent-schema', 'agent_settings'),
    sections(links, '/api/v1/settings/conversation-schema', 'conversation_settings'),
  ]);
  return [...agent, ...conversation].filter((field) => !FLAT.has(field.name));
}

async function sections(links: Links, path: string, prefix: string): Promise<SettingsField[]> {
  const answer = await links.app.request({ method: 'GET', path, safe: 'read', accept: [404, 405] });
  if (answer.status !== 200 || !isRecord(answer.body) || !Array.isArray(answer.body['sections'])) return [];
  const fields = answer.body['sections'].flatMap((section: unknown): unknown[] =>
    isRecord(section) && Array.isArray(section['fields']) ? section['fields'] : [],
  );
  return fields.flatMap((item) => toField(item, prefix));
}

function toField(item: unknown, prefix: string): SettingsField[] {
  if (!isRecord(item) || typeof item['key'] !== 'string') return [];
  const choices = Array.isArray(item['choices'])
    ? item['choices'].map((choice: unknown) => (isRecord(choice) ? String(choice['value']) : String(choice)))
    : [];
  const description = typeof item['description'] === 'string' ? item['description'] : String(item['label'] ?? '');
  return [
    {
      name: `${prefix}.${item['key']}`,
      type: TYPES[String(item['value_type'])] ?? 'string',
      nullable: item['required'] !== true,
      secret: item['secret'] === true,
      default: (item['default'] ?? null) as JsonValue,
      choices: choices.length > 0 ? choices : null,
      minimum: null,
      maximum: null,
      description,
    },
  ];
}
