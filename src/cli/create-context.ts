/** Each part is made on first use: `--help` and `--version` load nothing. */
import type { Context, GlobalOptions, Platform } from '../commands/context.ts';
import { AppError, fileProblem } from '../base/errors.ts';
import { DEFAULT_GLOBALS } from './global-options.ts';
import { createEmitter, type Emitter } from '../output/emit.ts';
import { errorText } from '../output/render.ts';
import { noticeLine, warningLine } from '../base/text/notice.ts';
import { paletteFor } from '../terminal/palette.ts';
import { KEY_VARIABLES, withoutKeys } from '../base/text/secret-names.ts';
import { createSecretKeeper } from '../base/text/redact.ts';
import { configDirectory, Servers } from './create-context/servers.ts';
import type { TerminalEvents } from '../terminal/status-line.ts';

declare const ACS_VERSION: string;

export function createContext(platform: Platform): Context {
  const { io, env, clock, signal } = platform;
  const isCi = !['', 'false'].includes(env.CI ?? '');
  const offTerminal = !io.stdin.isTTY || !io.stderr.isTTY || isCi;
  // Also the ones that are not used: they may be given again in the wrong place, and be repeated in
  // an error.
  const secrets = createSecretKeeper(KEY_VARIABLES.flatMap((name) => env[name] ?? []));
  let globals: GlobalOptions = DEFAULT_GLOBALS;
  let emitter: Emitter | null = null;
  const openActive = () => ({
    server: once((...options: Parameters<Context['server']>) => servers.active(...options)),
    target: once(async () => await servers.fill(await servers.plan())),
  });
  let active = openActive();
  const columns = () => (io.stderr.isTTY ? io.stderr.columns : undefined);
  /** -q: ids on stdout, errors on stderr, and nothing else but questions. */
  const isQuiet = () => globals.format === 'id';
  // A pager waits for keys, as a prompt does.
  const mayPage = () =>
    globals.pager === 'auto' && globals.input === 'allowed' && !isCi && env.TERM !== 'dumb';
  const palette = (isTTY: boolean) => paletteFor({ isTTY, env, color: globals.color });

  const context: Context = {
    io,
    env,
    cwd: platform.cwd,
    clock,
    signal,
    offTerminal,
    exitCode: 0,
    get globals() {
      return globals;
    },
    set globals(given) {
      globals = given;
      emitter = null; // made for other flags
      active = openActive();
    },
    get interactive() {
      return !offTerminal && globals.input === 'allowed';
    },
    get out() {
      emitter ??= createEmitter({
        io,
        globals,
        jq: { file: `${platform.root}/dist/jq.js`, signal },
        cwd: platform.cwd,
        now: () => clock.now(),
        palette: () => palette(io.stdout.isTTY),
        redact: secrets.text,
        isRedacted: secrets.isRedacted,
        ...(mayPage() && {
          page: async (text) => {
            const { page } = await import('../terminal/pager.ts');
            await page(text, {
              stdout: io.stdout,
              env,
              platform: platform.platform,
              ignoreInterrupts,
            });
          },
        }),
      });
      return emitter;
    },
    async notice(text, of) {
      if (!isQuiet() || of === 'question')
        await io.stderr.write(noticeLine(secrets.text(text), globals.format, columns()));
    },
    async warn(text) {
      if (isQuiet()) return;
      const colors = await palette(io.stderr.isTTY);
      await io.stderr.write(warningLine(secrets.text(text), globals.format, colors, columns()));
    },
    async quietError(text) {
      if (isQuiet())
        await io.stderr.write(
          errorText(new AppError('failed', text), 'id', { redact: secrets.text }),
        );
    },
    palette: () => palette(io.stderr.isTTY),
    keepSecret: secrets.keep,
    redact: secrets.text,
    async progress(text, elsewhere) {
      const { createProgress, NOTHING } = await import('../terminal/progress.ts');
      return isQuiet()
        ? NOTHING
        : createProgress({ io, env, globals, signal, watch: watchTerminal, text, elsewhere });
    },
    prompt: once(async () => {
      if (!context.interactive) {
        throw new AppError('usage', 'an answer is required, and prompts are disabled', {
          hint: 'give the answer as a flag or an argument; -y confirms changes',
        });
      }
      const { createPrompt } = await import('../terminal/prompt.ts');
      const interrupt = (): void => void process.kill(process.pid, 'SIGINT');
      const look = { color: globals.color, redact: secrets.text };
      return createPrompt({
        io,
        env: withoutKeys(env),
        platform: platform.platform,
        signal,
        interrupt,
        ...look,
      });
    }),
    async lineInput() {
      const { openLineInput } = await import('../terminal/line-input.ts');
      return openLineInput({ io, signal, watch: watchTerminal, stopProcess });
    },
    openBrowser: async (url) =>
      (await import('../terminal/browser.ts')).openInBrowser(url, platform),
    server: (...options) => active.server(...options),
    target: () => active.target(),
    plan: () => servers.plan(),
    profiles: once(async () => {
      const { openProfileStore } = await import('../local/profiles/store.ts');
      const hasModes = platform.platform !== 'win32';
      return openProfileStore({
        configDir: configDirectory(platform),
        lock: (file) => context.lockFile(file),
        ...(hasModes ? { notice: (text) => context.notice(text) } : {}),
      });
    }),
    async checkout(dir = platform.cwd) {
      const { readCheckout } = await import('../local/checkout/index.ts');
      return await readCheckout(dir, { env: withoutKeys(env), signal });
    },
    async readRepository(text) {
      const { parseRepository } = await import('../local/checkout/index.ts');
      return parseRepository(text);
    },
    async branchOnRemote(remote, branch, dir = platform.cwd) {
      const { branchOnRemote } = await import('../local/checkout/index.ts');
      return await branchOnRemote(remote, branch, { cwd: dir, env: withoutKeys(env), signal });
    },
    async retriever() {
      const { createRetriever } = await import('../local/checkout/pull.ts');
      return createRetriever({ env: withoutKeys(env), signal });
    },
    localService: once(async () => {
      const { createLocalService } = await import('./create-context/local-service.ts');
      const log = (line: string) => void context.notice(line).catch(() => undefined);
      return await createLocalService({
        ...platform,
        env: withoutKeys(env),
        version: ACS_VERSION,
        log,
      });
    }),
    lockFile,
    readKey: (from) => servers.readKey(from),
    connectedServers: () => servers.urls(),
    connect: (target, within) => servers.connect({ local: false, ...target }, within),
    deviceFlow: (baseUrl) => servers.deviceFlow(baseUrl),
    modelEndpoint: (baseUrl, key) => servers.modelEndpoint(baseUrl, key),
    machine: () =>
      Promise.resolve({
        root: platform.root,
        platform: platform.platform,
        nodeVersion: process.versions.node,
        acsVersion: ACS_VERSION,
        gitVersion: async () =>
          (await import('../local/checkout/git.ts')).gitVersion({
            cwd: platform.cwd,
            env: withoutKeys(env),
            signal,
          }),
      }),
    get lastConversation() {
      return servers.lastConversation();
    },
    dispose: () => servers.close(),
  };
  const servers = new Servers(platform, context, secrets);
  return context;
}

