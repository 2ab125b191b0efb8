/**
 * A real browser for tests of pages: Chromium of the system without a window, spoken to over its
 * debugging pipe. Cases that need it are skipped where it is not installed, which counts them
 * (not-run.ts).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';

const FILES = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'chromium'));
const program = FILES.find((file) => existsSync(file));

export const hasChromium = program !== undefined;

type Members = Record<string, unknown>;

export interface Tab {
  /** Opens an address, and returns when it has been loaded. */
  open(url: string): Promise<void>;
  /** The value of an expression, awaited. */
  evaluate<T>(expression: string): Promise<T>;
  /** A command of the Chrome DevTools Protocol. */
  send<T = Members>(method: string, params?: Members): Promise<T>;
  /**
   * Addresses of the requests since `open`, without those that the policy of the page has blocked.
   */
  requests(): string[];
}

export interface Browser {
  tab: Tab;
  close(): Promise<void>;
}

interface Message {
  id?: number;
  method?: string;
  params?: Members;
  result?: Members;
  error?: { message: string };
}

export async function startChromium(): Promise<Browser> {
  if (program === undefined) throw new Error('chromium is not installed');
  const profile = mkdtempSync(path.join(tmpdir(), 'acs-chromium-'));
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
  ];
  const child = spawn(
    program,
    [...flags, '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      // It writes there beside its profile.
      env: { ...process.env, HOME: profile, TMPDIR: profile },
    },
  );
  const exited = once(child, 'exit');
  const [input, output] = [child.stdio[3] as Writable, child.stdio[4] as Readable];
  const waiting = new Map<number, (message: Message) => void>();
  const listeners = new Set<(message: Message) => void>();
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\0');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const message = JSON.parse(part) as Message;
      if (message.id === undefined) for (const listen of listeners) listen(message);
      else waiting.get(message.id)?.(message);
    }
  });
  let lastId = 0;
  const call = async <T>(method: string, params: Members = {}, sessionId?: string): Promise<T> => {
    const id = ++lastId;
    const answered = new Promise<Message>((resolve) => waiting.set(id, resolve));
    input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const message = await Promise.race([
      answered,
      exited.then(() => ({ error: { message: 'chromium has ended' } })),
    ]);
    waiting.delete(id);
    if (message.error) throw new Error(`${method}: ${message.error.message}`);
    return (message as Message).result as T;
  };
  const { targetId } = await call<{ targetId: string }>('Target.createTarget', {
    url: 'about:blank',
  });
  const { sessionId } = await call<{ sessionId: string }>('Target.attachToTarget', {
    targetId,
    flatten: true,
  });
  const send: Tab['send'] = (method, params) => call(method, params, sessionId);
  const requests = new Map<unknown, string>();
  listeners.add(({ method, params = {} }) => {
    const { requestId, request, blockedReason } = params;
    if (method === 'Network.requestWillBeSent')
      requests.set(requestId, (request as { url: string }).url);
    if (method === 'Network.loadingFailed' && blockedReason === 'csp') requests.delete(requestId);
  });
  await send('Page.enable');
  await send('Network.enable');
  return {
    tab: {
      send,
      requests: () => [...requests.values()],
      async open(url) {
        requests.clear();
        const loaded = new Promise<void>((resolve) => {
          const listen = ({ method }: Message): void => {
            if (method !== 'Page.loadEventFired') return;
            listeners.delete(listen);
            resolve();
          };
          listeners.add(listen);
        });
        await send('Page.navigate', { url });
        await loaded;
      },
      async evaluate<T>(expression: string) {
        const { result, exceptionDetails } = await send<{
          result: { value: T };
          exceptionDetails?: { text: string };
        }>('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
        if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
        return result.value;
      },
    },
    async close() {
      await call('Browser.close').catch(() => undefined);
      await exited;
      rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
