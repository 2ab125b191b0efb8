// What cli-table3 gets here of the libraries it needs. It measures each cell with an older string-width, whose expression
// of all emoji takes 5 ms to compile, and could colour what is around the cells: it is given nothing but stand-ins, each
// of whose characters is one column, and no colours (src/output/table.ts).
const STAND_INS = {
  'string-width': 'module.exports = (text) => text.length;',
  '@colors/colors/safe': 'module.exports = {};',
};

/** For cli-table3 alone: everybody else measures what people read. */
export const table = {
  name: 'table',
  setup(build) {
    const filter = new RegExp(`^(${Object.keys(STAND_INS).join('|')})$`);
    build.onResolve({ filter }, ({ importer, path }) =>
      /node_modules\/cli-table3\//.test(importer.replaceAll('\\', '/')) ? { path, namespace: 'table' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'table' }, ({ path }) => ({ contents: STAND_INS[path] }));
  },
};
