// The help of the root, which people and programs ask for first, laid out once: reading the tree of commands for it took
// as long as half a start of Node.
import { spawnSync } from 'node:child_process';

/** Of a pipe and of a terminal that nobody has made wider. */
const STANDARD_COLUMNS = 80;
/** No line of help is that long. */
const UNLIMITED_COLUMNS = 10_000;

/**
 * What the built program prints for `acs --help`: at the standard width, and where no line has to be broken. bin/acs.cjs
 * prints these, and leaves other widths to the program.
 * @param {string} root
 * @param {string} main path of the built main.js
 * @returns {{ standard: { columns: number, text: string }, wide: { columns: number, text: string } }} `wide` is right
 *   from its columns on
 */
export function helpLayouts(root, main) {
  const wide = helpAt(UNLIMITED_COLUMNS, root, main);
  return {
    standard: { columns: STANDARD_COLUMNS, text: helpAt(STANDARD_COLUMNS, root, main) },
    wide: { columns: Math.max(...wide.split('\n').map((line) => line.length)), text: wide },
  };
}

function helpAt(columns, root, main) {
  const program = `process.stdout.columns = ${columns}; require(${JSON.stringify(main)}).main(${JSON.stringify(root)})`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program, 'acs', '--help'], {
    encoding: 'utf8',
  });
  if (status !== 0 || stdout === '') throw new Error(`the build cannot print its help: ${stderr}`);
  return stdout;
}
