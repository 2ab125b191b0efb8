/** Each part is made on first use: `--help` and `--version` load nothing. */
import type {
  Context,
  Git,
  GlobalOptions,
  Local,
  Platform,
  Profiles,
  Terminal,
} from '../commands/context.ts';
import { AppError } from '../base/errors.ts';
import { DEFAULT_GLOBALS } from './global-options.ts';
import { Emitter } from '../output/emit.ts';
import { errorText } from '../output/render.ts';
import { noticeLine, warningLine } from '../base/text/notice.ts';
import { isCi, paletteFor } from '../terminal/palette.ts';
import { KEY_VARIABLES, withoutKeys } from '../base/text/secret-names.ts';
import { createSecretKeeper, type SecretKeeper } from '../base/text/redact.ts';
import { once } from '../base/once.ts';
import { configDirectory } from '../local/config-directory.ts';
import { createServers, keyReaders, type Parts } from './create-context/servers.ts';
import type { TerminalEvents } from '../terminal/status-line.ts';

declare const ACS_VERSION: string;

export interface ProgramContext extends Context {
  /** Assigned once, when the command line has been read, and before anything is made of it. */
  globals: GlobalOptions;
  dispose(): Promise<void>;
}

export function createContext(platform: Platform): ProgramContext {
  const { clock, signal, env } = platform;
  // Unused keys are masked too: one in the wrong place may be repeated in an error.
  const secrets = createSecretKeeper(KEY_VARIABLES.flatMap((name) => env[name] ?? []));
  const globals = (): GlobalOptions => context.globals;
  const messages = messagesOf(platform, globals, secrets);
  const parts: Parts = { platform, globals, secrets, notice: messages.notice };
  const terminal = terminalOf(parts);
  const profiles = profilesOf(parts);
  const local = localOf(parts);
  const { close, ...servers } = createServers({
    ...parts,
    offTerminal: terminal.offTerminal,
    store: profiles.store,
    localService: local.service,
  });
  let emitter: Emitter | null = null;
  const context: ProgramContext = {
    globals: DEFAULT_GLOBALS,
    clock,
    signal,
    exitCode: 0,
    get out() {
      return (emitter ??= outputOf(parts));
    },
    ...messages,
    terminal,
    git: gitOf(platform),
    profiles,
    servers,
    local,
    dispose: close,
  };
  return context;
}

/** -q: ids on stdout, errors on stderr, and nothing else but questions. */
const isQuiet = (globals: GlobalOptions): boolean => globals.format === 'id';

function messagesOf(
  { io: { stderr }, env }: Platform,
  globals: () => GlobalOptions,
  secrets: SecretKeeper,
): Pick<Context, 'notice' | 'warn'> {
  const columns = () => (stderr.isTTY ? stderr.columns : undefined);
  return {
    async notice(text, of) {
      const { format } = globals();
      if (!isQuiet(globals()) || of === 'question')
        await stderr.write(noticeLine(secrets.text(text), format, columns()));
    },
    async warn(text) {
      const { format, color } = globals();
      if (isQuiet(globals())) return;
      const colors = await paletteFor(stderr, env, color);
      await stderr.write(warningLine(secrets.text(text), format, colors, columns()));
    },
  };
}

function outputOf({ platform, globals, secrets }: Parts): Emitter {
  const { io, env, cwd, clock, signal } = platform;
  const { color, pager, input } = globals();
  // A pager waits for keys, as a prompt does.
  const mayPage = pager === 'auto' && input === 'allowed' && !isCi(env) && env.TERM !== 'dumb';
  const page = async (text: string): Promise<void> => {
    const { page } = await import('../terminal/pager.ts');
    await page(text, { stdout: io.stdout, env, platform: platform.platform, ignoreInterrupts });
  };
  return new Emitter({
    io,
    globals: globals(),
    jq: { file: `${platform.root}/dist/jq.js`, signal },
    cwd,
    now: () => clock.now(),
    palette: () => paletteFor(io.stdout, env, color),
    redact: secrets.text,
    isRedacted: secrets.isRedacted,
    page: mayPage ? page : undefined,
  });
}

