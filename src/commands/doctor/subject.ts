/** What the checks look at. Each part is read once, by the first check that needs it. */
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../../context.ts';
import type { Sandbox } from '../../domain/sandbox.ts';
import { AppError } from '../../errors.ts';
import type { Machine } from '../../machine.ts';
import type { Profile } from '../../profiles/store.ts';
import type { ResolvedTarget } from '../../profiles/resolve.ts';
import { timeLimit, withinLimit } from '../../runs/deadline.ts';
import type { PlainAnswer, Reach, Route } from '../../servers/reach/reach.ts';
import type { Server } from '../../servers/server.ts';
import { formatDuration } from '../../text/duration.ts';
import { collectPages } from '../../domain/pages.ts';

/** Of one step of a connection. */
const STEP_MS = 10_000;
/** The most sandboxes that are read. */
const MOST_SANDBOXES = 1000;

export interface Subject {
  ctx: Context;
  machine: Machine;
  reach: Reach;
  /** The profile store as it was before acs has read it: reading closes it to others. */
  store(): Promise<StoreFiles>;
  profiles(): Promise<Profile[]>;
  target(): Promise<ResolvedTarget>;
  /** Of the server. Throws `internal` while the local service is not running: a caller needs `config` first. */
  url(): Promise<string>;
  route(): Promise<Route>;
  addresses(): Promise<string[]>;
  answer(): Promise<PlainAnswer>;
  /** The server as a probe finds it now. */
  server(): Promise<Server>;
  /** Reads from the server within a limit of time. */
  read<T>(work: (server: Server) => Promise<T>): Promise<T>;
  sandboxes(): Promise<Sandbox[]>;
}

export interface StoreFiles {
  path: string;
  /** The `stat` of the file, or its error. */
  file: Stats | NodeJS.ErrnoException;
  folder: Stats | NodeJS.ErrnoException;
}

export async function createSubject(ctx: Context): Promise<Subject> {
  const stepMs = ctx.globals.requestTimeoutMs ?? STEP_MS;
  // A probe and a read may repeat a request.
  const mostMs = 2 * stepMs;
  const over = new AppError('network', `the server did not answer completely within ${formatDuration(mostMs)}`, {
    hint: 'raise --request-timeout if the server is only slow',
  });
  const [machine, reach] = await Promise.all([ctx.machine(), ctx.reach(stepMs)]);
  const url = once(async () => {
    const { base_url } = await subject.target();
    if (base_url === null) throw new AppError('internal', 'the URL of a service that is not running is asked for');
    return base_url;
  });
  const subject: Subject = {
    ctx,
    machine,
    reach,
    store: once(() => readStoreFiles(machine.configDir)),
    profiles: once(async () => {
      await subject.store();
      return await (await ctx.profiles()).list();
    }),
    target: once(async () => {
      await subject.store();
      return await ctx.target();
    }),
    url,
    route: once(async () => reach.route(await url())),
    addresses: once(async () => reach.addressesOf(await url())),
    answer: once(async () => reach.answer(`${await url()}/api/v1/web-client/config`)),
    server: once(async () => {
      const { key, local, base_url_source, key_source } = await subject.target();
      const sources = { base_url_source, key_source };
      const limit = timeLimit(ctx, mostMs, over);
      try {
        const signal = AbortSignal.any([ctx.signal, limit.signal]);
        return await ctx.connect({ base_url: await url(), key, local, sources, probed: 'now' }, signal);
      } finally {
        limit.clear();
      }
    }),
    read: async (work) => await withinLimit(ctx, await subject.server(), { mostMs, over }, work),
    sandboxes: once(() =>
      subject.read(async (server) => {
        const fetch = (page: string | null, pageSize: number) => server.sandboxes.list(page, pageSize, 'none');
        return (await collectPages({ fetch, id: (sandbox) => sandbox.id, limit: MOST_SANDBOXES })).items;
      }),
    ),
  };
  return subject;
}

async function readStoreFiles(configDir: string): Promise<StoreFiles> {
  const file = path.join(configDir, 'profiles.json');
  const look = (place: string) => stat(place).catch((error: unknown) => error as NodeJS.ErrnoException);
  return { path: file, file: await look(file), folder: await look(configDir) };
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | null = null;
  return () => (found ??= read());
}
