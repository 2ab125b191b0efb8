/** The port to this machine (machine.ts), from the process. */
import { isAppError } from '../errors.ts';
import type { Machine } from '../machine.ts';
import { withoutKeys } from '../text/key-variables.ts';
import type { Platform } from './platform.ts';
import { configDirectory } from './targets.ts';

export function createMachine(platform: Platform, acsVersion: string): Machine {
  return {
    platform: platform.platform,
    nodeVersion: process.versions.node,
    acsVersion,
    home: platform.home,
    configDir: configDirectory(platform),
    userId: process.getuid?.() ?? null,
    async gitVersion() {
      const { git } = await import('../checkout/git.ts');
      try {
        const { cwd, env, signal } = platform;
        const { stdout } = await git(['--version'], { cwd, env: withoutKeys(env), signal });
        return stdout.trim().replace(/^git version /, '');
      } catch (error) {
        if (isAppError(error) && error.kind === 'config') return null;
        throw error;
      }
    },
  };
}
