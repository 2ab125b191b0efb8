// What main.ts loads at the start is there when anything else is loaded, and the connection when anything of a server is.
// Told so, esbuild puts what is there into one chunk; else it cuts it into one for every set of modules that share
// something, and each of those costs the start 0.1 ms.
import path from 'node:path';

const NAMESPACE = 'on-use';

/**
 * Has every module of ours that is loaded on use import what was loaded before it, which changes nothing when it runs.
 * @param {string} root
 * @param {(file: string) => string} loadedBefore what is there when a file is loaded; both relative to root
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
