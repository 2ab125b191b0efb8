import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { networkVariables, userTools } from '../../../src/service/isolation/tools.ts';
import { sandboxOfTest } from '../agent-server/support/shared-sandboxes.ts';
import type { TestWorker } from '../agent-server/support/worker.ts';
import { describeEachSpec, hasBubblewrap } from '../../support/bubblewrap.ts';

const sandbox = sandboxOfTest();
const PLANTED = 'planted-secret';
const SYSTEM = '/usr/local/bin:/usr/bin:/bin';
const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
let home: string;

beforeEach(() => {
  home = path.join(sandbox.place.dir, 'home');
  mkdirSync(home);
});

function plant(name: string, text = PLANTED): string {
  const file = path.join(home, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A program that prints its name and `text`. */
function program(name: string, text = ''): void {
  chmodSync(plant(name, `#!/bin/sh\necho ${path.basename(name)} ${text}\n`), 0o755);
}

const at = (name: string): string => path.join(home, name);

function start(folders: string[], env: Record<string, string> = {}): Promise<TestWorker> {
  const PATH = [...folders.map(at), SYSTEM].join(':');
  const unset = { CARGO_HOME: '', NVM_DIR: '', PIPX_HOME: '', PYENV_ROOT: '' };
  return sandbox.start({ spec: 'bubblewrap', env: { HOME: home, PATH, ...unset, ...env } });
}

/** Where tools keep secrets, outside and inside of folders that a sandbox has. */
const SECRETS = [
  '.ssh/id_ed25519',
  '.aws/credentials',
  '.config/gh/hosts.yml',
  '.config/x/bin/own',
  '.docker/config.json',
  '.gnupg/private-keys-v1.d/key',
  '.kube/config',
  '.npmrc',
  '.pypirc',
  '.netrc',
  '.git-credentials',
  '.cargo/credentials.toml',
  '.local/share/keyrings/login.keyring',
  '.local/share/uv/credentials/credentials.toml',
  '../data/service.db',
  '.nvm/versions/node/v22.1.0/etc/npmrc',
  '.pyenv/.git/config',
  '.pyenv/versions/3.12.1/pip.conf',
  '.sdkman/candidates/java/.netrc',
  '.asdf/installs/nodejs/22.1.0/etc/npmrc',
  '.pyenv/versions/3.12.1/envs/own/pip.conf',
  '.volta/tools/image/node/22.1.0/etc/npmrc',
  '.linuxbrew/var/mysql/user',
  'bin/.netrc',
  'bin/.env',
  'bin/.env.local',
  'bin/sub/.aws/credentials',
  'bin/sub/sub/.ssh/id',
  'go/pkg/mod/cache/x',
  'work/notes',
];

describe.runIf(hasBubblewrap)('a sandbox of the spec bubblewrap', () => {
  it('has the programs of tool managers and of other folders, in the order of PATH', async () => {
    program('.cargo/bin/cargo-own');
    program('.pyenv/shims/twice', '$PYENV_ROOT');
    program('.nvm/versions/node/v22.1.0/bin/twice', 'of nvm');
    program('.local/share/pipx/venvs/tool/bin/tool');
    mkdirSync(at('.local/bin'));
    symlinkSync('../share/pipx/venvs/tool/bin/tool', at('.local/bin/tool'));
    program('sdk/go1.22/bin/go', '$(cat ${0%/*}/../pkg/tool)');
    plant('sdk/go1.22/pkg/tool', 'with its tools');
    program('.npm-global/lib/node_modules/own/cli', '$(cat $(dirname $(readlink -f $0))/../data)');
    plant('.npm-global/lib/node_modules/data', 'of a package');
    mkdirSync(at('.npm-global/bin'));
    symlinkSync('../lib/node_modules/own/cli', at('.npm-global/bin/packaged'));
    program('.local/share/app/versions/1/app');
    symlinkSync('1', at('.local/share/app/versions/current'));
    symlinkSync(at('.local/share/app/versions/current/app'), at('.local/bin/app'));
    program('with space/spaced');
    program('with\nline/lined');
    program('real/linked');
    symlinkSync('real', at('link'));
    const folders = ['.cargo/bin', '.nvm/versions/node/v22.1.0/bin', '.pyenv/shims', '.local/bin'];
    const others = ['.npm-global/bin', 'sdk/go1.22/bin', 'with space', 'with\nline', 'link'];
    const worker = await start([
      ...folders,
      ...others,
      'missing',
      '.cargo/bin/cargo-own',
      '.cargo/bin',
    ]);
    const [ran, shim, written, found] = await worker.outputsOf(
      'for each in cargo-own twice tool packaged app go spaced lined linked; do $each; done',
      `${at('.pyenv/shims/twice')}; ${at('link/linked')}`,
      'for f in $PYENV_ROOT/x ~/x; do touch $f && echo written; done 2>&1',
      'echo "$PATH"',
    );
    const linked = ['cli of a package', 'app'];
    const names = [
      'cargo-own',
      'twice of nvm',
      'tool',
      ...linked,
      'go with its tools',
      'spaced',
      'lined',
    ];
    expect(ran).toBe([...names, 'linked'].join('\n'));
    expect(shim).toBe(`twice ${at('.pyenv')}\nlinked`);
    expect(written).toMatch(/Read-only file system\nwritten$/);
    expect(found?.startsWith([...folders, ...others].map(at).join(':'))).toBe(true);
    expect(found).not.toMatch(/missing|cargo-own/);
  });

  it('has no secret of the home, wherever PATH leads to and whatever links there are', async () => {
    for (const name of SECRETS) plant(name);
    program('bin/own');
    program('.local/bin/mine');
    program('.nvm/versions/node/v22.1.0/bin/own');
    symlinkSync('../.ssh/id_ed25519', at('bin/link-out'));
    chmodSync(at('.ssh/id_ed25519'), 0o700);
    symlinkSync('../work/notes', at('bin/notes'));
    symlinkSync('.ssh', at('looks-fine'));
    symlinkSync('.config/x/bin', at('also-fine'));
    symlinkSync('../.aws', at('.nvm/aws'));
    symlinkSync('../.ssh', at('.volta/bin'));
    symlinkSync('missing', at('bin/.npmrc'));
    const folders = [
      ...['.', '..', '../..', '.ssh', '.aws', '.config/x/bin', '.config', '.local', '.local/share'],
      ...['looks-fine', 'also-fine', 'bin', '.local/bin', '.nvm/versions/node/v22.1.0/bin'],
      ...['../data', '.local/share/keyrings', '.gnupg', '.volta/bin', '.cargo'],
    ];
    const worker = await start(folders, {
      NVM_DIR: at('.ssh'),
      PIPX_HOME: home,
      RBENV_ROOT: at('.aws'),
      SDKMAN_DIR: path.dirname(home),
      GOPATH: `${home}/none:${home}`,
      SSL_CERT_FILE: at('.ssh/id_ed25519'),
    });
    const [own, found, listed, onPath] = await worker.outputsOf(
      'own; mine',
      `grep -rls ${PLANTED} ${sandbox.place.dir} /home /root /etc; ` +
        SECRETS.map((name) => `cat '${at(name)}' 2>/dev/null`).join('; ') +
        '; echo searched',
      `cd ${home} && ls -A . .config .local/share 2>/dev/null`,
      'echo "$PATH"',
    );
    expect(own).toBe('own\nmine');
    expect(found).toBe('searched');
    expect(listed).not.toMatch(/\.ssh|\.aws|work|credentials|keyrings|hosts/);
    const inside = ['bin', '.local/bin', '.nvm/versions/node/v22.1.0/bin', '.cargo'].map(at);
    expect(onPath?.startsWith(`${inside.join(':')}:/usr/local/bin:`)).toBe(true);
  });
});

describe('variables of the network', () => {
  it.each([
    ['HTTPS_PROXY', 'http://user:word@proxy:3128'],
    ['https_proxy', 'user:word@proxy:3128'],
    ['http_proxy', 'http://user@proxy'],
    ['PIP_INDEX_URL', 'https://user:word@index/simple'],
    ['PIP_EXTRA_INDEX_URL', 'https://one/simple https://token@two/simple'],
    ['PIP_INDEX_URL', 'https://index/simple?token=0123456789'],
    ['npm_config__authToken', 'x'],
    ['npm_config_//registry/:_authToken', 'x'],
    ['npm_config__auth', 'x'],
    ['npm_config_registry', `https://registry/npm_${'a'.repeat(36)}/`],
    ['UV_INDEX_OWN_PASSWORD', 'x'],
    ['UV_PUBLISH_TOKEN', 'x'],
    ['CARGO_REGISTRIES_OWN_TOKEN', 'x'],
    ['YARN_NPM_AUTH_TOKEN', 'x'],
    ['YARN_NPM_AUTH_IDENT', 'user:word'],
    ['UV_INDEX_OWN_USERNAME', 'x'],
    ['npm_config_otp', '123456'],
    ['GOPROXY', 'https://user:word@proxy,direct'],
  ])('%s=%s is left out and named, without its value', (name, value) => {
    const { variables, leftOut } = networkVariables({ [name]: value }, () => true);
    expect(variables).toEqual({});
    expect(leftOut).toEqual([`${name} (it has credentials)`]);
  });

  it('are passed without credentials, and those of no network and of folders are not', () => {
    const passed = {
      HTTPS_PROXY: 'http://proxy:3128',
      no_proxy: 'localhost,.example.com',
      PIP_INDEX_URL: 'https://index/simple',
      npm_config_registry: 'https://registry/',
      GOPROXY: 'https://proxy,direct',
      UV_PYTHON_PREFERENCE: 'system',
    };
    const others = {
      AWS_SECRET_ACCESS_KEY: 'x',
      GITHUB_TOKEN: 'x',
      EDITOR: 'vi',
      PIP_CACHE_DIR: '/home/me/.cache/pip',
      npm_config_userconfig: '/home/me/.npmrc',
      PIP_CONFIG_FILE: '/home/me/pip.conf',
      UV_FIND_LINKS: '/home/me/wheels',
    };
    const found = networkVariables({ ...passed, ...others }, () => false);
    expect(found).toEqual({ variables: passed, leftOut: [] });
  });

  it('that name a file are passed when it has certificates and no key, and the file is mounted', () => {
    const mixed = '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n';
    const env = {
      PATH: SYSTEM,
      SSL_CERT_FILE: plant('.config/ca.pem', CERTIFICATE),
      NODE_EXTRA_CA_CERTS: plant('both.pem', CERTIFICATE + mixed),
      PIP_CERT: plant('.ssh/id', mixed),
      REQUESTS_CA_BUNDLE: home,
      CURL_CA_BUNDLE: './ca.pem',
      GIT_SSL_CAINFO: at('missing'),
    };
    const { mounts, variables, leftOut } = userTools(env, [home], home);
    expect(mounts.at(-1)).toEqual({ source: env.SSL_CERT_FILE, target: env.SSL_CERT_FILE });
    expect(variables['SSL_CERT_FILE']).toBe(env.SSL_CERT_FILE);
    const names = ['NODE_EXTRA_CA_CERTS', 'PIP_CERT', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'];
    const why = 'its file does not have certificates alone';
    expect(leftOut).toEqual([...names, 'GIT_SSL_CAINFO'].map((name) => `${name} (${why})`));
  });
});

it('PATH has at most 200 folders in a sandbox, and the others are named', () => {
  const folders = Array.from({ length: 205 }, (_, index) => at(`bin${index}`));
  for (const folder of folders) mkdirSync(folder);
  const { path: inside, leftOut } = userTools({ PATH: folders.join(':') }, [home], home);
  expect(inside).toEqual(folders.slice(0, 200));
  expect(leftOut).toHaveLength(5);
});

it('links of PATH add a bounded number of mounts, and the folder after them is there', () => {
  mkdirSync(at('bin'));
  mkdirSync(at('after'));
  for (let index = 0; index < 450; index += 1) {
    program(`tool-${index}/run`);
    symlinkSync(at(`tool-${index}/run`), at(`bin/run-${index}`));
  }
  const {
    mounts,
    path: folders,
    leftOut,
  } = userTools({ PATH: `${at('bin')}:${at('after')}` }, [home], home);
  expect(mounts.length).toBeLessThan(410);
  expect(folders).toEqual([at('bin'), at('after')]);
  expect(leftOut).toEqual([`programs that links in "${at('bin')}" lead to (too many)`]);
});

it('a folder of a home inside a system folder is mounted, because the home is hidden there', () => {
  const tools = userTools({ PATH: '/usr/lib/git-core:/usr/bin' }, ['/usr/lib'], '/usr/lib');
  expect(tools.mounts.map(({ target }) => target)).toContain('/usr/lib/git-core');
});

describeEachSpec('with %s', (spec) => {
  it('commands have the proxy of the user unless it holds credentials', async () => {
    const worker = await sandbox.start({
      spec,
      env: { HTTPS_PROXY: 'http://user:word@proxy', HTTP_PROXY: 'http://proxy:3128' },
    });
    const [seen] = await worker.outputsOf('echo "$HTTP_PROXY $HTTPS_PROXY."');
    expect(seen).toBe('http://proxy:3128 .');
  });
});
