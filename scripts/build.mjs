// Builds dist/: a small CommonJS entry and one chunk for each library, loaded on use.
//
// Why two steps: only esbuild's ESM output can be split, so that no module of ours exists twice; but Node 20 starts
// CommonJS faster, and on Node 22 and 24 an ESM import of node:http costs 30 ms. So the split ESM output is turned into
// CommonJS file by file.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const dist = path.join(root, 'dist');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

const result = await build({
  absWorkingDir: root,
  // main: the command line · worker: the agent server of one sandbox · inside: what runs in the isolation of a sandbox
  entryPoints: { main: 'src/main.ts', worker: 'src/service/worker/main.ts', inside: 'src/service/jail/inside.ts' },
  outdir: dist,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  minify: true,
  legalComments: 'none',
  external: ['libsql'], // carries a native binary
  define: { ACS_VERSION: JSON.stringify(version) },
  chunkNames: 'chunks/[name]-[hash]',
  metafile: true,
  write: false,
  logLevel: 'warning',
});

rmSync(dist, { recursive: true, force: true });
for (const file of result.outputFiles) {
  const { code } = await transform(file.text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    minify: true,
    legalComments: 'none',
    supported: { 'dynamic-import': false },
  });
  mkdirSync(path.dirname(file.path), { recursive: true });
  writeFileSync(file.path, code);
}
writeFileSync(path.join(dist, 'package.json'), '{ "type": "commonjs" }\n');
writeFileSync(path.join(dist, 'licenses.txt'), licenses(result.metafile));

/** The licences of everything that is bundled, one after the other. */
function licenses(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  return [...packages]
    .sort()
    .map((dir) => {
      const { name, version: itsVersion, license } = JSON.parse(readFileSync(path.join(root, dir, 'package.json'), 'utf8'));
      return `${name} ${itsVersion} (${license})\n\n${licenseText(dir)}\n`;
    })
    .join(`${'-'.repeat(80)}\n`);
}

function licenseText(dir) {
  for (const name of ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license', 'License.md', 'license.md']) {
    try {
      return readFileSync(path.join(root, dir, name), 'utf8').trim();
    } catch {
      continue;
    }
  }
  return '';
}
