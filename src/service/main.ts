import { writeSync } from 'node:fs';
import { FAILURE_MARK } from './lifecycle/background.ts';
import { ServiceError } from './base/failure.ts';
import { serve } from './serve.ts';
import type { ServiceOptions } from './lifecycle/service-options.ts';

function log(line: string): void {
  try {
    // Not by the stream: a full disk would end it, and with it the service.
    writeSync(1, `${new Date().toISOString()} ${line}\n`);
  } catch {
    // It cannot be reported anywhere.
  }
}

async function main(): Promise<void> {
  const config = JSON.parse(process.argv[2] ?? '{}') as ServiceOptions;
  // Before the service is reachable: a signal without a listener would end it without a shutdown.
  const asked = new Promise<string>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        resolve(`signal ${signal}`);
      });
    }
  });
  // The service does not depend on the terminal that it was started from.
  process.on('SIGHUP', () => undefined);
  const service = await serve({ ...config, life: 'background', env: process.env, log });
  log(`listening on ${service.url} (pid ${process.pid})`);
  void asked.then((why) => service.close(why));
  await service.ended;
  process.exit(0);
}

main().catch((error: unknown) => {
  const { code, message, hint } =
    error instanceof ServiceError
      ? error
      : new ServiceError('start-failed', String((error as Error).stack ?? error));
  log(FAILURE_MARK + JSON.stringify({ code, message, hint }));
  process.exit(1);
});
