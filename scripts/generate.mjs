// Writes the files that generate.ts makes: the reference pages in docs/.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
mkdirSync(path.join(root, 'node_modules', '.cache'), { recursive: true });
const folder = mkdtempSync(path.join(root, 'node_modules', '.cache', 'generate-'));
try {
  const outfile = path.join(folder, 'generate.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: ['scripts/generate.ts'],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    define: { ACS_VERSION: '"0"' },
    logLevel: 'warning',
  });
  const { generatedFiles } = await import(pathToFileURL(outfile).href);
  for (const [file, text] of Object.entries(await generatedFiles(root))) write(file, text);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function write(file, text) {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
}
