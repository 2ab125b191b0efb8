/** Sends reads and one call of the model, starts nothing, and leaves nothing on the disk. */
import { access, constants, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { Context } from './context.ts';
import { derivedContext } from './shared/derived-context.ts';
import { isAppError, fileProblem } from '../base/errors.ts';
import type { Server } from '../client/shared/server.ts';
import { collectPages } from '../domain/pages.ts';
import { sourceWords } from '../domain/target-sources.ts';
import type { ResolvedTarget } from '../local/profiles/resolve.ts';
import { KEY_VARIABLES } from '../base/text/secret-names.ts';
import type { LinePart, View } from '../output/view.ts';
import { explain } from './shared/declare.ts';
import { callsModelFromHere, modelOf, tryModel } from './shared/model-check.ts';
import { checkKey } from './whoami.ts';

interface Result {
  /** Stable: scripts select by it. */
  id: string;
  status: 'pass' | 'warn' | 'fail' | 'skip';
  text: string;
  hint: string | null;
  data: Record<string, unknown> | null;
}

interface Finding<T> {
  status: Result['status'];
  text: string;
  hint?: string;
  data?: Record<string, unknown>;
  value?: T;
}

const LARGE_SKEW_S = 60;
const LITTLE_SPACE_BYTES = 1024 ** 3;
/** A release below this one has V1 routes that check no key (interface 1.1). */
const OLDEST_MAJOR = 1;
const MOST_SANDBOXES = 1000;

/** A symbol besides the word, for readers without colours; the word is for screen readers. */
const MARKS = {
  pass: { text: '✓ pass', tone: 'good' },
  warn: { text: '! warn', tone: 'warn' },
  fail: { text: '✗ fail', tone: 'bad' },
  skip: { text: '- skip', tone: 'dim' },
} as const satisfies Record<Result['status'], LinePart>;

const ID_WIDTH = 'local-service'.length;

export const checkView: View<Result> = {
  noun: 'check',
  id: ({ id }) => id,
  fields: [
    { name: 'id', get: ({ id }) => id, weight: 0 },
    { name: 'status', get: ({ status }) => status },
    { name: 'text', get: ({ text }) => text, weight: 2 },
    { name: 'hint', get: ({ hint }) => hint },
    { name: 'data', get: ({ data }) => data, as: 'json', weight: 0 },
  ],
  table: ['id', 'status', 'text', 'hint'],
  tsv: ['id', 'status', 'text', 'hint'],
  line: ({ id, status, text, hint }) => [
    MARKS[status],
    { text: `  ${id.padEnd(ID_WIDTH)}  ` },
    status === 'skip' ? { text, tone: 'dim' } : { text },
    ...(hint === null ? [] : [{ text: `\nnext: ${hint}` }]),
  ],
  lineIndent: MARKS.pass.text.length + ID_WIDTH + 4,
};

export function declareDoctor(root: Command, ctx: Context): void {
  const command = root
    .command('doctor')
    .description('check the configuration, the server and this machine')
    .action(async () => {
      ctx.out.check(checkView, 'list');
      const progress = await ctx.terminal.progress('checking', 'nothing');
      const live = derivedContext(ctx, { server: { mode: 'live' } }); // nothing here writes
      const results = await runChecks(live, (id) => progress.update(`checking ${id}`)).finally(() =>
        progress.done(),
      );
      const count = (wanted: Result['status']) =>
        results.filter(({ status }) => status === wanted).length;
      if (ctx.out.format !== 'table' || ctx.globals.fields !== undefined) {
        await ctx.out.list(checkView, results, { has_more: false });
      } else {
        await ctx.out.lines(checkView, results);
        const warnings = `${count('warn')} warning${count('warn') === 1 ? '' : 's'}`;
        await ctx.notice(
          `${count('pass')} passed, ${warnings}, ${count('fail')} failed, ${count('skip')} skipped`,
        );
      }
      if (count('fail') === 0) return;
      const failed = results.filter(({ status }) => status === 'fail').map(({ id }) => id);
      await ctx.terminal.quietError(`failed checks: ${failed.join(', ')}`);
      ctx.exitCode = 1;
    });
  explain(command, {
    notes: [
      'Checks one server: the active one, or that of --profile or --base-url. A check is ' +
        'skipped when it depends on a check that failed. Doctor does not start the local ' +
        'service, and sends only requests that read; it also calls the model of the local ' +
        'service once. To find out whether that service can store data, doctor writes a file ' +
        'to its data directory and removes it.',
      'The checks are store, config, environment (variables that contradict each other), ' +
        'connection (DNS, proxy, TLS), server, key, clock, model, sandboxes, local-service, ' +
        'disk, isolation (bubblewrap), node and git.',
      'Elsewhere `model` reads the settings, because no server has a route that only calls ' +
        'the model. A run shows whether it answers: acs conv new --no-repo "Reply with OK" --wait',
      'The result of a check is pass, warn, fail or skip. The exit code is 1 when a check ' +
        'failed, whatever the reason; warnings do not change it. The exit code is 3 only when ' +
        'the file of --output cannot be written.',
    ],
    json: ({ listForm }) => [listForm(checkView)],
    onlyExits: ['failed', 'usage', 'config', 'interrupted'],
    examples: [
      { command: 'acs doctor', does: 'check the active server and this machine' },
      {
        command: 'acs doctor -p work --json',
        does: 'check the server of a profile; one item for each check',
      },
      {
        command: 'acs doctor --jq \'.items[] | select(.status == "fail") | .id\'',
        does: 'print what failed',
      },
    ],
  });
}

async function runChecks(ctx: Context, onCheck: (id: string) => void): Promise<Result[]> {
  const results: Result[] = [];
  /**
   * An AppError is the finding `fail`, `unsupported` is `skip`. `blocked`: why the check cannot
   * run.
   */
  const check = async <T>(
    id: string,
    blocked: string | null,
    run: () => Promise<Finding<T>>,
  ): Promise<T | null> => {
    onCheck(id);
    const finding =
      blocked === null
        ? await run().catch((error: unknown): Finding<never> => {
            if (!isAppError(error) || RETHROWN.has(error.kind)) throw error;
            if (error.kind === 'unsupported' && id !== 'server') return skip(error.message);
            const hint =
              error.details.hint ??
              'check the URL (http or https, port, path) and the log of the server';
            return { status: 'fail', text: error.message, hint };
          })
        : skip(`not checked: ${blocked}`);
    const { status, text, hint = null, data = null, value = null } = finding;
    results.push({ id, status, text, hint, data });
    return value;
  };
  const { platform, nodeVersion, acsVersion, gitVersion } = ctx.local.machine();
  const isOpen = ({ mode }: { mode: number }): boolean =>
    platform !== 'win32' && (mode & 0o077) !== 0;

  const store = await check('store', null, async () => {
    const value = await ctx.profiles.store();
    const file = value.path;
    const folder = path.dirname(file);
    // Before the first read, which sets the mode of the file to 0600.
    const [found, foundFolder] = await Promise.all(
      [file, folder].map((each) => stat(each).catch(() => null)),
    );
    const { length: count } = await value.list();
    const data = { path: file };
    if (!found || !foundFolder) return { ...pass(`no profiles are stored (${file})`, data), value };
    if (isOpen(found)) {
      const hint = 'acs has set it to 0600; renew the stored keys if others use this machine';
      return {
        ...warn(`other users had access to ${file} (mode ${modeOf(found)})`, hint, data),
        value,
      };
    }
    if (isOpen(foundFolder)) {
      const text = `other users have access to ${folder} (mode ${modeOf(foundFolder)})`;
      return { ...warn(text, `chmod 700 ${folder}`, data), value };
    }
    return {
      ...pass(`${file}: ${count} profile${count === 1 ? '' : 's'}, mode ${modeOf(found)}`, data),
      value,
    };
  });

  const target = await check('config', null, async () => {
    let value: ResolvedTarget;
    try {
      value = await ctx.servers.target();
    } catch (error) {
      if (store === null && isAppError(error) && error.kind === 'config')
        return skip('not checked: store failed');
      throw error;
    }
    const { profile, base_url, base_url_source, key_source } = value;
    const { base_url: from, key } = sourceWords(value);
    const text =
      base_url === null
        ? `the local service, from ${from}; it starts when a command needs it`
        : `${base_url} from ${from}; ${key === null ? 'no key' : `key from ${key}`}`;
    return { ...pass(text, { profile, base_url, base_url_source, key_source }), value };
  });

  await check('environment', null, async () => {
    const { env } = ctx.local;
    const found = [...(target?.notices ?? [])];
    if (
      target?.base_url_source === 'env:ACS_BASE_URL' &&
      env.ACS_PROFILE !== undefined &&
      target.profile === null
    ) {
      found.push('ACS_BASE_URL and ACS_PROFILE name different servers, and ACS_BASE_URL is used');
    }
    const used = KEY_VARIABLES.find((name) => target?.key_source === `env:${name}`);
    for (const name of KEY_VARIABLES) {
      if (used !== undefined && env[name] !== undefined && env[name] !== env[used]) {
        found.push(`${used} and ${name} have different keys, and ${used} is used`);
      }
    }
    for (const name of ['http_proxy', 'https_proxy', 'no_proxy']) {
      const [lower, upper] = [env[name], env[name.toUpperCase()]];
      if (lower && upper && lower !== upper) {
        found.push(`${name} and ${name.toUpperCase()} differ, and ${name} is used`);
      }
      const proxy = name === 'no_proxy' ? undefined : lower || upper;
      if (proxy && !(URL.canParse(proxy) && /^https?:$/.test(new URL(proxy).protocol))) {
        found.push(
          `${lower ? name : name.toUpperCase()} is not a URL such as http://proxy.example:3128`,
        );
      }
    }
    const authorities = env.NODE_EXTRA_CA_CERTS;
    const problem = authorities
      ? await access(authorities, constants.R_OK).then(() => null, fileProblem)
      : null;
    if (problem !== null) found.push(`NODE_EXTRA_CA_CERTS is not used: ${problem.reason}`);
    if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
      found.push('NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not checked');
    }
    if (found.length === 0) return pass('no variables contradict each other');
    return warn(found.join('; '), 'unset what is not meant: acs help environment');
  });

  let blocked: string | null = null;
  if (target === null) blocked = store === null ? 'store failed' : 'config failed';
  else if (target.base_url === null) blocked = 'the local service is not running';

  const connection = await check('connection', blocked, async () => {
    const { base_url, key, local, base_url_source, key_source } = target as ResolvedTarget & {
      base_url: string;
    };
    const value = await ctx.servers
      .connect({ base_url, key, local, sources: { base_url_source, key_source }, cache: 'none' })
      .catch((error: unknown) => {
        if (!isAppError(error) || !ANSWERS.has(error.kind)) throw error;
        return error;
      });
    const { origin, protocol, hostname } = new URL(base_url);
    if (protocol === 'http:' && !/^(.*\.)?localhost$|^127\.|^\[::1\]$/.test(hostname)) {
      const text = `${origin} answers; http sends key and data without encryption`;
      return { ...warn(text, 'use https, or a tunnel such as ssh -L'), value };
    }
    return { ...pass(`${origin} answers`), value };
  });
  if (connection === null) blocked ??= 'connection failed';
  const refusal = isAppError(connection) ? connection : null;
  // Not null in a check that is not blocked, once `key` has passed.
  const server = connection as Server;

  await check('server', blocked, async () => {
    if (refusal?.kind === 'auth')
      return skip('not known: the server answers only with an accepted key');
    if (refusal !== null) throw refusal;
    const { dialects, version, flavour, unknown_features } = server.info;
    const data = { dialects, version, flavour, unknown_features };
    const spoken = dialects.map((dialect) => dialect.toUpperCase()).join(' and ');
    if (flavour === 'local') return pass(`the local service, with ${spoken}`, data);
    const name =
      `OpenHands${version === null ? '' : ` ${version}`}${flavour === null ? '' : ` (${flavour})`}, ` +
      `${spoken}`;
    if (!dialects.includes('v1')) {
      const hint =
        'update the server, or remove ENABLE_V1=0 from its environment: acs sandbox needs V1';
      return warn(`${name}: V1 is missing`, hint, data);
    }
    if (version !== null && Number.parseInt(version, 10) < OLDEST_MAJOR) {
      return warn(`${name}: an old release`, 'update the server: its V1 routes check no key', data);
    }
    if (unknown_features.length > 0) {
      const text = `${name}; what it supports is not known`;
      return warn(text, 'make /openapi.json of the server readable', data);
    }
    return pass(name, data);
  });
  if (refusal !== null && refusal.kind !== 'auth') blocked ??= 'server failed';

  const account = await check('key', blocked, async () => {
    if (refusal !== null) throw refusal;
    const value = await checkKey(server);
    const from = sourceWords(target as ResolvedTarget).key;
    if (from === null) return { ...pass('the server requires no key'), value };
    const name = value.email ?? value.user;
    return {
      ...pass(`the key from ${from} is accepted${name === null ? '' : `, for ${name}`}`),
      value,
    };
  });
  if (account === null) blocked ??= 'key failed';

  await check('clock', blocked, async () => {
    const sentMs = ctx.clock.now();
    const { headers } = await server.call({
      method: 'GET',
      path: '/health',
      headers: {},
      body: null,
    });
    const receivedMs = ctx.clock.now();
    const dateMs = Date.parse(headers['date'] ?? '');
    // A cache sends the date of the time when it stored the answer.
    if (Number.isNaN(dateMs) || headers['age'] !== undefined)
      return skip('the server sends no date');
    // The date has whole seconds, and was written between the two times of this machine.
    const skew = Math.round((dateMs + 500 - (sentMs + receivedMs) / 2) / 1000);
    const data = { skew_seconds: skew };
    if (Math.abs(skew) - (receivedMs - sentMs) / 2000 <= LARGE_SKEW_S) {
      return pass(`the clocks of this machine and the server differ by ${Math.abs(skew)} s`, data);
    }
    const side = skew > 0 ? 'behind' : 'ahead of';
    const text = `the clock of this machine is ${Math.abs(skew)} s ${side} that of the server`;
    return warn(text, 'set the clock that is wrong: --since and --older-than compare times', data);
  });

  await check('model', blocked, async () => {
    const snapshot = await server.settings.read();
    const { values, secrets } = snapshot;
    const { flavour } = server.info;
    const name = typeof values['llm_model'] === 'string' ? values['llm_model'] : '';
    const keyState = secrets['llm_api_key'] ?? 'unknown';
    const data = { llm_model: name === '' ? null : name, llm_api_key: keyState };
    if (name === '') {
      const hint = 'acs settings set llm_model=<model> llm_base_url=<url>';
      if (flavour === 'local')
        return { ...skip('no model is set: conversations need a replay', data), hint };
      return warn(
        'no model is set',
        'acs settings set llm_model=<provider/model> llm_api_key=@<file>',
        data,
      );
    }
    if (await callsModelFromHere(ctx, server)) {
      const { url, llm_model } = await tryModel(ctx, modelOf(snapshot), 30_000);
      if (llm_model === name) return pass(`${name} at ${url} answers`, data);
      const text = `${url} has the model under its whole name, which is stored as ${llm_model}`;
      return { status: 'fail', text, hint: `acs settings set llm_model=${llm_model}`, data };
    }
    if (keyState === 'unset' && flavour !== 'cloud') {
      const hint = 'if the model requires a key: acs settings set llm_api_key=@<file>';
      return warn(`${name}, without a key`, hint, data);
    }
    return pass(keyState === 'set' ? `${name}, with a key` : name, data);
  });

  await check('sandboxes', blocked, async () => {
    const { items, has_more } = await collectPages({
      fetch: (page, pageSize) => server.sandboxes.list(page, pageSize, 'none'),
      id: (sandbox) => sandbox.id,
      limit: MOST_SANDBOXES,
    });
    const running = items.filter(
      ({ status }) => status === 'running' || status === 'starting',
    ).length;
    const text = `${running} of ${items.length} running${has_more ? '; there are more' : ''}`;
    return pass(text, { running, total: items.length });
  });

  /** The local service does not start. */
  const unusable = (text: string, hint: string, data: Record<string, unknown>): Finding<never> => ({
    ...warn(text, hint, data),
    status: target?.local === true ? 'fail' : 'warn',
  });
  const noService = platform === 'win32' ? 'the local service does not run on Windows' : null;
  const dataDir = await check('local-service', noService, async () => {
    const service = await ctx.local.service();
    const status = await service.status();
    const { running, url, pid, version, data_dir: value } = status;
    const data = { running, url, pid, version, data_dir: value };
    try {
      await service.tryDataDir();
    } catch (error) {
      if (!isAppError(error)) throw error;
      const { message, details } = error;
      return { ...unusable(message, details.hint ?? 'see its log: acs serve --logs', data), value };
    }
    const found = await stat(value).catch(() => null);
    if (found !== null && isOpen(found)) {
      const text = `other users have access to ${value} (mode ${modeOf(found)})`;
      return { ...warn(text, `chmod 700 ${value}`, data), value };
    }
    if (!running) return { ...pass(`not running; its data is in ${value}`, data), value };
    const text = `${url} (pid ${pid}, version ${version}), data in ${value}`;
    if (status.sandboxes_running === null) {
      return {
        ...warn(`${text}; it does not answer`, 'see its log: acs serve --logs', data),
        value,
      };
    }
    if (version === acsVersion) return { ...pass(text, data), value };
    const hint = 'acs replaces it when it is idle; to stop it now: acs serve --stop';
    return { ...warn(`${text}; acs has version ${acsVersion}`, hint, data), value };
  });

  await check('disk', dataDir === null ? (noService ?? 'local-service failed') : null, async () => {
    let folder = dataDir as string;
    while ((await stat(folder).catch(() => null)) === null && folder !== path.dirname(folder)) {
      folder = path.dirname(folder); // it is created at the first start
    }
    const { bavail, bsize } = await statfs(folder);
    const data = { path: folder, free_bytes: bavail * bsize };
    const text = `${((bavail * bsize) / 1024 ** 3).toFixed(1)} GiB free at ${folder}`;
    if (bavail * bsize >= LITTLE_SPACE_BYTES) return pass(text, data);
    return warn(
      text,
      'free space for the local service, or set ACS_DATA_DIR to another file system',
      data,
    );
  });

  await check('isolation', noService, async () => {
    const found = await (await ctx.local.service()).isolation(ctx.signal);
    const data = { state: found.state };
    if (found.state === 'works') return pass('bubblewrap works', data);
    if (found.state === 'unavailable') {
      const text = `the local service cannot isolate sandboxes: ${found.why}`;
      return warn(text, 'install bubblewrap, or permit user namespaces to this user', data);
    }
    const text = `the trial of bubblewrap failed: ${found.why}`;
    const hint =
      'remove the cause, or run commands without isolation: acs serve --detach --spec process';
    return unusable(text, hint, data);
  });

  await check('node', null, async () =>
    pass(`Node ${nodeVersion}, acs ${acsVersion}, ${platform}`, {
      node: nodeVersion,
      acs: acsVersion,
      platform,
    }),
  );

  await check('git', null, async () => {
    const version = await gitVersion();
    if (version !== null) return pass(`git ${version}`, { version });
    return warn(
      'git is not installed',
      'install git: conv new --repo, conv diff and conv pull need it',
      { version },
    );
  });

  return results;
}

/**
 * Kinds of errors that show that the server was reached; the checks after `connection` report them.
 */
const ANSWERS: ReadonlySet<string> = new Set(['auth', 'server', 'unsupported', 'rate-limited']);
const RETHROWN: ReadonlySet<string> = new Set(['interrupted', 'usage', 'internal']);

function pass(text: string, data?: Finding<never>['data']): Finding<never> {
  return { status: 'pass', text, data };
}

function skip(text: string, data?: Finding<never>['data']): Finding<never> {
  return { status: 'skip', text, data };
}

function warn(text: string, hint: string, data?: Finding<never>['data']): Finding<never> {
  return { status: 'warn', text, hint, data };
}

function modeOf({ mode }: { mode: number }): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}
