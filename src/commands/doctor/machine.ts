/** Checks of this machine: the local service and its isolation, the programs that acs uses, shell completion. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Check, Finding } from './check.ts';
import { targetOrNull } from './config.ts';
import type { Subject } from './subject.ts';

const localService: Check = {
  id: 'local-service',
  needs: [],
  async run({ ctx, machine: { platform, acsVersion } }) {
    if (platform === 'win32') return { status: 'skip', text: 'the local service does not run on Windows' };
    const status = await (await ctx.localService()).status();
    const { running, url, pid, version, data_dir } = status;
    const data = { running, url, pid, version, data_dir };
    if (!status.running) {
      return { status: 'pass', text: `not running; its data is in ${data_dir}`, data };
    }
    const text = `${url} (pid ${pid}, version ${version}), data in ${data_dir}`;
    if (status.sandboxes_running === null) {
      return { status: 'warn', text: `${text}; it does not answer`, hint: 'see its log: acs serve --logs', data };
    }
    if (version !== acsVersion) {
      const hint = 'it is replaced once it is idle; at once: acs serve --stop';
      return { status: 'warn', text: `${text}; acs has version ${acsVersion}`, hint, data };
    }
    return { status: 'pass', text, data };
  },
};

const isolation: Check = {
  id: 'isolation',
  needs: [],
  async run(subject) {
    const { ctx, machine } = subject;
    if (machine.platform === 'win32') return { status: 'skip', text: 'the local service does not run on Windows' };
    const found = await (await ctx.localService()).isolation(ctx.signal);
    const data = { state: found.state };
    if (found.state === 'works') return { status: 'pass', text: 'bubblewrap works', data };
    if (found.state === 'unavailable') {
      const text = `the local service cannot isolate sandboxes: ${found.why}`;
      return { status: 'warn', text, hint: 'install bubblewrap, or permit user namespaces to this user', data };
    }
    const target = await targetOrNull(subject);
    return {
      // A service would not start.
      status: target?.local === true ? 'fail' : 'warn',
      text: `the trial of bubblewrap failed: ${found.why}`,
      hint: 'remove the cause, or run commands without isolation: acs serve --detach --spec process',
      data,
    };
  },
};

const node: Check = {
  id: 'node',
  needs: [],
  run: ({ machine: { nodeVersion, acsVersion, platform } }) =>
    Promise.resolve({
      status: 'pass',
      text: `Node ${nodeVersion}, acs ${acsVersion}, ${platform}`,
      data: { node: nodeVersion, acs: acsVersion, platform },
    }),
};

const git: Check = {
  id: 'git',
  needs: [],
  async run({ machine }) {
    const version = await machine.gitVersion();
    if (version !== null) return { status: 'pass', text: `git ${version}`, data: { version } };
    const hint = 'install git: conv new --repo, conv diff and conv pull need it';
    return { status: 'warn', text: 'git is not installed', hint, data: { version } };
  },
};

const completion: Check = {
  id: 'completion',
  needs: [],
  async run(subject) {
    const shell = path.basename(subject.ctx.env.SHELL ?? '');
    const places = PLACES[shell]?.(homes(subject));
    if (places === undefined) {
      const text = shell === '' ? 'SHELL is not set' : `there is no completion for ${shell}`;
      return { status: 'skip', text };
    }
    return await installedIn(shell, places);
  },
};

interface Places {
  /** Files that are the script. */
  scripts: string[];
  /** Start-up files of the shell, which may read the script from `acs completion`. */
  startUp: string[];
  install: string;
}

interface Homes {
  home: string;
  data: string;
  config: string;
  /** Folders of $FPATH. */
  functions: string[];
}

function homes({ ctx: { env }, machine: { home } }: Subject): Homes {
  return {
    home,
    data: env.XDG_DATA_HOME || path.join(home, '.local/share'),
    config: env.XDG_CONFIG_HOME || path.join(home, '.config'),
    functions: (env['FPATH'] ?? '').split(':').filter((folder) => path.isAbsolute(folder)),
  };
}

const PLACES: Readonly<Record<string, (homes: Homes) => Places>> = {
  bash: ({ home, data }) => ({
    scripts: [data, '/usr/local/share', '/usr/share', '/opt/homebrew/share']
      .map((folder) => path.join(folder, 'bash-completion/completions/acs'))
      .concat('/etc/bash_completion.d/acs'),
    startUp: ['.bashrc', '.bash_profile', '.profile', '.bash_completion'].map((name) => path.join(home, name)),
    install: installCommand('bash', short(path.join(data, 'bash-completion/completions/acs'), home)),
  }),
  zsh: ({ home, functions }) => ({
    scripts: [
      ...functions,
      ...['.zfunc', '.zsh/completions', '.oh-my-zsh/completions'].map((folder) => path.join(home, folder)),
      '/usr/local/share/zsh/site-functions',
      '/usr/share/zsh/site-functions',
      '/usr/share/zsh/vendor-completions',
      '/opt/homebrew/share/zsh/site-functions',
    ].map((folder) => path.join(folder, '_acs')),
    startUp: ['.zshrc', '.zprofile', '.zshenv'].map((name) => path.join(home, name)),
    install: 'acs completion zsh > "${fpath[1]}/_acs"',
  }),
  fish: ({ home, config }) => ({
    scripts: [config, '/etc', '/usr/share', '/usr/local/share'].map((folder) =>
      path.join(
        folder,
        folder === config || folder === '/etc' ? 'fish/completions' : 'fish/vendor_completions.d',
        'acs.fish',
      ),
    ),
    startUp: [path.join(config, 'fish/config.fish')],
    install: installCommand('fish', short(path.join(config, 'fish/completions/acs.fish'), home)),
  }),
};

/** The folder does not exist for every user. */
function installCommand(shell: string, file: string): string {
  return `mkdir -p ${path.dirname(file)} && acs completion ${shell} > ${file}`;
}

/** As a shell takes it. */
function short(file: string, home: string): string {
  return file.startsWith(`${home}/`) ? `~${file.slice(home.length)}` : file;
}

async function installedIn(shell: string, { scripts, startUp, install }: Places): Promise<Finding> {
  const read = (file: string) => readFile(file, 'utf8').catch(() => null);
  for (const file of scripts) {
    if ((await read(file)) !== null) return { status: 'pass', text: `${shell}: ${file}`, data: { shell, file } };
  }
  for (const file of startUp) {
    if ((await read(file))?.includes('acs completion') === true) {
      return { status: 'pass', text: `${shell}: ${file} reads it`, data: { shell, file } };
    }
  }
  return {
    status: 'warn',
    text: `completion for ${shell} is not in its usual folders`,
    hint: install,
    data: { shell, file: null },
  };
}

export const MACHINE_CHECKS: readonly Check[] = [localService, isolation, node, git, completion];
