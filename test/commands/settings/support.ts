/** The settings of a real service, whose requests a proxy records. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { useProxiedWorld, type ProxiedWorld } from '../../support/proxied-world.ts';

/** Which routes the service has, and which member of the body a changed setting is found in. */
export const DIALECTS = [
  {
    api: 'v0' as const,
    route: '/api/settings',
    read: (body: Record<string, unknown>) => body['max_iterations'],
  },
  {
    api: 'v1' as const,
    route: '/api/v1/settings',
    read: (body: Record<string, unknown>) =>
      (body['conversation_settings_diff'] as Record<string, unknown> | undefined)?.['max_iterations'],
  },
];

export interface SettingsWorld extends Pick<ProxiedWorld, 'world' | 'proxy' | 'acs'> {
  /** What `settings get --json` prints. */
  settings: () => Promise<Record<string, unknown>>;
  /** Writes a file into the folder of the world; its name. */
  file: (name: string, content: string) => Promise<string>;
}

export function useSettings(api: 'v0' | 'v1'): SettingsWorld {
  const at = useProxiedWorld('settings', { api, spec: 'process' });
  return {
    get world() {
      return at.world;
    },
    get proxy() {
      return at.proxy;
    },
    acs: at.acs,
    async settings() {
      const { code, out, err } = await at.acs('get', '--json');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      return JSON.parse(out) as Record<string, unknown>;
    },
    async file(name, content) {
      await writeFile(path.join(at.world.dir, name), content);
      return name;
    },
  };
}
