/** Checks of what the user has configured: the active server and key, variables, and the profile store. */
import type { Stats } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sourceWords } from '../../domain/target-sources.ts';
import type { ResolvedTarget } from '../../profiles/resolve.ts';
import { fileProblem } from '../../text/file-problem.ts';
import { KEY_VARIABLES } from '../../text/key-variables.ts';
import { isAppError } from '../../errors.ts';
import type { Check, Finding } from './check.ts';
import type { Subject } from './subject.ts';

const store: Check = {
  id: 'store',
  needs: [],
  async run(subject) {
    const { path, file, folder } = await subject.store();
    const { length: count } = await subject.profiles();
    const data = { path };
    if (file instanceof Error) return { status: 'pass', text: `no profiles are stored (${path})`, data };
    const found = `${path}: ${count} profile${count === 1 ? '' : 's'}`;
    const { platform, userId } = subject.machine;
    if (platform === 'win32' || folder instanceof Error) return { status: 'pass', text: found, data };
    const problem = accessProblem({ path, file, folder, userId });
    if (problem !== null) return { status: 'warn', ...problem, data };
    return { status: 'pass', text: `${found}, mode ${octal(file.mode)}`, data };
  },
};

interface StoreAccess {
  path: string;
  file: Stats;
  folder: Stats;
  userId: number | null;
}

function accessProblem({ path, file, folder, userId }: StoreAccess): { text: string; hint: string } | null {
  if ((file.mode & 0o077) !== 0) {
    return {
      text: `other users have had access to ${path} (mode ${octal(file.mode)})`,
      hint: 'acs sets it to 0600 when it reads it; renew the stored keys if others use this machine',
    };
  }
  if ((folder.mode & 0o077) !== 0) {
    const place = dirname(path);
    return { text: `other users have access to ${place} (mode ${octal(folder.mode)})`, hint: `chmod 700 ${place}` };
  }
  if (userId !== null && file.uid !== userId) {
    return {
      text: `${path} belongs to another user (uid ${file.uid})`,
      hint: 'run acs as that user, or set ACS_CONFIG_DIR to another directory',
    };
  }
  return null;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

const config: Check = {
  id: 'config',
  needs: [],
  async run(subject) {
    let target: ResolvedTarget;
    try {
      target = await subject.target();
    } catch (error) {
      return await afterStore(error, subject);
    }
    const { profile, base_url, base_url_source, key_source } = target;
    const data = { profile, base_url, base_url_source, key_source };
    if (base_url === null) {
      const blocks = 'the local service is not running';
      const text = `the local service, from ${sourceWords(target).base_url}; it starts when a command needs it`;
      return { status: 'pass', text, data, blocks };
    }
    const { base_url: url, key } = sourceWords(target);
    return { status: 'pass', text: `${base_url} from ${url}; ${key === null ? 'no key' : `key from ${key}`}`, data };
  },
};

/** The error of a store that cannot be read is the finding of its own check. */
async function afterStore(error: unknown, subject: Subject): Promise<Finding> {
  const ofStore: unknown = await subject.profiles().then(
    () => null,
    (problem: unknown) => problem,
  );
  if (!isAppError(error) || !isAppError(ofStore) || error.message !== ofStore.message) throw error;
  return { status: 'skip', text: 'not checked: store failed', blocks: 'store failed' };
}

const environment: Check = {
  id: 'environment',
  needs: [],
  async run(subject) {
    const { env } = subject.ctx;
    const target = await targetOrNull(subject);
    const found = [
      ...(target === null ? [] : [...target.notices, ...twoServers(env, target), ...twoKeys(env, target)]),
      ...twoSpellings(env),
      ...(await certificates(env)),
    ];
    const [first] = found;
    if (first === undefined) return { status: 'pass', text: 'no variables contradict each other' };
    return { status: 'warn', text: found.join('; '), hint: 'unset what is not meant: acs help environment' };
  },
};

/** Null where no server is configured, or not rightly. */
export async function targetOrNull(subject: Subject): Promise<ResolvedTarget | null> {
  return await subject.target().catch((error: unknown) => {
    if (isAppError(error) && error.kind === 'config') return null;
    throw error;
  });
}

type Environment = Subject['ctx']['env'];

function twoServers(env: Environment, { base_url_source, profile }: ResolvedTarget): string[] {
  if (base_url_source !== 'env:ACS_BASE_URL' || env.ACS_PROFILE === undefined || profile !== null) return [];
  return ['ACS_BASE_URL and ACS_PROFILE name different servers, and ACS_BASE_URL is used'];
}

function twoKeys(env: Environment, { key_source }: ResolvedTarget): string[] {
  const used = KEY_VARIABLES.find((name) => key_source === `env:${name}`);
  if (used === undefined) return [];
  return KEY_VARIABLES.filter((name) => env[name] !== undefined && env[name] !== env[used]).map(
    (other) => `${used} and ${other} have different keys, and ${used} is used`,
  );
}

/** Programs differ in which they prefer. */
function twoSpellings(env: Environment): string[] {
  return ['http_proxy', 'https_proxy', 'no_proxy'].flatMap((name) => {
    const upper = env[name.toUpperCase()];
    const isTwice = env[name] && upper && env[name] !== upper;
    return isTwice ? [`${name} and ${name.toUpperCase()} differ, and ${name} is used`] : [];
  });
}

async function certificates(env: Environment): Promise<string[]> {
  const file = env.NODE_EXTRA_CA_CERTS;
  const problem = file ? await access(file, constants.R_OK).then(() => null, fileProblem) : null;
  return [
    ...(problem === null ? [] : [`NODE_EXTRA_CA_CERTS is not used: ${problem.reason}`]),
    ...(env.NODE_TLS_REJECT_UNAUTHORIZED === '0' ? ['NODE_TLS_REJECT_UNAUTHORIZED=0: no certificate is checked'] : []),
  ];
}

export const CONFIG_CHECKS: readonly Check[] = [store, config, environment];
