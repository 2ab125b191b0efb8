/**
 * From flags, variables and profiles to a server and its key: the side effects of profiles/, given the platform.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import type { NewKey, ResolvedTarget, StoredProfiles, TargetPlan, TargetQuery } from '../profiles/resolve.ts';
import { withoutKeys } from '../text/key-variables.ts';
import type { Platform } from './platform.ts';

export interface Targets {
  /** One plan for each active profile; reads the store when the answer depends on it, and nothing else. */
  plans(): Promise<TargetPlan[]>;
  /** The single target; throws `usage` for a list of profiles. */
  plan(): Promise<TargetPlan>;
  /**
   * Fetches the key; for `local` only what runs now is looked at.
   * @param signal ends a command that prints the key; default: the signal of the run
   */
  fill(plan: TargetPlan, signal?: AbortSignal): Promise<ResolvedTarget>;
  /** A key that belongs to no server yet. */
  newKey(from: NewKey): Promise<string | null>;
}

export function createTargets(platform: Platform, context: Context): Targets {
  const query = (): TargetQuery => ({
    profile: context.globals.profile,
    baseUrl: context.globals.baseUrl,
    apiKeyFile: context.globals.apiKeyFile,
    env: platform.env,
    offTerminal: context.offTerminal,
  });
  const load = async (): Promise<StoredProfiles> => {
    const store = await context.profiles();
    return { profiles: await store.list(), defaultName: await store.defaultName() };
  };
  const readers = (signal = platform.signal) => ({
    readFile: (file: string) => readFile(path.resolve(platform.cwd, file)),
    readStdin: () => platform.io.stdin.readAll(),
    runCommand: (command: string) => runCommand(platform, context, command, signal),
  });
  return {
    async plans() {
      const { planTargets } = await import('../profiles/resolve.ts');
      return await planTargets(query(), load);
    },
    async plan() {
      const { planTarget } = await import('../profiles/resolve.ts');
      return await planTarget(query(), load);
    },
    async fill(plan, signal) {
      const { fillTarget } = await import('../profiles/key.ts');
      return await fillTarget(plan, {
        ...readers(signal),
        local: async () => (await context.localService()).running(),
      });
    },
    async newKey(from) {
      const { fetchKey } = await import('../profiles/key.ts');
      return (await fetchKey(from, readers()))?.value ?? null;
    },
  };
}

async function runCommand(platform: Platform, context: Context, command: string, signal: AbortSignal): Promise<string> {
  const { runKeyCommand } = await import('../profiles/key-command.ts');
  return await runKeyCommand(command, {
    cwd: platform.cwd,
    env: withoutKeys(platform.env, command),
    signal,
    report: (line) => void context.notice(line).catch(() => undefined),
  });
}

/**
 * The directory of profiles and caches: `$ACS_CONFIG_DIR`, else where conf would put a project `acs` without a suffix:
 * `~/Library/Preferences/acs` on macOS, `%APPDATA%\acs\Config` on Windows, `$XDG_CONFIG_HOME/acs` or `~/.config/acs`
 * elsewhere. Computed here because asking conf means loading it (67 ms). Empty variables count as absent.
 */
export function configDirectory({ env, platform, home }: Pick<Platform, 'env' | 'platform' | 'home'>): string {
  if (env.ACS_CONFIG_DIR) return path.resolve(env.ACS_CONFIG_DIR);
  if (platform === 'darwin') return path.join(home, 'Library', 'Preferences', 'acs');
  if (platform === 'win32') return path.join(env.APPDATA || path.join(home, 'AppData', 'Roaming'), 'acs', 'Config');
  // The XDG specification requires that a relative path is ignored.
  const configHome = env.XDG_CONFIG_HOME;
  return path.join(configHome && path.isAbsolute(configHome) ? configHome : path.join(home, '.config'), 'acs');
}
