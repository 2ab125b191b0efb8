import { afterEach, expect } from 'vitest';
import type { LooseOptions } from '../../servers/support/loose-server.ts';
import type { Ended } from '../../support/world.ts';
import { looseTrap, type LooseTrap } from './trap.ts';

interface Started {
  id: string;
  sandbox: string;
}

/** The JSON that a command printed. */
export const json = <T = Record<string, unknown>>({ out }: Pick<Ended, 'out'>): T => JSON.parse(out) as T;

async function start(server: LooseTrap, message: string, ...flags: string[]): Promise<Started> {
  const ended = await server.acs('conv', 'new', message, '--no-repo', '--json', ...flags);
  expect(ended.code, ended.err).toBe(0);
  const { id, sandbox_id } = json<{ id: string; sandbox_id: string }>(ended);
  return { id, sandbox: sandbox_id };
}

export interface LooseStarts {
  /** The server of the test. */
  readonly trap: LooseTrap;
  /** Starts a server, and on it a conversation with this message. */
  at(message: string, options: LooseOptions): Promise<Started & { server: LooseTrap }>;
  /** Starts a server, and on it so many conversations that share one sandbox and have ended. */
  sharing(count: number, options: LooseOptions): Promise<{ ids: string[]; sandbox: string }>;
  /** The DELETE requests to paths that begin with this. */
  deletions(route: string): string[];
}

/** Conversations on a loose server of each test, which is closed after it. */
export function useLooseStarts(): LooseStarts {
  let trap: LooseTrap | null = null;
  afterEach(async () => {
    await trap?.close();
    trap = null;
  });
  const open = async (options: LooseOptions): Promise<LooseTrap> => (trap = await looseTrap(options));
  const starts: LooseStarts = {
    get trap() {
      if (trap === null) throw new Error('the test has started no server');
      return trap;
    },
    async at(message, options) {
      const server = await open(options);
      return { ...(await start(server, message)), server };
    },
    async sharing(count, options) {
      const server = await open(options);
      const { id, sandbox } = await start(server, 'hello', '--wait');
      const ids = [id];
      while (ids.length < count) ids.push((await start(server, 'hello', '--wait', '--sandbox', sandbox)).id);
      return { ids, sandbox };
    },
    deletions: (route) => starts.trap.fake.lines().filter((line) => line.startsWith(`DELETE ${route}`)),
  };
  return starts;
}
