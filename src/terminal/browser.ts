/** Not the package `open`: it passes the environment with the keys of servers on. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { withoutKeys } from '../base/text/secret-names.ts';
import { splitCommand } from './editor.ts';

export interface BrowserOptions {
  env: NodeJS.ProcessEnv;
  platform: string;
}

export async function openInBrowser(
  url: string,
  { env, platform }: BrowserOptions,
): Promise<boolean> {
  // A list of commands with colons between them; `%s` stands for the address.
  const commands = (env.BROWSER ?? '').split(':').flatMap((command) => {
    const words = splitCommand(command, platform);
    if (words.length === 0) return [];
    return [
      command.includes('%s') ? words.map((word) => word.replaceAll('%s', url)) : [...words, url],
    ];
  });
  const hasDesktop = Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
  if (platform === 'darwin') commands.push(['open', url]);
  else if (platform === 'win32') commands.push(['rundll32', 'url.dll,FileProtocolHandler', url]);
  else if (hasDesktop) commands.push(['xdg-open', url], ['wslview', url]);
  for (const command of commands) if (await start(command, env)) return true;
  return false;
}

async function start(
  [program = '', ...args]: string[],
  env: BrowserOptions['env'],
): Promise<boolean> {
  // In a process group of its own: Ctrl-C on the terminal does not end it.
  const child = spawn(program, args, { stdio: 'ignore', detached: true, env: withoutKeys(env) });
  child.unref();
  return await once(child, 'spawn').then(
    () => true,
    () => false,
  );
}
