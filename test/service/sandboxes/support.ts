/** The changes of sandboxes over V1. */
import { until, type Answer, type TestApp } from '../app/support.ts';

export interface SandboxCalls {
  /** The id of a new sandbox. */
  newSandbox: () => Promise<string>;
  post: (id: string, verb: 'pause' | 'resume') => Promise<Answer>;
  remove: (id: string) => Promise<Answer>;
  statusOf: (id: string) => string | null;
  /** The status after a start. */
  settled: (id: string) => Promise<string | null>;
}

/** Changes of sandboxes, over V1, at the app server that `app` returns at each call. */
export function sandboxCalls(app: () => Pick<TestApp, 'call' | 'store' | 'context'>): SandboxCalls {
  const route = '/api/v1/sandboxes';
  const statusOf = (id: string): string | null => app().store.sandboxes.get(id)?.status ?? null;
  return {
    newSandbox: async () => ((await app().call('POST', route)).body as { id: string }).id,
    post: (id, verb) => app().call('POST', `${route}/${id}/${verb}`),
    remove: (id) => app().call('DELETE', `${route}/${id}?sandbox_id=${id}`),
    statusOf,
    settled: (id) =>
      until(
        () => statusOf(id),
        (status) => status !== 'STARTING',
      ),
  };
}
