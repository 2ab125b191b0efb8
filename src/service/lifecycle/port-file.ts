/** The port that a service had: the next one takes it again, so that clients who lost it find it. */
import { readSmallFile, writePrivateFile } from './small-file.ts';

/** 0: none is known. */
export function readPort(file: string): number {
  const port = Number(readSmallFile(file)?.trim());
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
}

/** A port that cannot be kept is no reason not to serve. */
export function rememberPort(file: string, port: number, log: (line: string) => void): void {
  if (readPort(file) === port) return;
  try {
    writePrivateFile(file, `${port}\n`);
  } catch (error) {
    log(`the port could not be remembered: ${String(error)}`);
  }
}
