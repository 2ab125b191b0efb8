// The command line as CommonJS, in files that are loaded on use: what every command needs, what a
// request needs, and each other folder of src and each library. Node 20 starts CommonJS faster than
// ESM; one file for all takes 30 ms more to read, and esbuild's own splitting makes 260 files of
// 0.2 ms each.
//
// A module is in one file, so that an error is the same class everywhere.
import path from 'node:path';
import { build } from 'esbuild';

/**
 * Files for a command's way to a list: these modules, and what they import statically and no file
 * before has.
 */
const ROOTS = {
  main: ['src/main.ts'],
  request: [
    'src/local/profiles/resolve.ts',
    'src/local/profiles/key.ts',
    'src/local/profiles/cache.ts',
    'src/client/connect.ts',
    'src/client/v1/index.ts',
  ],
  conv: ['src/commands/conv/index.ts', 'src/commands/conv/list.ts'],
};

/**
 * Of these a command needs every module: they are evaluated at once, in all others a module is
 * evaluated on use.
 */
const EVALUATED_WHOLE = ['main', 'request'];

/**
 * Bundles main.ts, and a script that is built with it and may import any module.
 * @param {import('esbuild').BuildOptions} options
 * @param {string} script relative to the root
 * @returns {Promise<import('esbuild').BuildResult>} with main.js and the name of the script, of
 * files not yet written
 */
export async function commandLine(options, script) {
  const root = options.absWorkingDir;
  const entries = ['src/main.ts', script];
  const whole = await build({
    ...options,
    entryPoints: entries,
    outdir: 'dist',
    format: 'esm',
    splitting: true,
  });
  const sources = Object.entries(whole.metafile.inputs).filter(([file]) =>
    /^(src|scripts)\//.test(file),
  );
  const importsOf = new Map(sources.map(([file, { imports }]) => [file, imports]));

  const homes = new Map();
  const settle = (file, home) => {
    if (homes.has(file) || !importsOf.has(file)) return;
    homes.set(file, home);
    for (const { path: to, kind } of importsOf.get(file))
      if (kind === 'import-statement') settle(to, home);
  };
  for (const [home, files] of Object.entries(ROOTS)) for (const file of files) settle(file, home);
  for (const [file, { imports }] of sources)
    if (!homes.has(file)) homes.set(file, homeOf(file, imports));

  /** Of each file the modules that are imported from another one. */
  const offered = new Map([...homes.values()].map((home) => [home, new Set()]));
  const libraries = new Set();
  for (const [file, imports] of importsOf) {
    for (const { path: to, original, kind } of imports) {
      if (homes.has(to) && homes.get(to) !== homes.get(file)) offered.get(homes.get(to)).add(to);
      if (to.startsWith('node_modules/') && kind === 'dynamic-import') libraries.add(original);
    }
  }
  offered.get('main').add('src/main.ts');
  offered.get('scripts').add(script);

  const links = {
    name: 'links',
    setup(build) {
      const relative = (resolveDir, to) =>
        path.relative(root, path.resolve(resolveDir, to)).replaceAll(path.sep, '/');
      build.onResolve({ filter: /^home:/ }, ({ path: home }) => ({
        path: home.slice(5),
        namespace: 'home',
      }));
      build.onLoad({ filter: /.*/, namespace: 'home' }, ({ path: home }) => {
        const files = [...offered.get(home)];
        const contents = EVALUATED_WHOLE.includes(home)
          ? files.map((file) => `export * as "${file}" from "./${file}";`).join('\n')
          : 'module.exports = { ' +
            `${files.map((file) => `get "${file}"() { return ` + `require("./${file}"); }`).join()} ` +
            '};';
        return { contents, resolveDir: root };
      });
      build.onResolve({ filter: /^\.\.?\// }, ({ path: to, importer, namespace, resolveDir }) => {
        if (namespace === 'link') return { path: to, external: true };
        const file = relative(resolveDir, to);
        const from = relative(root, importer);
        return homes.has(from) && homes.get(from) !== homes.get(file)
          ? { path: file, namespace: 'link' }
          : undefined;
      });
      build.onResolve({ filter: /^[^.]/ }, ({ path: to, importer }) =>
        libraries.has(to) && homes.has(relative(root, importer))
          ? { path: to, namespace: 'link' }
          : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: 'link' }, ({ path: to }) => ({
        contents: homes.has(to)
          ? `module.exports = require("./${homes.get(to)}.js")["${to}"];`
          : `export * from "./${fileOf(to)}.js"; export { default } from "./${fileOf(to)}.js";`,
      }));
    },
  };
  return await build({
    ...options,
    entryPoints: Object.fromEntries([
      ...[...offered.keys()].map((home) => [home, `home:${home}`]),
      ...[...libraries].map((library) => [fileOf(library), library]),
    ]),
    outdir: 'dist',
    format: 'cjs',
    plugins: [...options.plugins, links],
  });
}

/**
 * A library that is imported statically is in the file of its importers, where esbuild drops what
 * they do not use.
 */
function homeOf(file, imports) {
  const library = imports.find(
    ({ path: to, kind }) => kind === 'import-statement' && to.startsWith('node_modules/'),
  );
  if (file.startsWith('scripts/')) return 'scripts';
  if (library !== undefined) return fileOf(library.original);
  // A command needs few of the modules directly in these folders.
  const isAlone = /^src\/(commands|domain)\/[^/]+$/.test(file);
  return (isAlone ? file.replace(/\.ts$/, '') : path.dirname(file)).replaceAll('/', '-');
}

function fileOf(library) {
  return `lib-${/\w[\w-]*/.exec(library)[0]}`;
}
