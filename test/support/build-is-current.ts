/** Runs before all tests: those that start processes use dist/, and one that is out of date tests yesterday's code. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { digest } from '../../scripts/build/digest.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Throws when dist/ is missing; says so when it was made from other sources, and in CI throws. */
export default function buildIsCurrent(): void {
  const file = path.join(root, 'dist', 'meta.json');
  if (!existsSync(file)) throw new Error('dist/ is missing: run `npm run build` first (`npm test` does)');
  const built = JSON.parse(readFileSync(file, 'utf8')) as { sources: string[]; digest: string };
  if (digest(root, built.sources) === built.digest) return;
  const text = 'dist/ was built from other sources than src/ holds now: run `npm run build` (`npm test` does)';
  if (process.env.CI) throw new Error(text);
  process.stderr.write(`\n${text}\n\n`);
}
