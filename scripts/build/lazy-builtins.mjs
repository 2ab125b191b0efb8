// Modules of Node that the start does not need are loaded when a member of them is used:
// node:child_process, which commander imports, takes 1.4 ms, node:crypto 1.1 ms, where all of Node
// takes 27 ms. Applied to code of ours and to commander; every other library is loaded on use as a
// whole.
const filter = /^(node:)?(child_process|crypto|dns|fs\/promises|https?|net|os|readline|tls|zlib)$/;
const namespace = 'lazy-builtin';

export const lazyBuiltins = {
  name: namespace,
  setup(build) {
    build.onResolve({ filter }, ({ path, namespace: from, importer }) => {
      if (from === namespace) return { path, external: true };
      if (/node_modules\/(?!commander\/)/.test(importer.replaceAll('\\', '/'))) return undefined;
      return { path: path.replace(/^(node:)?/, 'node:'), namespace };
    });
    // A prototype, because esbuild copies the members of a module that it imports, but keeps what
    // it inherits from.
    build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
      contents:
        'module.exports = Object.create(new Proxy({}, { get: (_, name) => ' +
        `require('${path}')[name] }));`,
    }));
  },
};
