import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { makeRepository } from '../../commands/conv/support.ts';
import { type RecordedRequest, recordingProxy, type RecordingProxy } from '../../support/recording-proxy.ts';
import { createWorld, type World } from '../../support/world.ts';

export const SUGGESTED_TASK = {
  git_provider: 'github',
  task_type: 'FAILING_CHECKS',
  repo: 'acme/shop',
  issue_number: 12,
  title: 'The build is red',
};

export interface RequestWorld {
  /** These three are set while tests run. */
  readonly world: World;
  readonly proxy: RecordingProxy;
  /** A git repository on this machine. */
  readonly repository: string;
  /** Runs a command through the proxy, which has to exit 0; what it sent. */
  sentBy(...args: string[]): Promise<RecordedRequest[]>;
  /** As sentBy for a start that a server without a model refuses at once: only what was sent counts. */
  triedBy(...args: string[]): Promise<RecordedRequest[]>;
  /** Writes a file of this name, anything but text as JSON; its path. */
  file(name: string, content: unknown): Promise<string>;
}

/** A world for the tests of a file, closed after them, whose requests are recorded. */
export function useRequestWorld(): RequestWorld {
  let world: World;
  let proxy: RecordingProxy;
  let repository: string;
  beforeAll(async () => {
    world = await createWorld({ spec: 'process' });
    proxy = await recordingProxy(world.service.url);
    repository = await makeRepository(path.join(world.dir, 'repository'));
  });
  afterAll(async () => {
    await proxy.close();
    await world.close();
  });
  return {
    get world() {
      return world;
    },
    get proxy() {
      return proxy;
    },
    get repository() {
      return repository;
    },
    async sentBy(...args) {
      const from = proxy.requests.length;
      const env = { ACS_BASE_URL: proxy.url, TOKEN: 'token-value' };
      const { code, err } = await world.invoke({ args, env });
      expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
      return proxy.requests.slice(from);
    },
    async triedBy(...args) {
      const from = proxy.requests.length;
      await world.invoke({ args, env: { ACS_BASE_URL: proxy.url } });
      return proxy.requests.slice(from);
    },
    async file(name, content) {
      const place = path.join(world.dir, name);
      await writeFile(place, typeof content === 'string' ? content : JSON.stringify(content));
      return place;
    },
  };
}

/** The body of the first request of a method and path, which has to be there. */
export function bodyOf(requests: RecordedRequest[], method: string, route: string): Record<string, unknown> {
  const found = requests.find((one) => one.method === method && one.path === route);
  expect([method, route, found !== undefined]).toEqual([method, route, true]);
  return found?.body as Record<string, unknown>;
}

/** Every member of the table that no request has held. */
export function unseen(table: readonly string[], bodies: readonly Record<string, unknown>[]): string[] {
  return table.filter((name) => !bodies.some((body) => body[name] !== undefined && body[name] !== null));
}