/** A failure is not kept. */
function once<T, A extends unknown[]>(
  make: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let made: Promise<T> | null = null;
  return (...args) => {
    made ??= make(...args).catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}

function watchTerminal({ onResize, onStop, onContinue }: TerminalEvents): () => void {
  const stop = (): void => {
    onStop?.();
    // Without a listener the signal does what it does by default, which depends on the shell that
    // started the process.
    process.off('SIGTSTP', stop);
    stopProcess();
    process.on('SIGTSTP', stop);
    onContinue();
  };
  if (onStop !== undefined) process.on('SIGTSTP', stop);
  process.on('SIGCONT', onContinue);
  process.on('SIGWINCH', onResize);
  return () => {
    process.off('SIGTSTP', stop);
    process.off('SIGCONT', onContinue);
    process.off('SIGWINCH', onResize);
  };
}

function ignoreInterrupts(): () => void {
  const listeners = process.listeners('SIGINT');
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  for (const listener of listeners) process.off('SIGINT', listener);
  return () => {
    for (const listener of listeners) process.on('SIGINT', listener);
    process.off('SIGINT', ignore);
  };
}

function stopProcess(): void {
  process.kill(process.pid, 'SIGTSTP');
}

export async function lockFile(file: string): Promise<{ release(): void } | { pid: number }> {
  const { isHeld, takeLock } = await import('../service/lifecycle/lock.ts');
  const lock = `${file}.lock`;
  try {
    const taken = takeLock(lock);
    return isHeld(taken) ? taken : { pid: taken.pid };
  } catch (error) {
    const { reason, hint } = fileProblem(error);
    throw new AppError('config', `cannot lock ${lock}: ${reason}`, { hint, cause: error });
  }
}
