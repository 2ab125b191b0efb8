// From sources to CommonJS files that share their modules.
import path from 'node:path';
import { build, transform } from 'esbuild';
import { readableNames } from './names.mjs';

/**
 * Bundles the entries of one kind of process. Modules that several of them or several chunks need are in chunks of their
 * own, so that none exists twice in a process.
 * @param {import('esbuild').BuildOptions} options entryPoints, absWorkingDir, chunkNames, define
 * @returns the files by their names below dist/, and esbuild's metafile
 */
export async function bundle(options) {
  const outdir = path.join(options.absWorkingDir, 'dist');
  const { metafile, outputFiles } = await build({
    ...options,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minify: true,
    legalComments: 'none',
    external: ['libsql'], // carries a native binary
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const names = readableNames(metafile);
  const files = new Map();
  for (const file of outputFiles) {
    const { inputs, imports } = metafile.outputs[path.relative(options.absWorkingDir, file.path)];
    const name = names.rename(path.relative(outdir, file.path));
    files.set(name, {
      text: await commonJs(name, names.rename(file.text)),
      inputs: Object.keys(inputs),
      imports: imports
        .filter((each) => each.kind === 'import-statement' && !each.external)
        .map((each) => names.rename(path.relative('dist', each.path))),
    });
  }
  return { files, metafile };
}

async function commonJs(name, text) {
  const { code, warnings } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // The names are short already, but for those of the helpers, by which gather.mjs knows them.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    supported: { 'dynamic-import': false },
  });
  for (const warning of warnings) process.stderr.write(`${name}: ${warning.text}\n`);
  return code;
}
