/**
 * What conf imports from `atomically`: the build and the tests put this file in its place, because
 * that package loses the store on a full disk and repeats signals (docs/dependencies.md).
 */
import { existsSync, realpathSync } from 'node:fs';
import { writeSmallFile } from '../../base/small-file.ts';

/** Replaces the target of a link: some users link their configuration to a repository. */
export function writeFileSync(file: string, text: string): void {
  writeSmallFile(existsSync(file) ? realpathSync(file) : file, text);
}
