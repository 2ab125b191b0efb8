/** Settings of V0 (interface 2.1, 2.2): a write replaces the whole object. */
import { MCP_CONFIG } from '../../domain/mcp-config.ts';
import { V0_FIELDS } from '../../domain/settings-fields.ts';
import type { Links } from '../shared/links.ts';
import type { Server } from '../shared/server.ts';
import { readSettingsRecord, snapshotOf, valuesOfApp, writeSettings } from '../shared/settings.ts';

/** No settings, and keys, whose null stands for a value that is kept when it is left out. */
const NOT_SENT_BACK = /^(secrets_store|\w+_set|\w+_api_key)$/;

export function createSettingsV0(links: Links): Server['settings'] {
  const read: Server['settings']['read'] = async () => {
    const record = await readSettingsRecord(links, 'v0');
    return snapshotOf(record, V0_FIELDS, ({ name }) => record?.[name]);
  };
  return {
    read,
    async write(change) {
      const record = await readSettingsRecord(links, 'v0');
      if (!('sandbox_api_key' in change.set) && record !== null) {
        links.notice(
          'V0 servers do not report whether sandbox_api_key is set, and drop it with every ' +
            'write: set it again if it was set',
        );
      }
      const stored = Object.entries(record ?? {}).filter(([name]) => !NOT_SENT_BACK.test(name));
      const values = valuesOfApp(change, 'V0', V0_FIELDS, record?.[MCP_CONFIG] ?? null);
      await writeSettings(links, 'v0', Object.fromEntries([...stored, ...values]));
      return await read();
    },
    schema: () => Promise.resolve([...V0_FIELDS]),
  };
}
