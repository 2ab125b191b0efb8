/**
 * The test files that use the idle clock, which share no process with others (vitest.config.ts).
 */
import { readdirSync, readFileSync } from 'node:fs';

const IMPORT = /\/(idle-clock|use-loose)\.ts'|useIdleV1/;

/** Paths from the root of the package, which is the working directory. */
export function filesWithIdleClock(): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file}`)
    .filter((file) => file.startsWith('test/traps/') || IMPORT.test(readFileSync(file, 'utf8')));
}
