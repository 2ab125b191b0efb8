import { afterEach, beforeEach } from 'vitest';
import { makePlace, type Place, removePlace, startTestWorker, type TestWorker, type WorkerOptions } from './worker.ts';

export interface SandboxOfTest {
  readonly place: Place;
  /** Starts a worker in these folders. */
  start(options?: WorkerOptions): Promise<TestWorker>;
}

/** For the tests of a file: each has folders of its own, and the workers that it started in them are ended after it. */
export function sandboxOfTest(): SandboxOfTest {
  let place: Place;
  let started: TestWorker[];
  beforeEach(() => {
    place = makePlace();
    started = [];
  });
  afterEach(async () => {
    await Promise.all(started.map((worker) => worker.end()));
    removePlace(place);
  });
  return {
    get place() {
      return place;
    },
    async start(options) {
      const worker = await startTestWorker(place, options);
      started.push(worker);
      return worker;
    },
  };
}
