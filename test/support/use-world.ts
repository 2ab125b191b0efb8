/**
 * The world of command tests: a folder, a server that the test scripts, and the command line
 * in-process. What the script does not answer, the real local service answers; with `script` there
 * is no service.
 *
 *     const at = useWorld({ api: 'v1', spec: 'process' });
 *     at.rows({
 *       'sandbox list exits 7 when the server still answers 429 after the retries': {
 *         server: { 'GET /api/v1/sandboxes/search': { status: 429, json: {} } },
 *         acs: 'sandbox list',
 *         code: 7,
 *       },
 *     });
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import {
  routed,
  startFake,
  type Asked,
  type FakeServer,
  type Handler,
  type Routes,
} from './server.ts';
import { TestClock } from './test-clock.ts';
import {
  createWorld,
  invoke,
  type Ended,
  type Invocation,
  type World,
  type WorldOptions,
} from './world.ts';

/** Words of a command line separated by blanks, or the words. */
type Line = string | readonly string[];

/**
 * How a command ends. A text of `out` is all of it, one of `err` a part; an object is compared with
 * the JSON of stdout.
 */
export interface Ending {
  /** 0 without one. */
  code?: number;
  out?: string | RegExp | object;
  err?: string | RegExp | readonly (string | RegExp)[];
  /** `METHOD /path?query` of the requests that are no reads. */
  writes?: readonly string[];
  /** The number of requests. */
  requests?: number;
  /** The questions that were asked. */
  questions?: readonly unknown[];
  /** What is printed nowhere. */
  hides?: string | RegExp;
}

export interface Row extends Ending, Omit<Invocation, 'args'> {
  acs: Line;
  /** Answers in front of those of the suite. */
  server?: Routes;
}

export interface SuiteOptions extends WorldOptions {
  /** Answers in place of a local service. */
  script?: Handler;
  /** `none`: the commands get neither a server nor a key. */
  target?: 'server' | 'none';
  /**
   * Whether a test knows what the tests before it have stored, such as the probe of the server.
   * Default: `suite`.
   */
  configPer?: 'suite' | 'test';
  /**
   * For each command. Without one, pauses are over at once where a script answers, and it is real
   * time where the local service does, whose sandboxes take real time.
   */
  clock?: () => Clock;
  /**
   * Over V1, one sandbox for the runs that helpers start: starting a sandbox takes three times as
   * long as starting a conversation in it.
   */
  oneSandbox?: boolean;
  /** Of the words of each row. */
  noun?: string;
}

export interface Suite {
  /** The local service; set while tests run. */
  readonly world: World;
  /**
   * Between the commands and the service. What it was asked and what a test scripted is gone before
   * the next test.
   */
  readonly server: FakeServer;
  /** HOME and working directory of the commands, the same for all tests. */
  readonly dir: string;
  /**
   * Of the suite; with the target `none` or `configPer: 'test'` another one for each test. Made by
   * the first command that stores something.
   */
  readonly configDir: string;
  readonly env: Record<string, string | undefined>;
  acs(...args: string[]): Promise<Ended>;
  invoke(invocation: Invocation): Promise<Ended>;
  /** The JSON that a command prints, which has to exit 0. */
  json<T = Record<string, unknown>>(line: Line, more?: Omit<Invocation, 'args'>): Promise<T>;
  /** Runs a command that has to end so. */
  ends(line: Line, ending: Ending & Omit<Invocation, 'args'>): Promise<Ended>;
  /** Scripts answers in front of those of the suite, until the end of the test. */
  script(routes: Routes | ((asked: Asked) => ReturnType<Handler> | null)): void;
  /** `METHOD /path?query` of the requests that were no reads. */
  writes(): string[];
  /** Writes a file into the folder, anything but text and bytes as JSON; its name. */
  file(name: string, content: unknown): Promise<string>;
  /** A test for each row, by its title. */
  rows(rows: Record<string, Row>): void;
}

export const KEY = 'app-key-0123456789';

