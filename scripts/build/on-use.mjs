// The modules that main.ts loads at the start are loaded before any other module, and the connection before any module
// of a server. With imports that state this, esbuild puts them into one chunk; without, it makes a chunk for every set of
// modules with shared imports, and each chunk adds 0.1 ms to the start.
import path from 'node:path';

const NAMESPACE = 'on-use';

/**
 * Makes every module of src that is loaded on use import the modules loaded before it; this has no effect at run time.
 * @param {string} root
 * @param {(file: string) => string} loadedBefore the module that is loaded before a file; both relative to root
 */
export function onUse(root, loadedBefore) {
  return {
    name: NAMESPACE,
    setup(build) {
      build.onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path: asked, kind, resolveDir }) => {
        if (kind !== 'dynamic-import') return undefined;
        const found = path.relative(root, path.resolve(resolveDir, asked)).split(path.sep).join('/');
        return { path: found, namespace: NAMESPACE };
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path: file }) => {
        const modules = [loadedBefore(file), file].map((each) => JSON.stringify(`./${each}`));
        return { contents: `import ${modules[0]};\nexport * from ${modules[1]};\n`, loader: 'js', resolveDir: root };
      });
    },
  };
}
