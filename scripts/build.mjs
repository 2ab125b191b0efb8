// Builds dist/: a small CommonJS entry for each kind of process and one chunk for each library, loaded on use.
//
// Why two steps (build/bundle.mjs): only esbuild's ESM output can be split, so that no module of ours exists twice; but
// Node 20 starts CommonJS faster, and on Node 22 and 24 an ESM import of node:http costs 30 ms. So the split ESM output
// is turned into CommonJS file by file.
//
// The same sources give the same bytes: names of chunks come from their content, and nothing of the machine gets in.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './build/bundle.mjs';
import { digest } from './build/digest.mjs';
import { gather } from './build/gather.mjs';
import { helpLayout } from './build/help.mjs';
import { lazyBuiltins } from './build/lazy-builtins.mjs';
import { licenses } from './build/licenses.mjs';
import { onUse } from './build/on-use.mjs';
import { table } from './build/table.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const dist = path.join(root, 'dist');
const JQ = path.join(root, 'node_modules/jq-wasm/dist');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const common = { absWorkingDir: root, define: { ACS_VERSION: JSON.stringify(version) } };

const GROUPS = [
  {
    // What a command needs for requests to a server, in the dialect of most servers.
    name: 'asking',
    sources: [
      'src/profiles/resolve.ts',
      'src/profiles/key.ts',
      'src/profiles/cache.ts',
      'src/commands/selectors.ts',
      'src/domain/pages.ts',
      'src/servers/connect.ts',
      'src/servers/v1/index.ts',
    ],
    // The rules for records and the reading of ids, which most commands share: not needed before the first request. A
    // list needs neither the text of events, nor a patch, nor a wait, nor words for where a key came from.
    takes: (file, importers) =>
      isSharedBy(
        file,
        importers,
        /^src\/(domain\/(?!event-|(?:text-)?patch\.|target-sources\.)|commands\/(?!bulk|dry-run|files|paused-others|wait-limit)[^/]+\.ts$)/,
        16,
      ),
  },
  {
    // The looks at conversations, and the small things that the other verbs share.
    name: 'conv',
    sources: ['src/commands/conv/index.ts', 'src/commands/conv/list.ts', 'src/commands/conv/show.ts'],
    // A list waits for no run, starts no sandbox, answers nothing and shows no event.
    takes: (file, importers) =>
      isSharedBy(
        file,
        importers,
        /^src\/commands\/conv\/(?!(?:waiting|resume-sandbox|confirmation|event-view)\.ts$)/,
        16,
      ),
  },
  {
    // What every verb that changes something needs.
    name: 'changing',
    sources: ['src/commands/bulk.ts', 'src/commands/dry-run.ts'],
  },
  {
    name: 'completion',
    sources: ['index', 'names'].map((name) => `src/commands/completion/${name}.ts`),
  },
  {
    name: 'help',
    sources: ['src/commands/help/command.ts', 'src/commands/help/layout.ts', 'src/commands/help-topics.ts'],
  },
  {
    // But for the list of records, which reads the views of all nouns.
    name: 'help-topics',
    sources: ['index', 'texts'].map((name) => `src/commands/help/${name}.ts`),
  },
];

const { files, inputs } = await everything().catch((error) => {
  if (!error.errors) throw error;
  process.exit(1); // esbuild has said why
});

// Written to a temporary folder and renamed, so that dist/ is never incomplete.
const fresh = `${dist}.${process.pid}`;
rmSync(fresh, { recursive: true, force: true });
for (const [name, { text }] of files) {
  mkdirSync(path.dirname(path.join(fresh, name)), { recursive: true });
  writeFileSync(path.join(fresh, name), strict(text));
}
writeFileSync(path.join(fresh, 'package.json'), '{ "type": "commonjs" }\n');
if (files.has('jq.js')) copyFileSync(path.join(JQ, 'build/jq.wasm'), path.join(fresh, 'jq.wasm'));
writeFileSync(path.join(fresh, 'licenses.txt'), licenses(root, inputs));
// Not published: which source went into which file, for the tests of the start and of a build that is out of date.
const sources = inputs.filter((input) => input.startsWith('src/')).sort();
const chunks = Object.fromEntries([...files].map(([name, file]) => [name, file.inputs.toSorted()]));
writeFileSync(
  path.join(fresh, 'meta.json'),
  `${JSON.stringify({ version, sources, digest: digest(root, sources), chunks }, null, 2)}\n`,
);
if (files.has('main.js')) {
  const help = helpLayout(root, path.join(fresh, 'main.js'));
  writeFileSync(path.join(fresh, 'help.json'), `${JSON.stringify(help, null, 2)}\n`);
}
const previous = `${fresh}.previous`;
if (existsSync(dist)) renameSync(dist, previous);
renameSync(fresh, dist);
rmSync(previous, { recursive: true, force: true });

/** As the modules are from which it was made, and as the tests run them. */
function strict(text) {
  return text.startsWith('"use strict"') ? text : `"use strict";${text}`;
}

/** What has certainly been loaded when a file of ours is loaded on use. */
function loadedBefore(file) {
  if (/^src\/servers\/v1\/(?!index)/.test(file)) return 'src/servers/v1/index.ts';
  return /^src\/servers\/(?!connect)/.test(file) ? 'src/servers/connect.ts' : 'src/main.ts';
}

/** What all commands share, with or without a server: not what only a fault in a given file needs. */
function ofCommands(file, importers) {
  return (
    isSharedBy(file, importers, /^src\/(files|profiles)\//, 1) ||
    isSharedBy(
      file,
      importers,
      /^src\/(commands\/(?!(?:bulk|dry-run|files|ids|identity|paused-others|selectors|wait-limit)\.ts$)[^/]+\.ts$|text\/(?!json-place\.ts$))/,
    )
  );
}

/** Whether a chunk is small, imported by at least so many others, and made of these sources alone. */
function isSharedBy({ inputs, text }, importers, sources, least = 3) {
  return text.length <= 4_000 && importers >= least && inputs.every((input) => sources.test(input));
}

/** The files of all processes, and every source that is in them. */
async function everything() {
  const entries = wanted();
  const parts = [];
  if (entries.main) {
    // The command line, whose start-up time counts.
    const main = await bundle({
      ...common,
      entryPoints: { main: entries.main },
      chunkNames: 'chunks/[name]-[hash]',
      plugins: [onUse(root, loadedBefore), lazyBuiltins, table],
    });
    gather(main.files, 'main.js', ofCommands, GROUPS);
    parts.push(main);
  }
  const { main: _, ...others } = entries;
  // The other form of jq-wasm asks for import.meta.url when it is loaded, which a CommonJS file does not have.
  const alias = { 'jq-wasm': path.join(JQ, 'index.cjs') };
  parts.push(await bundle({ ...common, alias, entryPoints: others, chunkNames: 'chunks/service/[name]-[hash]' }));
  return {
    files: new Map(parts.flatMap((part) => [...part.files])),
    inputs: [...new Set(parts.flatMap((part) => Object.keys(part.metafile.inputs)))],
  };
}

/** Arguments name the entries to build, for work on one of them; without any it is all of them. */
function wanted() {
  const all = {
    main: 'src/main.ts',
    // The local service in the background, the agent server of one sandbox, and what runs in the isolation of a sandbox.
    service: 'src/service/lifecycle/main.ts',
    worker: 'src/service/agent-server/main.ts',
    inside: 'src/service/isolation/inside.ts',
    // The thread of --jq.
    jq: 'src/output/jq-thread.ts',
  };
  const names = process.argv.slice(2);
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.length === 0 || names.includes(name)));
}