/** A world for the enclosing suite, closed after it. */
export function useWorld({
  script,
  target = 'server',
  configPer,
  clock,
  noun,
  oneSandbox = false,
  ...options
}: SuiteOptions = {}): Suite {
  let world: World | null = null;
  let dir: string;
  let server: FakeServer;
  let tests = 0;
  const service = (): World => world ?? expect.fail('there is no local service beside a script');
  const base: Handler = script ?? (() => ({ pass: service().service.url }));
  const clockOf =
    clock ?? (script && (() => new TestClock({ movedBy: 'sleeps', startMs: Date.now() })));

  beforeAll(async () => {
    if (script === undefined) world = await createWorld(options);
    if (world !== null && oneSandbox && options.api !== 'v0')
      world.sandbox = (await world.acs('sandbox', 'start', '-q')).out.trim();
    dir = world?.dir ?? (await mkdtemp(path.join(tmpdir(), 'acs-test-')));
    server = await startFake(base);
  });
  beforeEach(() => {
    tests += 1;
    Object.assign(server, { handler: base, acceptSocket: () => true, onSocket: () => undefined });
    server.asked.length = 0;
    for (const socket of server.sockets.splice(0)) socket.terminate();
  });
  afterAll(async () => {
    await server.close();
    await world?.close();
    await rm(dir, { recursive: true, force: true });
  });

  const words = (line: Line): string[] => [
    ...(noun?.split(' ') ?? []),
    ...(typeof line === 'string' ? line.split(' ').filter((word) => word !== '') : line),
  ];
  const at: Suite = {
    get world() {
      return service();
    },
    get server() {
      return server;
    },
    get dir() {
      return dir;
    },
    get configDir() {
      return path.join(
        dir,
        target === 'none' || configPer === 'test' ? `config-${tests}` : 'config',
      );
    },
    get env() {
      const known =
        target === 'none'
          ? {}
          : { ACS_BASE_URL: server.url, ACS_API_KEY: world?.service.key ?? KEY };
      return {
        PATH: process.env.PATH,
        HOME: world?.home ?? dir,
        ACS_CONFIG_DIR: at.configDir,
        ...known,
      };
    },
    acs: (...args) => at.invoke({ args: words(args) }),
    invoke: (invocation) =>
      invoke({
        clock: clockOf?.(),
        cwd: dir,
        ...invocation,
        env: { ...at.env, ...invocation.env },
      }),
    async json<T>(line: Line, more = {}) {
      const { out } = await at.ends(
        [...words(line).slice(noun?.split(' ').length ?? 0), '--json'],
        more,
      );
      return JSON.parse(out) as T;
    },
    async ends(line, { code = 0, out, err = [], writes, requests, questions, hides, ...more }) {
      const ended = await at.invoke({ ...more, args: words(line) });
      expect(ended.code, `${words(line).join(' ')}: ${ended.err}`).toBe(code);
      if (typeof out === 'string') expect(ended.out).toBe(out);
      else if (out instanceof RegExp) expect(ended.out).toMatch(out);
      else if (out !== undefined) expect(JSON.parse(ended.out)).toMatchObject(out);
      for (const part of typeof err === 'string' || err instanceof RegExp ? [err] : err) {
        if (part === '') expect(ended.err).toBe('');
        else if (typeof part === 'string') expect(ended.err).toContain(part);
        else expect(ended.err).toMatch(part);
      }
      if (writes !== undefined) expect(at.writes()).toEqual(writes);
      if (requests !== undefined) expect(server.asked.map(({ url }) => url)).toHaveLength(requests);
      if (questions !== undefined) expect(ended.questions).toEqual(questions);
      if (hides !== undefined) expect(ended.out + ended.err).not.toMatch(hides);
      return ended;
    },
    script(routes) {
      const { handler } = server;
      server.handler =
        typeof routes === 'function'
          ? (asked) => routes(asked) ?? handler(asked)
          : routed(routes, handler);
    },
    writes: () => server.writes().map(({ method, url }) => `${method} ${url}`),
    async file(name, content) {
      const data =
        typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content);
      await writeFile(path.join(dir, name), data);
      return name;
    },
    rows(rows) {
      for (const [title, { acs, server: routes = {}, ...row }] of Object.entries(rows))
        it(title, async () => {
          at.script(routes);
          await at.ends(acs, row);
        });
    },
  };
  return at;
}

interface ErrorJson extends Record<string, unknown> {
  code: string;
  message: string;
  hint: string;
}

/** The error of a command with --json: its last line on stderr. */
export function errorOf({ err }: Pick<Ended, 'err'>): ErrorJson {
  return (JSON.parse(err.trimEnd().split('\n').at(-1) ?? '') as { error: ErrorJson }).error;
}
