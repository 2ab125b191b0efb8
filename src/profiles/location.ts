import path from 'node:path';

/**
 * The directory of profiles and caches: `$ACS_CONFIG_DIR`, else where conf would put a project `acs` without a suffix:
 * `~/Library/Preferences/acs` on macOS, `%APPDATA%\acs\Config` on Windows, `$XDG_CONFIG_HOME/acs` or `~/.config/acs`
 * elsewhere. Computed here because asking conf means loading it (67 ms).
 * @param env the environment; empty values count as absent
 * @param platform as `process.platform`
 * @param home the user's home directory
 */
export function configDirectory(
  env: Readonly<Record<string, string | undefined>>,
  platform: string,
  home: string,
): string {
  if (env.ACS_CONFIG_DIR) return path.resolve(env.ACS_CONFIG_DIR);
  if (platform === 'darwin') return path.join(home, 'Library', 'Preferences', 'acs');
  if (platform === 'win32') return path.join(env.APPDATA || path.join(home, 'AppData', 'Roaming'), 'acs', 'Config');
  // The XDG specification says that a relative path is to be ignored.
  const configHome = env.XDG_CONFIG_HOME;
  return path.join(configHome && path.isAbsolute(configHome) ? configHome : path.join(home, '.config'), 'acs');
}
