import { afterAll, beforeAll } from 'vitest';
import { type Answer, type OwnWorker, startConversation, startOwnWorker, untilStatus } from './worker.ts';

type Shown = Pick<Answer, 'status' | 'body'>;

export interface SharedWorker {
  /** Set while tests run. */
  readonly worker: OwnWorker;
  get(route: string): Promise<Shown>;
  post(route: string, body?: unknown): Promise<Shown>;
}

/** A worker that the tests of a file share, ended after them, whose conversation has played these steps to their end. */
export function useSharedWorker(steps: unknown[]): SharedWorker {
  let worker: OwnWorker;
  beforeAll(async () => {
    worker = await startOwnWorker();
    await startConversation(worker, steps);
    await untilStatus(worker, 'finished');
  });
  afterAll(() => worker.close());
  const call = async (method: string, route: string, sent?: unknown): Promise<Shown> => {
    const { status, body } = await worker.call(method, route, sent);
    return { status, body };
  };
  return {
    get worker() {
      return worker;
    },
    get: (route) => call('GET', route),
    post: (route, body) => call('POST', route, body),
  };
}
