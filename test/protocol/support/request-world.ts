import path from 'node:path';
import { beforeAll, expect } from 'vitest';
import { makeRepository } from '../../commands/conv/support.ts';
import { useWorld, type Suite } from '../../support/use-world.ts';

export const SUGGESTED_TASK = {
  git_provider: 'github',
  task_type: 'FAILING_CHECKS',
  repo: 'acme/shop',
  issue_number: 12,
  title: 'The build is red',
};

export interface RequestSuite extends Suite {
  /** A git repository on this machine; set while tests run. */
  readonly repository: string;
  /**
   * The body of the create that `conv new` sends with these arguments; a service without a model
   * refuses some.
   */
  startOf(api: 'v0' | 'v1', ...args: string[]): Promise<Record<string, unknown>>;
}

export function useRequestWorld(): RequestSuite {
  let repository: string;
  const at = useWorld({ spec: 'process' });
  beforeAll(async () => {
    repository = await makeRepository(path.join(at.dir, 'repository'));
  });
  return Object.defineProperty(
    Object.assign(at, {
      async startOf(api: 'v0' | 'v1', ...args: string[]) {
        at.server.asked.length = 0;
        const { err } = await at.invoke({
          args: ['conv', 'new', '--api', api, '--json', ...args],
          env: { TOKEN: 'token-value' },
        });
        const route = api === 'v0' ? '/api/conversations' : '/api/v1/app-conversations';
        const start = at.server.asked.find(
          ({ method, path: asked }) => method === 'POST' && asked === route,
        );
        expect(start, err).toBeDefined();
        return start?.body as Record<string, unknown>;
      },
    }),
    'repository',
    { get: () => repository },
  ) as unknown as RequestSuite;
}

/** Every member of the table that no request has held. */
export function unseen(
  table: readonly string[],
  bodies: readonly Record<string, unknown>[],
): string[] {
  return table.filter(
    (name) => !bodies.some((body) => body[name] !== undefined && body[name] !== null),
  );
}
