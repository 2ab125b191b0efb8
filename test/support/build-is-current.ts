/**
 * Runs before all tests: those that start processes use dist/, and one that is out of date tests
 * yesterday's code.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { digest } from '../../scripts/build/digest.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Throws in CI when dist/ is missing or was made from other sources; elsewhere prints that. */
export default function buildIsCurrent(): void {
  const complaint = complaintAbout(path.join(root, 'dist', 'meta.json'));
  if (!complaint) return;
  const text = `${complaint}: run \`npm run build\` first (\`npm test\` does)`;
  if (process.env.CI) throw new Error(text);
  process.stderr.write(`\n${text}\n\n`);
}

function complaintAbout(file: string): string | null {
  if (!existsSync(file)) return 'dist/ is missing';
  const built = JSON.parse(readFileSync(file, 'utf8')) as { sources: string[]; digest: string };
  return digest(root, built.sources) === built.digest
    ? null
    : 'dist/ was built from other sources than src/ holds now';
}