function terminalOf({ platform, globals, secrets }: Parts): Terminal {
  const { io, env, signal } = platform;
  const offTerminal = !io.stdin.isTTY || !io.stderr.isTTY || isCi(env);
  const terminal: Terminal = {
    io,
    offTerminal,
    get interactive() {
      return !offTerminal && globals().input === 'allowed';
    },
    palette: () => paletteFor(io.stderr, env, globals().color),
    async quietError(text) {
      const shown = errorText(new AppError('failed', text), 'id', { redact: secrets.text });
      if (isQuiet(globals())) await io.stderr.write(shown);
    },
    keepSecret: secrets.keep,
    redact: secrets.text,
    async progress(text, elsewhere, above) {
      const { createProgress } = await import('../terminal/progress.ts');
      const watch = watchTerminal;
      return createProgress({ io, env, globals: globals(), signal, watch, text, elsewhere, above });
    },
    async screen(lines, status) {
      const { StatusLine } = await import('../terminal/status-line.ts');
      return new StatusLine({
        // The lines are data.
        io: { stderr: io.stdout, stdout: io.stderr },
        palette: await paletteFor(io.stdout, env, globals().color),
        text: status,
        above: lines,
        signal,
        watch: watchTerminal,
      });
    },
    prompt: once(async () => {
      if (!terminal.interactive) {
        throw new AppError('usage', 'an answer is required, and prompts are disabled', {
          hint: 'give the answer as a flag or an argument; -y confirms changes',
        });
      }
      const { createPrompt } = await import('../terminal/prompt.ts');
      return createPrompt({
        io,
        env: withoutKeys(env),
        platform: platform.platform,
        signal,
        interrupt: () => void process.kill(process.pid, 'SIGINT'),
        color: globals().color,
        redact: secrets.text,
      });
    }),
    async lineInput() {
      const { LineInput } = await import('../terminal/line-input.ts');
      return new LineInput({ io, signal, watch: watchTerminal, stopProcess });
    },
    openBrowser: async (url) =>
      (await import('../terminal/browser.ts')).openInBrowser(url, platform),
  };
  return terminal;
}

function gitOf({ env, signal, cwd }: Platform): Git {
  const options = { env: withoutKeys(env), signal };
  const load = () => import('../local/checkout/index.ts');
  return {
    checkout: async (dir = cwd) => await (await load()).readCheckout(dir, options),
    readRepository: async (text) => (await load()).parseRepository(text),
    branchOnRemote: async (remote, branch, dir = cwd) =>
      await (await load()).branchOnRemote(remote, branch, { ...options, cwd: dir }),
    branchCommit: async (branch, dir) =>
      await (await load()).branchCommit(branch, { ...options, cwd: dir }),
    localBranches: async () => await (await load()).localBranches({ ...options, cwd }),
    prove: async (dir) => await (await load()).writeProof({ ...options, cwd: dir }),
    async retriever() {
      const { Retriever } = await import('../local/checkout/pull.ts');
      return new Retriever(options);
    },
    async uncommitted(dir) {
      const { listUncommitted } = await import('../local/checkout/snapshot.ts');
      return await listUncommitted(dir, options);
    },
    async snapshot(checkout, names) {
      const { snapshot } = await import('../local/checkout/snapshot.ts');
      return await snapshot(checkout, names, options);
    },
  };
}

function profilesOf({ platform, notice }: Parts): Profiles {
  return {
    store: once(async () => {
      const { ProfileStore } = await import('../local/profiles/store.ts');
      const hasModes = platform.platform !== 'win32';
      return new ProfileStore(configDirectory(platform), hasModes ? notice : null);
    }),
    async readKey(from) {
      const { fetchKey } = await import('../local/profiles/key.ts');
      return (await fetchKey(from, keyReaders(platform, notice)))?.value ?? null;
    },
  };
}

function localOf({ platform, notice }: Parts): Local {
  const { cwd, env, home, signal } = platform;
  return {
    env,
    cwd,
    home,
    service: once(async () => {
      const { LocalService } = await import('./create-context/local-service.ts');
      const log = (line: string) => void notice(line).catch(() => undefined);
      const version = ACS_VERSION;
      return new LocalService({ ...platform, env: withoutKeys(env), version, log });
    }),
    machine: () => ({
      root: platform.root,
      platform: platform.platform,
      nodeVersion: process.versions.node,
      acsVersion: ACS_VERSION,
      async gitVersion() {
        const { gitVersion } = await import('../local/checkout/git.ts');
        return await gitVersion({ cwd, env: withoutKeys(env), signal });
      },
    }),
  };
}

function watchTerminal({ onResize, onStop, onContinue }: TerminalEvents): () => void {
  const stop = (): void => {
    onStop?.();
    // Without a listener the signal does what the shell that started the process has set.
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
