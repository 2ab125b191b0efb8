// Parts of Node that the start does not need are loaded when something of them is used. node:child_process, which commander
// asks for in case a command is a program of its own, takes 1.4 ms; node:crypto 1.1 ms: a tenth of the start of Node.
const LOADED_ON_USE = [
  'child_process',
  'crypto',
  'dns',
  'fs/promises',
  'http',
  'https',
  'net',
  'os',
  'readline',
  'tls',
  'v8',
];
const NAMESPACE = 'node-on-use';

/** For code of ours and for commander: what else is bundled is loaded on use as a whole. */
export const lazyBuiltins = {
  name: 'lazy-builtins',
  setup(build) {
    const filter = new RegExp(`^(node:)?(${LOADED_ON_USE.join('|')})$`);
    build.onResolve({ filter }, ({ path, namespace, importer }) => {
      if (namespace === NAMESPACE) return { path, external: true };
      if (importer.includes('node_modules') && !importer.includes('node_modules/commander/')) return undefined;
      return { path: path.replace(/^(node:)?/, 'node:'), namespace: NAMESPACE };
    });
    // A prototype, because esbuild copies the members of a module that it imports, but keeps what it inherits from.
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
      contents: `module.exports = Object.create(new Proxy({}, { get: (_, name) => require('${path}')[name] }));`,
    }));
  },
};
