// cli-table3 measures each cell with an older string-width, whose expression of all emoji takes 5 ms to compile. Here it
// is given nothing but stand-ins (src/output/table.ts), each of whose characters is one column.

/** For cli-table3 alone: everybody else measures what people read. */
export const tableWidths = {
  name: 'table-widths',
  setup(build) {
    build.onResolve({ filter: /^string-width$/ }, ({ importer, path }) =>
      /node_modules\/cli-table3\//.test(importer.replaceAll('\\', '/'))
        ? { path, namespace: 'table-widths' }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'table-widths' }, () => ({
      contents: 'module.exports = (text) => text.length;',
    }));
  },
};
