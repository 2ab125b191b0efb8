import path from 'node:path';

export interface UserFolders {
  env: NodeJS.ProcessEnv;
  platform: string;
  home: string;
}

/** The path of conf for `acs`: loading conf to find it would take 67 ms. */
export function configDirectory({ env, platform, home }: UserFolders): string {
  if (env.ACS_CONFIG_DIR) return path.resolve(env.ACS_CONFIG_DIR);
  if (platform === 'darwin') return path.join(home, 'Library', 'Preferences', 'acs');
  if (platform === 'win32')
    return path.join(env.APPDATA || path.join(home, 'AppData', 'Roaming'), 'acs', 'Config');
  // The XDG specification requires that a relative path is ignored.
  const configHome = env.XDG_CONFIG_HOME;
  return path.join(
    configHome && path.isAbsolute(configHome) ? configHome : path.join(home, '.config'),
    'acs',
  );
}
