// Builds dist/: a small CommonJS entry and one chunk for each library, loaded on use.
//
// Why two steps: only esbuild's ESM output can be split, so that no module of ours exists twice; but Node 20 starts
// CommonJS faster, and on Node 22 and 24 an ESM import of node:http costs 30 ms. So the split ESM output is turned into
// CommonJS file by file.
//
// The same sources give the same bytes: names of chunks come from their content, and nothing of the machine gets in.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';
import { digest } from './build/digest.mjs';
import { licenses } from './build/licenses.mjs';
import { readableNames } from './build/names.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const dist = path.join(root, 'dist');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

const result = await build({
  absWorkingDir: root,
  // main: the command line · worker: the agent server of one sandbox · inside: what runs in the isolation of a sandbox
  entryPoints: present({
    main: 'src/main.ts',
    worker: 'src/service/worker/main.ts',
    inside: 'src/service/jail/inside.ts',
  }),
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
}).catch(() => process.exit(1)); // esbuild has said why

// Written beside and then put in place, so that nobody meets half a build.
const fresh = `${dist}.${process.pid}`;
const names = readableNames(result.metafile);
const chunks = {};
rmSync(fresh, { recursive: true, force: true });
for (const file of result.outputFiles) {
  const name = names.rename(path.relative(dist, file.path));
  const target = path.join(fresh, name);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, await commonJs(name, names.rename(file.text)));
  chunks[name] = Object.keys(result.metafile.outputs[path.relative(root, file.path)].inputs).sort();
}
writeFileSync(path.join(fresh, 'package.json'), '{ "type": "commonjs" }\n');
writeFileSync(path.join(fresh, 'licenses.txt'), licenses(root, result.metafile));
// Not published: which source went into which file, for the tests of the start and of a build that is out of date.
const sources = Object.keys(result.metafile.inputs)
  .filter((input) => input.startsWith('src/'))
  .sort();
writeFileSync(
  path.join(fresh, 'meta.json'),
  `${JSON.stringify({ version, sources, digest: digest(root, sources), chunks }, null, 2)}\n`,
);
const previous = `${fresh}.previous`;
try {
  renameSync(dist, previous);
} catch (error) {
  if (error.code !== 'ENOENT') throw error;
}
renameSync(fresh, dist);
rmSync(previous, { recursive: true, force: true });

/** Arguments name the entries to build, for work on one of them; without any it is all of them. */
function present(entries) {
  const wanted = process.argv.slice(2);
  return Object.fromEntries(
    Object.entries(entries).filter(
      ([name, file]) => existsSync(path.join(root, file)) && (wanted.length === 0 || wanted.includes(name)),
    ),
  );
}

async function commonJs(name, text) {
  const { code, warnings } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    minify: true,
    legalComments: 'none',
    supported: { 'dynamic-import': false },
  });
  for (const warning of warnings) process.stderr.write(`${name}: ${warning.text}\n`);
  return code;
}
