/** Sandboxes and conversations for these tests, made over the wire, and the suites of commands that change sandboxes. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach } from 'vitest';
import type { BulkResult } from '../../../src/output/bulk.ts';
import { type ProxiedWorld, useProxiedWorld } from '../../support/proxied-world.ts';
import type { Ended, World } from '../../support/world.ts';

export interface SandboxJson {
  id: string;
  status: string;
  spec_id: string;
  conversation_ids: string[];
  changed?: boolean;
  session_api_key?: string;
}

export interface SandboxWorld extends ProxiedWorld {
  /** The status that `sandbox show` prints. */
  status: (id: string) => Promise<string>;
}

/** A world of V1 for the enclosing suite, whose `sandbox` commands are recorded; each test begins without sandboxes. */
export function useSandboxWorld(): SandboxWorld {
  const at = useProxiedWorld('sandbox', { api: 'v1', spec: 'process' });
  beforeEach(async () => {
    await at.world.acs('sandbox', 'delete', '--all', '-y', '--force');
  });
  const status = async (id: string): Promise<string> => one(await at.world.acs('sandbox', 'show', id, '--json')).status;
  return Object.assign(at, { status });
}

/** The sandbox that a command has printed as JSON. */
export const one = ({ out }: Ended): SandboxJson => JSON.parse(out) as SandboxJson;

/** The result of several sandboxes that a command has printed as JSON. */
export const many = ({ out }: Ended): BulkResult => JSON.parse(out) as BulkResult;

export async function startSandbox(world: World): Promise<string> {
  const { code, out, err } = await world.acs('sandbox', 'start', '--json');
  if (code !== 0) throw new Error(`sandbox start ended with ${code}: ${err}`);
  return (JSON.parse(out) as SandboxJson).id;
}

export async function call(world: World, method: string, route: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(world.service.url + route, {
    method,
    headers: { 'X-Session-API-Key': world.service.key, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${route}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

/** The first result of `look` that is not null; throws after a minute. */
export async function untilFound<T>(look: () => Promise<T | null>): Promise<T> {
  const end = Date.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > end) throw new Error('it was not found in time');
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

export interface Busy {
  sandboxId: string;
  conversationId: string;
  /** Ends the run. */
  finish(): Promise<void>;
}

/** A sandbox with a run that ends when `finish` is called. */
export async function startRun(world: World, repository?: string): Promise<Busy> {
  const flag = path.join(world.dir, `finish-${Math.random().toString(36).slice(2)}`);
  const wait = `while [ ! -e ${flag} ]; do sleep 0.05; done`;
  const task = (await call(world, 'POST', '/api/v1/app-conversations', {
    initial_message: { role: 'user', content: [{ type: 'text', text: 'wait for the flag' }] },
    replay_json: JSON.stringify([
      { action: 'run', args: { command: wait } },
      { action: 'finish', args: { final_thought: 'done' } },
    ]),
    ...(repository === undefined ? {} : { selected_repository: repository }),
  })) as { id: string };
  const started = await untilFound(async () => {
    const [found] = (await call(world, 'GET', `/api/v1/app-conversations/start-tasks?ids=${task.id}`)) as {
      status: string;
      detail: string | null;
      sandbox_id: string;
      app_conversation_id: string;
    }[];
    if (found?.status === 'ERROR') throw new Error(found.detail ?? 'the start failed');
    return found?.status === 'READY' ? found : null;
  });
  const id = started.app_conversation_id;
  await untilStatus(world, id, 'running');
  return {
    sandboxId: started.sandbox_id,
    conversationId: id,
    async finish() {
      await writeFile(flag, '');
      await untilStatus(world, id, 'finished');
    },
  };
}

async function untilStatus(world: World, id: string, status: string): Promise<void> {
  await untilFound(async () => {
    const [found] = (await call(world, 'GET', `/api/v1/app-conversations?ids=${id}`)) as { execution_status: string }[];
    return found?.execution_status === status ? found : null;
  });
}
