/** Pages in Chromium, what the tests of pages check alike, and the records that pages are made of. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import axe from 'axe-core';
import { expect } from 'vitest';
import type { PageRecord } from '../../src/page/page.ts';
import type { ConversationDiff } from '../../src/domain/edits.ts';
import { blankConversation, type Conversation } from '../../src/domain/conversation.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';

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

export const LOOKS = [
  ['light', 1280],
  ['dark', 1280],
  ['light', 360],
  ['dark', 360],
] as const;

export async function look(tab: Tab, scheme: 'light' | 'dark', width: number): Promise<void> {
  await tab.send('Emulation.setEmulatedMedia', {
    features: [{ name: 'prefers-color-scheme', value: scheme }],
  });
  const size = { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 };
  await tab.send('Emulation.setDeviceMetricsOverride', size);
}

/**
 * The page in the tab, with all blocks open, has no violation of axe and fits the window.
 * @param least rules that have to apply to it
 */
export async function expectAccessible(
  tab: Tab,
  scheme: 'light' | 'dark',
  least = 16,
): Promise<void> {
  await tab.evaluate(
    "document.querySelectorAll('details').forEach((each) => { each.open = true; })",
  );
  await tab.evaluate(`${axe.source}; null`);
  const rules =
    'axe.run(document).then(({ violations, passes }) => ({ passes: passes.length, violations: ' +
    "violations.map(({ id, nodes }) => id + ': ' + nodes[0].html) }))";
  const { passes, violations } = await tab.evaluate<{ passes: number; violations: string[] }>(
    rules,
  );
  expect(violations).toEqual([]);
  expect(passes).toBeGreaterThanOrEqual(least);
  expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  const back = await tab.evaluate('getComputedStyle(document.body).backgroundColor');
  expect(back).toBe(scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(20, 23, 26)');
}

/** Texts of which each would run, load something or end its place, if it were markup. */
export const HOSTILE = [
  '<script>globalThis.ran = 1</script>',
  '</pre></style></title></textarea><script>globalThis.ran = 2</script>',
  '<img src=x onerror="globalThis.ran = 3">',
  '"><svg onload=globalThis.ran=4>',
  ']]><!-- --!> <style>*{display:none}</style>',
  '<link rel=stylesheet href=http://127.0.0.1:9/x.css><iframe src=http://127.0.0.1:9/></iframe>',
  '<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">',
  'bidi \u202e and control \u0000\u0007\u001b[2J and a lone surrogate \ud800',
  '../../x',
];

interface Parts {
  conversation?: Partial<Conversation>;
  events?: readonly ConversationEvent[];
  answer?: string | null;
  diff?: Partial<Omit<ConversationDiff, 'patch'>> & { patch?: string };
}

export function recordOf({
  conversation,
  events = [],
  answer = null,
  diff = {},
}: Parts): PageRecord {
  return {
    conversation: {
      ...blankConversation('c'.repeat(32), 'finished'),
      title: 'A run',
      ...conversation,
    },
    async *events() {
      await Promise.resolve();
      yield [...events];
    },
    answer: () => Promise.resolve(answer),
    diff: () =>
      Promise.resolve({
        source: 'workspace',
        files: [],
        omissions: [],
        ...diff,
        patch: Buffer.from(diff.patch ?? ''),
      }),
  };
}

export async function textOf(parts: AsyncIterable<string | Uint8Array>): Promise<string> {
  let text = '';
  for await (const part of parts) text += Buffer.from(part).toString('utf8');
  return text;
}

let count = 0;

export function event(
  kind: string,
  payload: Record<string, unknown>,
  members: Partial<ConversationEvent> = {},
) {
  count += 1;
  return {
    type: 'event' as const,
    id: `e${count}`,
    conversation_id: 'c'.repeat(32),
    timestamp: '2026-11-22T10:00:00.000000Z',
    source: 'agent',
    kind,
    text: '',
    payload,
    signal: null,
    ...members,
  };
}

/** A command and its observation. */
export function ran(command: string, output: string, exitCode = 0): ConversationEvent[] {
  const action = event(
    'ActionEvent',
    { action: { kind: 'TerminalAction', command }, thought: [{ type: 'text', text: '' }] },
    { text: `$ ${command}` },
  );
  const observation = {
    kind: 'TerminalObservation',
    content: [{ type: 'text', text: output }],
    exit_code: exitCode,
    is_error: false,
  };
  return [
    action,
    event(
      'ObservationEvent',
      { observation, action_id: action.id },
      { source: 'environment', text: output },
    ),
  ];
}
