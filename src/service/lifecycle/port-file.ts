/** The last port of a service: the next one uses it again, so that clients can reconnect. */
import { readSmallFile, writePrivateFile } from './small-file.ts';

/** 0 when there is none. */
export function readPort(file: string): number {
  const port = Number(readSmallFile(file)?.trim());
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
}

/** A port that cannot be stored does not prevent the start. */
export function rememberPort(file: string, port: number, log: (line: string) => void): void {
  if (readPort(file) === port) return;
  try {
    writePrivateFile(file, `${port}\n`);
  } catch (error) {
    log(`the port could not be remembered: ${String(error)}`);
  }
}
