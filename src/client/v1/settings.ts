/** Settings of V1 (interface 2.5, 2.6). */
import { AppError } from '../../base/errors.ts';
import { V1_FIELDS } from '../../domain/settings-fields.ts';
import { valueAt } from '../../protocol/settings.ts';
import { readPresence } from '../shared/features.ts';
import type { Links } from '../shared/links.ts';
import { bodyOf, MCP_PATH, nestedSchema, nestedSnapshot } from '../shared/nested-settings.ts';
import type { Server } from '../shared/server.ts';
import { readSettingsRecord, valuesOfApp, writeSettings } from '../shared/settings.ts';
import { createSettingsV0 } from '../v0/settings.ts';

export async function createSettingsV1(links: Links): Promise<Server['settings']> {
  const isAbsent = (await readPresence(links, 'v1-settings')) === 'absent';
  // Where V1 has no route for settings, those of both dialects are at the route of V0.
  if (isAbsent && links.facts.dialects.includes('v0')) return createSettingsV0(links);
  if (isAbsent)
    throw new AppError('unsupported', 'this server has no settings that can be read or written');
  const read: Server['settings']['read'] = async () =>
    nestedSnapshot(await readSettingsRecord(links, 'v1'), V1_FIELDS);
  return {
    read,
    async write(change) {
      const record = await readSettingsRecord(links, 'v1');
      const storedMcp = valueAt(record ?? {}, MCP_PATH) ?? null;
      await writeSettings(links, 'v1', bodyOf(valuesOfApp(change, 'V1', V1_FIELDS, storedMcp)));
      return await read();
    },
    schema: () => nestedSchema(links, 'v1', V1_FIELDS),
  };
}
