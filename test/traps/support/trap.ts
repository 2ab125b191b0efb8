/**
 * The command line at a server that behaves as a genuine one was seen to: its shapes, and its faults. Time goes faster
 * than on the wall, so that a server may be 30 s late, and only while command and server have nothing to do.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { clockFrom } from '../../../src/clock.ts';
import type { Clock } from '../../../src/clock.ts';
import { startFake, type FakeServer, type Handler } from '../../servers/support/fake-server.ts';
import { startLoose, type LooseOptions, type LooseServer } from '../../servers/support/loose-server.ts';
import { createV1World, KEY, type V1World } from '../../servers/support/v1-world.ts';
import { idleClock } from '../../support/idle-clock.ts';
import { invoke, type Ended, type Invocation } from '../../support/world.ts';

/** How many times as fast as on the wall of an idle machine. */
const USUAL_SPEED = 30;

export interface Commands {
  dir: string;
  clock: Clock;
  acs(...args: string[]): Promise<Ended>;
  invoke(invocation: Omit<Invocation, 'cwd'>): Promise<Ended>;
  /** Removes the folder. */
  close(): Promise<void>;
}

export async function commandsAt(url: string, key: string | null = KEY, speed = USUAL_SPEED): Promise<Commands> {
  const dir = await mkdtemp(path.join(tmpdir(), 'acs-trap-'));
  const clock = idleClock(speed);
  const env = {
    HOME: dir,
    PATH: process.env.PATH,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_BASE_URL: url,
    ...(key === null ? {} : { ACS_API_KEY: key }),
  };
  const commands: Commands = {
    dir,
    clock,
    acs: (...args) => commands.invoke({ args }),
    invoke: (invocation) => invoke({ clock, ...invocation, cwd: dir, env: { ...env, ...invocation.env } }),
    close: () => rm(dir, { recursive: true, force: true }),
  };
  return commands;
}

/** For limits of requests, which are on the wall. */
export const REAL_TIME: Clock = clockFrom(() => Date.now());

/** A V1 server whose conversations and events a test moves by hand. */
export type V1Trap = V1World & Commands;

export async function v1Trap(release: '1.11.0' | '1.6.0' = '1.11.0', speed = USUAL_SPEED): Promise<V1Trap> {
  const world = await createV1World(release);
  const commands = await commandsAt(world.fake.url, KEY, speed);
  // The world is moved by assigning to its members: it has to stay the same object.
  return Object.assign(world, {
    ...commands,
    async close() {
      await commands.close();
      await world.fake.close();
    },
  });
}

export interface FakeTrap extends Commands {
  fake: FakeServer;
}

/** A server whose answers the test sets. */
export async function fakeTrap(handler: Handler, key: string | null = KEY): Promise<FakeTrap> {
  const fake = await startFake(handler);
  const commands = await commandsAt(fake.url, key);
  return {
    ...commands,
    fake,
    async close() {
      await commands.close();
      await fake.close();
    },
  };
}

export type LooseTrap = LooseServer & Commands;

/** A server whose document cannot be read and that ignores what the test selects; see loose-server.ts. */
export async function looseTrap(options: LooseOptions = {}, speed = USUAL_SPEED): Promise<LooseTrap> {
  const server = await startLoose(options);
  const commands = await commandsAt(server.url, KEY, speed);
  return Object.assign(server, {
    ...commands,
    async close() {
      await commands.close();
      await server.fake.close();
    },
  });
}
