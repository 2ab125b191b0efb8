import { recordings } from '../../servers/support/recordings.ts';
import { v1Trap, type V1Trap } from './trap.ts';

export interface SettingsTrap extends V1Trap {
  /** The bodies of the writes of settings. */
  written: unknown[];
}

/** A V1 server that stores settings. */
export async function settingsTrap(): Promise<SettingsTrap> {
  const trap: SettingsTrap = Object.assign(await v1Trap(), { written: [] });
  let stored = recordings('1.11.0').body('settings.get.after-plain') as Record<string, unknown>;
  trap.before = ({ method, path, body }) => {
    if (path !== '/api/v1/settings') return null;
    if (method === 'GET') return { json: stored };
    trap.written.push(body);
    const { conversation_settings_diff, ...plain } = body as Record<string, object>;
    const conversation_settings = { ...(stored['conversation_settings'] as object), ...conversation_settings_diff };
    stored = { ...stored, ...plain, conversation_settings };
    return { json: { message: 'Settings stored' } };
  };
  return trap;
}
