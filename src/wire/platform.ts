import type { Clock } from '../clock.ts';
import type { Io } from '../context.ts';

/** Everything that main.ts reads of the process and its machine; tests give their own. */
export interface Platform {
  /** Folder of the package, where bin/ and dist/ are. */
  root: string;
  io: Io;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** The user's home directory. */
  home: string;
  /** As `process.platform`. */
  platform: string;
  clock: Clock;
  /** Aborts on SIGINT, SIGTERM and SIGHUP with the AppError to end with. */
  signal: AbortSignal;
}
