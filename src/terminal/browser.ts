/**
 * The user's browser. Its program gets the environment without the keys of servers; the package `open` passes on the whole
 * environment of the process.
 */
import { spawn } from 'node:child_process';
import { withoutKeys } from '../text/key-variables.ts';
import { splitCommand } from './editor.ts';

export interface BrowserOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** As `process.platform`. */
  platform: string;
}

/**
 * Opens an address in $BROWSER, else in the browser of the desktop, and does not wait for its end.
 * @returns false when there is none: no desktop, or no program that can be started
 */
export async function openInBrowser(url: string, options: BrowserOptions): Promise<boolean> {
  for (const command of commandsFor(url, options)) if (await start(command, options.env)) return true;
  return false;
}

function commandsFor(url: string, { env, platform }: BrowserOptions): string[][] {
  // A list of commands with colons between them; `%s` stands for the address.
  const set = (env.BROWSER ?? '').split(':').flatMap((command) => {
    const words = splitCommand(command, platform);
    if (words.length === 0) return [];
    return [command.includes('%s') ? words.map((word) => word.replaceAll('%s', url)) : [...words, url]];
  });
  return [...set, ...ofDesktop(url, { env, platform })];
}

function ofDesktop(url: string, { env, platform }: BrowserOptions): string[][] {
  if (platform === 'darwin') return [['open', url]];
  if (platform === 'win32') return [['rundll32', 'url.dll,FileProtocolHandler', url]];
  const hasDesktop = Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
  return hasDesktop
    ? [
        ['xdg-open', url],
        ['wslview', url],
      ]
    : [];
}

/** False when the program cannot be started. */
function start([program = '', ...args]: string[], env: BrowserOptions['env']): Promise<boolean> {
  return new Promise((resolve) => {
    // In a process group of its own: Ctrl-C on the terminal does not end it.
    const child = spawn(program, args, { stdio: 'ignore', detached: true, env: withoutKeys(env) });
    child.once('error', () => {
      resolve(false);
    });
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
