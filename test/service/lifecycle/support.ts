/** Services in this process and in the background, on a data directory of each test. */
import http from 'node:http';
import path from 'node:path';
import { afterEach } from 'vitest';
import {
  runningService,
  startService,
  stopService,
  type RunningService,
  type ServiceOptions,
} from '../../../src/service/index.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';
import { PACKAGE_ROOT, type Answer } from '../app/support.ts';

/** A text that is long enough to be read as a database. */
export const NO_DATABASE = 'this is no database, but it is long enough to be read as one'.repeat(
  50,
);

export interface ServicesOfTest {
  readonly dir: string;
  readonly dataDir: string;
  /** Options of a service that never ends by itself and isolates nothing. */
  options(more?: Partial<ServiceOptions>): ServiceOptions;
  /** Starts a service in this process, which is ended after the test. */
  start(more?: Partial<ServiceOptions>): Promise<RunningService>;
}

export function servicesOfEachTest(): ServicesOfTest {
  const folder = folderOfEachTest();
  const running: RunningService[] = [];
  const services: ServicesOfTest = {
    get dir() {
      return folder.path;
    },
    get dataDir() {
      return path.join(folder.path, 'data');
    },
    options: (more = {}) => ({
      dataDir: services.dataDir,
      root: PACKAGE_ROOT,
      version: '1.0.0',
      env: { PATH: process.env.PATH, HOME: folder.path },
      spec: 'process',
      idleTimeoutMs: 0,
      ...more,
    }),
    async start(more) {
      const service = await startService(services.options(more));
      running.push(service);
      return service;
    },
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((service) => service.close()));
    // A service in this very process is ended above; here are those in the background.
    const { dataDir } = services;
    if (runningService(dataDir)?.state.pid !== process.pid) await stopService(dataDir);
  });
  return services;
}

/** Requests over HTTP to a service that runs. */
export function clientOf({ url, key }: { url: string; key: string }) {
  const call = (method: string, target: string, body?: unknown): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { 'X-Session-API-Key': key, 'Content-Type': 'application/json' };
      const request = http.request(url + target, { method, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => {
          resolve({
            status: answer.statusCode ?? 0,
            headers: new Headers(),
            body: JSON.parse(text) as unknown,
          });
        });
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return { call };
}
