/** Sends reads and one call of the model, starts nothing, and leaves nothing on the disk. */
import { stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import { type AppError, isAppError, isOfKind, nullIf } from '../../base/errors.ts';
import { isUnencrypted } from '../../base/loopback.ts';
import type { Server } from '../../client/shared/server.ts';
import { isAppliedByAcs } from '../../domain/automation-plan.ts';
import { byId, collectPages } from '../../domain/pages.ts';
import { sourceWords } from '../../domain/target-sources.ts';
import type { ResolvedTarget } from '../../local/profiles/resolve.ts';
import {
  callsModelFromHere,
  modelOf,
  tryModel,
  type ModelSettings,
} from '../shared/model-check.ts';
import { checkKey } from '../whoami.ts';
import { checkEnvironment } from './environment.ts';
import { pass, skip, warn, type Finding, type Result } from './findings.ts';
import { isolationHint } from './isolation.ts';

/** What the checks find, for those that need them. */
interface Facts {
  ctx: Context;
  machine: ReturnType<Context['local']['machine']>;
  isStoreReadable: boolean;
  target: ResolvedTarget | null;
  /** The server was reached, and did not answer as a server of OpenHands does. */
  refusal: AppError | null;
  server: Server;
  dataDir: string;
}

interface Check {
  id: string;
  needs?: string;
  run(facts: Facts): Finding | Promise<Finding>;
}

const LARGE_SKEW_S = 60;
const LITTLE_SPACE_BYTES = 1024 ** 3;
/** A release below this one has V1 routes that check no key (interface 1.1). */
const OLDEST_MAJOR = 1;
const MOST_SANDBOXES = 1000;

/** An AppError is the finding `fail`, `unsupported` is `skip`. */
export async function runChecks(ctx: Context, onCheck: (id: string) => void): Promise<Result[]> {
  // The server and the data directory are set by the checks that others need.
  const facts = {
    ctx,
    machine: ctx.local.machine(),
    isStoreReadable: false,
    target: null,
    refusal: null,
  } as unknown as Facts;
  const blocks = new Map<string, string>();
  const results: Result[] = [];
  for (const { id, needs = '', run } of CHECKS) {
    onCheck(id);
    let finding: Finding;
    try {
      const blocked = blocks.get(needs);
      finding = blocked === undefined ? await run(facts) : notChecked(blocked);
    } catch (error) {
      if (!isAppError(error) || isRethrown(error)) throw error;
      finding = failed(id, error);
    }
    const { blocks: why, ...result } = finding;
    if (why !== undefined) blocks.set(id, why);
    results.push({ id, ...result });
  }
  return results;
}

function failed(id: string, error: AppError): Finding {
  const blocks = `${id} failed`;
  if (error.kind === 'unsupported' && id !== 'server') return { ...skip(error.message), blocks };
  const hint =
    error.details.hint ?? 'check the URL (http or https, port, path) and the log of the server';
  return { ...warn(error.message, hint), status: 'fail', blocks };
}

const CHECKS: readonly Check[] = [
  { id: 'store', run: checkStore },
  { id: 'config', run: checkConfig },
  { id: 'environment', run: checkEnvironment },
  { id: 'connection', needs: 'config', run: checkConnection },
  { id: 'server', needs: 'connection', run: checkServer },
  {
    id: 'key',
    needs: 'server',
    async run({ refusal, server, target }) {
      if (refusal !== null) throw refusal;
      const { email, user } = await checkKey(server);
      const from = sourceWords(target as ResolvedTarget).key;
      if (from === null) return pass('the server requires no key');
      const name = email ?? user;
      return pass(`the key from ${from} is accepted${name === null ? '' : `, for ${name}`}`);
    },
  },
  { id: 'clock', needs: 'key', run: checkClock },
  { id: 'model', needs: 'key', run: checkModel },
  {
    id: 'sandboxes',
    needs: 'key',
    async run({ server }) {
      const { items, has_more } = await collectPages({
        fetch: (page, pageSize) => server.sandboxes.list(page, pageSize, 'none'),
        id: byId,
        limit: MOST_SANDBOXES,
      });
      const running = items.filter(({ status }) => ['running', 'starting'].includes(status)).length;
      const text = `${running} of ${items.length} running${has_more ? '; there are more' : ''}`;
      return pass(text, { running, total: items.length });
    },
  },
  { id: 'server-git', needs: 'key', run: checkServerGit },
  { id: 'automations', needs: 'key', run: checkAutomations },
  { id: 'local-service', run: checkLocalService },
  {
    id: 'disk',
    needs: 'local-service',
    async run({ dataDir }) {
      let folder = dataDir;
      // It is created at the first start.
      while ((await statOf(folder)) === null && folder !== path.dirname(folder))
        folder = path.dirname(folder);
      const { bavail, bsize } = await statfs(folder);
      const free = bavail * bsize;
      const data = { path: folder, free_bytes: free };
      const text = `${(free / 1024 ** 3).toFixed(1)} GiB free at ${folder}`;
      const hint = 'free space for the local service, or set ACS_DATA_DIR to another file system';
      return free >= LITTLE_SPACE_BYTES ? pass(text, data) : warn(text, hint, data);
    },
  },
  {
    id: 'isolation',
    async run(facts) {
      const { ctx, machine } = facts;
      if (machine.platform === 'win32') return notChecked(NOT_ON_WINDOWS);
      const trial = await (await ctx.local.service()).isolation(ctx.signal);
      const data = { state: trial.state };
      if (trial.state === 'works') return pass('bubblewrap works', data);
      if (trial.state === 'unavailable') {
        const text = `the local service cannot isolate sandboxes: ${trial.why}`;
        return warn(text, isolationHint(machine.platform, trial.why, ctx.local.env.PATH), data);
      }
      const hint =
        'remove the cause, or run commands without isolation: acs serve --detach --spec process';
      return unusable(facts, `the trial of bubblewrap failed: ${trial.why}`, hint, data);
    },
  },
  {
    id: 'node',
    run({ machine: { nodeVersion: node, acsVersion: acs, platform } }) {
      const text = `Node ${node}, acs ${acs}, ${platform}`;
      return pass(text, { node, acs, platform });
    },
  },
  {
    id: 'git',
    async run({ machine }) {
      const version = await machine.gitVersion();
      if (version !== null) return pass(`git ${version}`, { version });
      const hint = 'install git: conv new --repo, conv diff and conv pull need it';
      return warn('git is not installed', hint, { version });
    },
  },
];

async function checkStore(facts: Facts): Promise<Finding> {
  const store = await facts.ctx.profiles.store();
  const file = store.path;
  const folder = path.dirname(file);
  // Before the first read, which sets the mode of the file to 0600.
  const [of, ofFolder] = await Promise.all([statOf(file), statOf(folder)]);
  const { length: count } = await store.list();
  facts.isStoreReadable = true;
  const data = { path: file };
  if (of === null || ofFolder === null) return pass(`no profiles are stored (${file})`, data);
  if (isOpen(facts, of)) {
    const hint = 'acs has set it to 0600; renew the stored keys if others use this machine';
    return warn(`other users had access to ${file} (mode ${modeOf(of)})`, hint, data);
  }
  if (isOpen(facts, ofFolder)) return openFolder(folder, ofFolder, data);
  return pass(`${file}: ${count} profile${count === 1 ? '' : 's'}, mode ${modeOf(of)}`, data);
}

async function checkConfig(facts: Facts): Promise<Finding> {
  try {
    facts.target = await facts.ctx.servers.target();
  } catch (error) {
    if (facts.isStoreReadable || !isOfKind('config')(error)) throw error;
    return notChecked('store failed');
  }
  const { profile, base_url, base_url_source, key_source } = facts.target;
  const { base_url: from, key } = sourceWords(facts.target);
  const data = { profile, base_url, base_url_source, key_source };
  if (base_url === null) {
    const text = `the local service, from ${from}; it starts when a command needs it`;
    return { ...pass(text, data), blocks: 'the local service is not running' };
  }
  const ofKey = key === null ? 'no key' : `key from ${key}`;
  return pass(`${base_url} from ${from}; ${ofKey}`, data);
}

async function checkConnection(facts: Facts): Promise<Finding> {
  const { base_url, key, local, base_url_source, key_source } = facts.target as ResolvedTarget & {
    base_url: string;
  };
  const sources = { base_url_source, key_source };
  const target = { base_url, key, local, sources, cache: 'none', startUp: 'once' } as const;
  try {
    facts.server = await facts.ctx.servers.connect(target);
  } catch (error) {
    if (!isAnswer(error)) throw error;
    facts.refusal = error;
  }
  const url = new URL(base_url);
  if (!isUnencrypted(url)) return pass(`${url.origin} answers`);
  const text = `${url.origin} answers; http sends key and data without encryption`;
  return warn(text, 'use https, or a tunnel such as ssh -L');
}

function checkServer({ refusal, server }: Facts): Finding {
  if (refusal?.kind === 'auth')
    return skip('not known: the server answers only with an accepted key');
  if (refusal !== null) throw refusal;
  const { dialects, version, flavour, unknown_features } = server.info;
  const data = { dialects, version, flavour, unknown_features };
  const spoken = dialects.map((dialect) => dialect.toUpperCase()).join(' and ');
  if (flavour === 'local') return pass(`the local service, with ${spoken}`, data);
  if (dialects.includes('agent'))
    return pass(['agent server', version].filter(Boolean).join(' '), data);
  const release = ['OpenHands', version, flavour && `(${flavour})`].filter(Boolean).join(' ');
  const name = `${release}, ${spoken}`;
  if (!dialects.includes('v1')) {
    const hint =
      'update the server, or remove ENABLE_V1=0 from its environment: acs sandbox needs V1';
    return warn(`${name}: V1 is missing`, hint, data);
  }
  if (version !== null && Number.parseInt(version, 10) < OLDEST_MAJOR)
    return warn(`${name}: an old release`, 'update the server: its V1 routes check no key', data);
  if (unknown_features.length === 0) return pass(name, data);
  const text = `${name}; what it supports is not known`;
  return warn(text, 'make /openapi.json of the server readable', data);
}

async function checkClock({ ctx, server }: Facts): Promise<Finding> {
  const sentMs = ctx.clock.now();
  const call = { method: 'GET', path: '/health', headers: {}, body: null } as const;
  const { headers } = await server.call(call);
  const receivedMs = ctx.clock.now();
  const dateMs = Date.parse(headers['date'] ?? '');
  // A cache sends the date of the time when it stored the answer.
  if (Number.isNaN(dateMs) || headers['age'] !== undefined) return skip('the server sends no date');
  // The date has whole seconds, and was written between the two times of this machine.
  const skew = Math.round((dateMs + 500 - (sentMs + receivedMs) / 2) / 1000);
  const data = { skew_seconds: skew };
  const seconds = Math.abs(skew);
  if (seconds - (receivedMs - sentMs) / 2000 <= LARGE_SKEW_S)
    return pass(`the clocks of this machine and the server differ by ${seconds} s`, data);
  const side = skew > 0 ? 'behind' : 'ahead of';
  const text = `the clock of this machine is ${seconds} s ${side} that of the server`;
  return warn(text, 'set the clock that is wrong: --since and --older-than compare times', data);
}

async function checkModel({ ctx, server }: Facts): Promise<Finding> {
  const snapshot = await server.settings.read();
  const { flavour, dialect } = server.info;
  const model = modelOf(snapshot);
  const name = model.llm_model;
  const { llm_api_key: keyState = 'unknown' } = snapshot.secrets;
  const data = { llm_model: name || null, llm_api_key: keyState };
  const setHosted = 'acs settings set llm_model=<provider/model> llm_api_key=@<file>';
  if (name === '') {
    if (flavour !== 'local') return warn('no model is set', setHosted, data);
    const hint = 'acs settings set llm_model=<model> llm_base_url=<url>';
    return { ...skip('no model is set: conversations need a replay', data), hint };
  }
  if (await callsModelFromHere(ctx, server)) return await callModel(ctx, model, data);
  if (keyState !== 'unset') return pass(keyState === 'set' ? `${name}, with a key` : name, data);
  // As it is installed, an agent server names a model.
  if (dialect === 'agent' && model.llm_base_url === '')
    return warn(`${name}, without a key and without a URL`, setHosted, data);
  if (flavour === 'cloud') return pass(name, data);
  const hint = 'if the model requires a key: acs settings set llm_api_key=@<file>';
  return warn(`${name}, without a key`, hint, data);
}

async function callModel(
  ctx: Context,
  model: ModelSettings,
  data: Finding['data'],
): Promise<Finding> {
  const { url, llm_model, warning } = await tryModel(ctx, model, 30_000);
  if (warning !== null) return warn(warning.text, warning.hint, data);
  if (llm_model === model.llm_model) return pass(`${llm_model} at ${url} answers`, data);
  const text = `${url} has the model under its whole name, which is stored as ${llm_model}`;
  return { ...warn(text, `acs settings set llm_model=${llm_model}`, data), status: 'fail' };
}

/** Git sync writes what `automation apply` creates to its repository, and reads it from there. */
async function checkAutomations({ server: { automations } }: Facts): Promise<Finding> {
  const fetch = (page: string | null, pageSize: number) => automations.list(page, pageSize);
  const { items } = await collectPages({ fetch, id: byId });
  const enabled = items.filter((automation) => automation.enabled).length;
  const applied = items.filter(isAppliedByAcs).length;
  const repository = await automations.gitSync().catch(nullIf(isOfKind('unsupported')));
  const data = { total: items.length, enabled, applied, git_sync: repository };
  const text = `${enabled} of ${items.length} enabled`;
  if (repository === null) return pass(text, data);
  if (applied === 0) return pass(`${text}; git sync with ${repository}`, data);
  return warn(
    `${text}; ${applied} by acs automation apply, and git sync with ${repository} is on`,
    'a change there is undone by the next apply: use one of both (docs/automations.md)',
    data,
  );
}

async function checkLocalService(facts: Facts): Promise<Finding> {
  const { ctx, machine } = facts;
  if (machine.platform === 'win32') return notChecked(NOT_ON_WINDOWS);
  const service = await ctx.local.service();
  const { running, url, pid, version, data_dir, sandboxes_running } = await service.status();
  facts.dataDir = data_dir;
  const data = { running, url, pid, version, data_dir };
  try {
    await service.tryDataDir();
  } catch (error) {
    if (!isAppError(error)) throw error;
    const { message, details } = error;
    return unusable(facts, message, details.hint ?? SEE_LOG, data);
  }
  const folder = await statOf(data_dir);
  if (folder !== null && isOpen(facts, folder)) return openFolder(data_dir, folder, data);
  if (!running) return pass(`not running; its data is in ${data_dir}`, data);
  const text = `${url} (pid ${pid}, version ${version}), data in ${data_dir}`;
  if (sandboxes_running === null) return warn(`${text}; it does not answer`, SEE_LOG, data);
  if (version === machine.acsVersion) return pass(text, data);
  const hint = 'acs replaces it when it is idle; to stop it now: acs serve --stop';
  return warn(`${text}; acs has version ${machine.acsVersion}`, hint, data);
}

const NOT_ON_WINDOWS = 'the local service does not run on Windows';
const SEE_LOG = 'see its log: acs serve --logs';

/** Errors that show that the server was reached; the checks after `connection` report them. */
const isAnswer = isOfKind('auth', 'server', 'unsupported', 'rate-limited');
const isRethrown = isOfKind('interrupted', 'usage', 'internal');

function notChecked(blocks: string): Finding {
  return { ...skip(`not checked: ${blocks}`), blocks };
}

/** The local service does not start. */
function unusable({ target }: Facts, ...[text, hint, data]: Parameters<typeof warn>): Finding {
  return { ...warn(text, hint, data), status: target?.local === true ? 'fail' : 'warn' };
}

function openFolder(folder: string, of: { mode: number }, data: Finding['data']): Finding {
  const text = `other users have access to ${folder} (mode ${modeOf(of)})`;
  return warn(text, `chmod 700 ${folder}`, data);
}

function statOf(file: string): Promise<{ mode: number } | null> {
  return stat(file).catch(() => null);
}

function isOpen({ machine }: Facts, { mode }: { mode: number }): boolean {
  return machine.platform !== 'win32' && (mode & 0o077) !== 0;
}

function modeOf({ mode }: { mode: number }): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/** An agent server clones, and makes worktrees, with the git of its machine. */
async function checkServerGit({ server }: Facts): Promise<Finding> {
  if (server.info.dialect !== 'agent')
    return skip('the sandboxes of the server have their own git');
  const command = { command: 'git --version', timeout: 20 };
  const { json, error } = await server.call({
    method: 'POST',
    path: '/api/bash/execute_bash_command',
    headers: {},
    body: { contentType: 'application/json', bytes: Buffer.from(JSON.stringify(command)) },
  });
  if (error !== null) return skip(`not known: ${error.message}`);
  const { exit_code: code, stdout } = (json ?? {}) as { exit_code?: unknown; stdout?: unknown };
  const version = /^git version (\S+)/.exec(String(stdout))?.[1];
  if (code === 0 && version !== undefined)
    return pass(`git ${version} on its machine`, { version });
  return warn('its machine has no git', 'install git there: conv new with a repository needs it');
}
