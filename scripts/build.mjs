// Builds dist/: the command line in several files (build/files.mjs), each other kind of process in
// one, and the pages of help. The same sources give the same bytes.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { digest } from './build/digest.mjs';
import { commandLine } from './build/files.mjs';
import { lazyBuiltins } from './build/lazy-builtins.mjs';
import { licenses } from './build/licenses.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const dist = path.join(root, 'dist');
const JQ = path.join(root, 'node_modules/jq-wasm/dist');
const CONF_WRITER = { atomically: './src/local/profiles/conf-writer.ts' };
const HELP = 'scripts/build/help-pages.ts';
/** Files that are loaded here and are not part of the package. */
const TEMPORARY = ['scripts.js', 'openapi.js'];
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const options = {
  absWorkingDir: root,
  define: { ACS_VERSION: JSON.stringify(version) },
  bundle: true,
  platform: 'node',
  target: 'node20',
  minify: true,
  banner: { js: '"use strict";' },
  supported: { 'dynamic-import': false },
  legalComments: 'none',
  external: ['libsql'], // carries a native binary
  metafile: true,
  write: false,
  logLevel: 'warning',
};
/** Loaded by the worker for an agent with a model, and by that for a provider's own interface. */
const MODEL = 'src/service/agents/model/agent.ts';
const PROVIDERS = ['anthropic', 'google', 'openai'];
/** What the files of providers share with model.js, which loads them. */
const SHARED = ['@ai-sdk/provider', '@ai-sdk/provider-utils', 'zod/v4'];
const ownFiles = {
  name: 'own-files',
  setup(build) {
    const external = (file) => ({ path: `./${file}.js`, external: true });
    build.onResolve({ filter: /\/agents\/model\/agent\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? external('model') : undefined,
    );
    build.onResolve({ filter: /^@ai-sdk\// }, ({ path: library, kind }) =>
      kind === 'dynamic-import' ? external(path.basename(library)) : undefined,
    );
    build.onResolve({ filter: /^model:/ }, () => ({ path: MODEL, namespace: 'model' }));
    build.onLoad({ filter: /.*/, namespace: 'model' }, () => {
      const shared = SHARED.map((library) => `export * as "${library}" from "${library}";`);
      return { contents: [`export * from "./${MODEL}";`, ...shared].join(''), resolveDir: root };
    });
    const ofProvider = new RegExp(`/@ai-sdk/(?:${PROVIDERS.join('|')})/`);
    build.onResolve({ filter: /^[@z]/ }, ({ path: library, importer }) =>
      SHARED.includes(library) && ofProvider.test(importer)
        ? { path: library, namespace: 'shared' }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'shared' }, ({ path: library }) => ({
      contents: `module.exports = require("./model.js")["${library}"];`,
    }));
    build.onResolve({ filter: /^\.\/model\.js$/, namespace: 'shared' }, () => external('model'));
  },
};
const MODEL_TABLE = 'src/service/base/known-models.json';
const modelTable = {
  name: 'model-table',
  setup(build) {
    const file = { path: './known-models.json', external: true };
    build.onResolve({ filter: /\/known-models\.json$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? file : undefined,
    );
  },
};
const processes = {
  ...options,
  entryPoints: {
    // The local service in the background, the agent server of one sandbox, and what runs in the
    // isolation of a sandbox.
    service: 'src/service/main.ts',
    worker: 'src/service/agent-server/main.ts',
    model: 'model:',
    ...Object.fromEntries(PROVIDERS.map((name) => [name, `@ai-sdk/${name}`])),
    inside: 'src/service/isolation/inside.ts',
    // What bin/acs.cjs loads before main.js, on Node 22 and newer.
    'compile-cache': 'src/local/compile-cache.ts',
    // The thread of --jq.
    jq: 'src/output/jq-thread.ts',
    openapi: 'scripts/build/openapi.ts',
  },
  outdir: 'dist',
  format: 'cjs',
  plugins: [ownFiles, modelTable],
  // The other form of jq-wasm reads import.meta.url, which a CommonJS file does not have.
  alias: { 'jq-wasm': path.join(JQ, 'index.cjs') },
};
const built = await Promise.all([
  commandLine({ ...options, plugins: [modelTable, lazyBuiltins], alias: CONF_WRITER }, HELP),
  build(processes),
]).catch((error) => {
  if (!error.errors) throw error;
  process.exit(1); // esbuild has printed the errors
});

// Written to a temporary folder and renamed, so that dist/ is never incomplete.
const fresh = `${dist}.${process.pid}`;
rmSync(fresh, { recursive: true, force: true });
for (const folder of ['help', 'openapi']) mkdirSync(path.join(fresh, folder), { recursive: true });
for (const { path: file, contents } of built.flatMap(({ outputFiles }) => outputFiles))
  writeFileSync(path.join(fresh, path.basename(file)), contents);
// What a sandbox has in place of a file with secrets (isolation/bubblewrap.ts).
writeFileSync(path.join(fresh, 'empty'), '');
writeFileSync(path.join(fresh, 'package.json'), '{ "type": "commonjs" }\n');
copyFileSync(path.join(JQ, 'build/jq.wasm'), path.join(fresh, 'jq.wasm'));
copyFileSync(path.join(root, MODEL_TABLE), path.join(fresh, path.basename(MODEL_TABLE)));

const load = createRequire(path.join(fresh, 'none.cjs'));
const { helpPages } = load('./scripts.js')[HELP];
for (const [name, text] of await helpPages()) writeFileSync(path.join(fresh, 'help', name), text);
const { openapiDocuments } = load('./openapi.js');
for (const [server, text] of Object.entries(openapiDocuments(version)))
  writeFileSync(path.join(fresh, 'openapi', `${server}.json`), text);
for (const name of TEMPORARY) rmSync(path.join(fresh, name));

const outputs = built.flatMap(({ metafile }) => Object.entries(metafile.outputs));
const chunks = Object.fromEntries(
  outputs
    .filter(([name]) => !TEMPORARY.includes(path.basename(name)))
    .map(([name, { inputs }]) => [
      path.basename(name),
      Object.keys(inputs).filter((input) => !input.includes(':')),
    ]),
);
const inputs = [...new Set(Object.values(chunks).flat())].sort();
writeFileSync(path.join(fresh, 'licenses.txt'), licenses(root, inputs, MODEL_TABLE));
// Not published: which source went into which file, for the tests of the start and of a build that
// is out of date.
const read = outputs.flatMap(([, { inputs: all }]) => Object.keys(all));
const sources = [...new Set([...read, MODEL_TABLE])]
  .filter((input) => input.startsWith('src/'))
  .sort();
const meta = { version, sources, digest: digest(root, sources), chunks };
writeFileSync(path.join(fresh, 'meta.json'), `${JSON.stringify(meta, null, 2)}\n`);

const previous = `${fresh}.previous`;
if (existsSync(dist)) renameSync(dist, previous);
renameSync(fresh, dist);
rmSync(previous, { recursive: true, force: true });
