/**
 * Builds the real context from what main.ts read of the process. Each part is made when a command first uses it, so
 * that `--help` and `--version` load nothing.
 */
import type { Context, GlobalOptions } from './context.ts';
import { AppError } from './errors.ts';
import { DEFAULT_GLOBALS } from './global-options.ts';
import { createEmitter } from './output/emit.ts';
import type { Emitter } from './output/emit.ts';
import { noticeLine, warningLine } from './output/notices.ts';
import { paletteFor } from './terminal/palette.ts';
import { KEY_VARIABLES, withoutKeys } from './text/key-variables.ts';
import { createSecretKeeper } from './text/secret-keeper.ts';
import { createConnections } from './wire/connections.ts';
import type { Platform } from './wire/platform.ts';
import { configDirectory, createTargets } from './wire/targets.ts';

declare const ACS_VERSION: string;

export function createContext(platform: Platform): Context {
  const { io, env, clock, signal } = platform;
  const offTerminal = !io.stdin.isTTY || !io.stderr.isTTY || isSet(env.CI);
  // Also the ones that are not used: they may be given again in the wrong place, and be repeated in an error.
  const secrets = createSecretKeeper(KEY_VARIABLES.flatMap((name) => env[name] ?? []));
  let globals: GlobalOptions = DEFAULT_GLOBALS;
  let emitter: Emitter | null = null;
  const cache = once(async () => {
    const { openServerCache } = await import('./profiles/cache.ts');
    return openServerCache({ configDir: configDirectory(platform), now: () => clock.now() });
  });

  const columns = () => (io.stderr.isTTY ? io.stderr.columns : undefined);
  const palette = (isTTY: boolean) => paletteFor({ isTTY, env, color: globals.color });

  const context: Context = {
    io,
    env,
    cwd: platform.cwd,
    clock,
    signal,
    offTerminal,
    exitCode: 0,
    dryRun: { requests: [] },
    get globals() {
      return globals;
    },
    set globals(given) {
      globals = given;
      emitter = null; // made for other flags
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
      });
      return emitter;
    },
    notice: (text) => io.stderr.write(noticeLine(secrets.text(text), globals.format, columns())),
    warn: async (text) =>
      io.stderr.write(warningLine(secrets.text(text), globals.format, await palette(io.stderr.isTTY), columns())),
    palette: () => palette(io.stderr.isTTY),
    keepSecret: secrets.keep,
    redact: secrets.text,
    async progress(text, elsewhere) {
      const [{ createProgress }, { watchTerminal: watch }] = await Promise.all([
        import('./terminal/progress.ts'),
        import('./wire/terminal-events.ts'),
      ]);
      return createProgress({ io, env, globals, signal, watch, text, elsewhere });
    },
    prompt: once(async () => {
      if (!context.interactive) throw promptsOff();
      const { createPrompt } = await import('./terminal/prompt.ts');
      return createPrompt({ io, env: withoutKeys(env), platform: platform.platform, signal, color: globals.color });
    }),
    async lineInput() {
      const [{ openLineInput }, { watchTerminal: watch, stopProcess }] = await Promise.all([
        import('./terminal/line-input.ts'),
        import('./wire/terminal-events.ts'),
      ]);
      return openLineInput({ io, signal, watch, stopProcess });
    },
    openBrowser: async (url) => (await import('./terminal/browser.ts')).openInBrowser(url, platform),
    server: once(async (within?: AbortSignal) => await connections.of(await targets.plan(), within)),
    async servers(within) {
      const plans = await targets.plans();
      return plans.map((plan) => {
        const server = connections.of(plan, within);
        server.catch(() => undefined); // handled by its caller later; until then it must not be an unhandled rejection
        return { profile: plan.profile ?? plan.origin, server };
      });
    },
    target: once(async () => await targets.fill(await targets.plan())),
    profiles: once(async () => {
      const { openProfileStore } = await import('./profiles/store.ts');
      const hasModes = platform.platform !== 'win32';
      return openProfileStore({
        configDir: configDirectory(platform),
        ...(hasModes ? { notice: (text) => context.notice(text) } : {}),
      });
    }),
    async checkout(dir = platform.cwd) {
      const { readCheckout } = await import('./checkout/index.ts');
      return await readCheckout(dir, { env: withoutKeys(env), signal });
    },
    async readRepository(text) {
      const { parseRepository } = await import('./checkout/index.ts');
      return parseRepository(text);
    },
    async branchOnRemote(remote, branch, dir = platform.cwd) {
      const { branchOnRemote } = await import('./checkout/index.ts');
      return await branchOnRemote(remote, branch, { cwd: dir, env: withoutKeys(env), signal });
    },
    async retriever() {
      const { createRetriever } = await import('./checkout/pull/index.ts');
      return createRetriever({ env: withoutKeys(env), signal, pid: process.pid, isRunning });
    },
    localService: once(async () => {
      const { createLocalService } = await import('./wire/local-service.ts');
      const log = (line: string) => void context.notice(line).catch(() => undefined);
      const connect = (target: { base_url: string; key: string }) => connections.to({ ...target, local: true });
      return await createLocalService({ ...platform, env: withoutKeys(env), version: ACS_VERSION, log, connect });
    }),
    async lockFile(file) {
      const { lockFile } = await import('./wire/file-lock.ts');
      return lockFile(file);
    },
    readKey: (from) => targets.newKey(from),
    connectedServers: () => connections.urls(),
    connect: (target, within) => connections.to({ local: false, ...target }, within),
    deviceFlow: (baseUrl) => connections.deviceFlow(baseUrl),
    async reach(timeoutMs) {
      const { createReach } = await import('./servers/reach/index.ts');
      return createReach({ env: withoutKeys(env), clock, signal, secrets, node: process.execPath, timeoutMs });
    },
    machine: once(async () => (await import('./wire/machine.ts')).createMachine(platform, ACS_VERSION)),
    lastConversation: {
      get: async (origin) => (await cache()).last.get(connections.memoryKey(origin)),
      set: async (origin, id) => (await cache()).last.set(connections.memoryKey(origin), id),
    },
    dispose: () => connections.close(),
  };
  const targets = createTargets(platform, context);
  const connections = createConnections({ platform, context, targets, cache, secrets });
  return context;
}

/** Makes a value on first use and keeps it; a failure is not kept. */
function once<T, A extends unknown[]>(make: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let made: Promise<T> | null = null;
  return (...args) => {
    made ??= make(...args).catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== 'false';
}

function promptsOff(): AppError {
  return new AppError('usage', 'an answer is required and prompts are off', {
    hint: 'give the answer as a flag or an argument; -y confirms changes',
  });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
