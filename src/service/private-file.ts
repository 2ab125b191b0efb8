import { chmodSync, closeSync, existsSync, openSync } from 'node:fs';

/**
 * Makes a database's file unless it is there, and it and what SQLite keeps beside it their owner's alone. Whatever
 * SQLite makes later has the mode of the file.
 */
export function makePrivateDatabase(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
  for (const each of [file, `${file}-wal`, `${file}-shm`]) {
    if (existsSync(each)) chmodSync(each, 0o600);
  }
}
