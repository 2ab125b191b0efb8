import path from 'node:path';

/** The files of a data directory. Everything in it belongs to the service; nothing outside of it is ever written. */
export function dataPaths(dataDir: string) {
  const at = (name: string): string => path.join(dataDir, name);
  return {
    /** Settings, secrets, sandboxes, conversations, start tasks. */
    database: at('service.db'),
    /** The key of the service, 0600. */
    key: at('key'),
    /** Who owns the directory: pid and start time of a process. */
    lock: at('service.lock'),
    /** Held while a background service is being started. */
    startLock: at('start.lock'),
    /** Where the running service listens. */
    state: at('service.json'),
    /** The last port of the service: clients that follow reconnect to it. */
    port: at('port'),
    log: at('service.log'),
    /** `<sandbox>/`: what an agent works on. */
    workspaces: at('workspaces'),
    /** `<sandbox>/<conversation>.db`: outlives the sandbox. */
    events: at('events'),
    /** Clones that are not finished. */
    staging: at('staging'),
  };
}

/** Where a background service writes its log. */
export function logFile(dataDir: string): string {
  return dataPaths(dataDir).log;
}
