import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const WITHOUT =
  'run commands with your own rights, and confirm each: acs conv new … --spec process ' +
  '--confirm always';

const INSTALLERS = {
  'apt-get': 'sudo apt-get install bubblewrap',
  dnf: 'sudo dnf install bubblewrap',
  pacman: 'sudo pacman -S bubblewrap',
  zypper: 'sudo zypper install bubblewrap',
  apk: 'apk add bubblewrap util-linux',
  'nix-env': 'nix-env -iA nixpkgs.bubblewrap',
};

/** Settings of the kernel that forbid user namespaces, with the value that permits them. */
const SYSCTLS = [
  ['kernel.apparmor_restrict_unprivileged_userns', '1', '0'],
  ['kernel.unprivileged_userns_clone', '0', '1'],
  ['user.max_user_namespaces', '0', '15000'],
] as const;

/** What this machine offers, and the way without isolation. */
export function isolationHint(platform: string, why: string, searchPath = ''): string {
  const ways = platform === 'linux' ? linuxWay(why, searchPath) : 'bubblewrap requires Linux';
  return `${ways}\n${WITHOUT}`;
}

function linuxWay(why: string, searchPath: string): string {
  if (why.includes('not installed')) {
    const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
    const found = Object.entries(INSTALLERS).find(([name]) =>
      folders.some((folder) => existsSync(path.join(folder, name))),
    );
    return found?.[1] ?? 'install bubblewrap, and unshare of util-linux';
  }
  const closed = SYSCTLS.find(([name, value]) => sysctl(name) === value);
  if (closed !== undefined) return `sudo sysctl -w ${closed[0]}=${closed[2]}`;
  return 'permit user namespaces to this user; in a container that is its seccomp profile';
}

function sysctl(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return null;
  }
}
