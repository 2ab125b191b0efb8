// The help of the root, which people and programs ask for first, laid out once: reading the tree of commands for it took
// as long as half a start of Node.
import { spawnSync } from 'node:child_process';

/** The widest layout of help, and that of a pipe (src/commands/help/layout.ts). */
const COLUMNS = 80;

/**
 * What the built program prints for `acs --help` on a terminal of at least 80 columns, and on a pipe. bin/acs.cjs prints
 * it, and leaves narrower terminals to the program.
 * @param {string} root
 * @param {string} main path of the built main.js
 * @returns {{ columns: number, text: string }}
 */
export function helpLayout(root, main) {
  const program = `process.stdout.columns = ${COLUMNS}; require(${JSON.stringify(main)}).main(${JSON.stringify(root)})`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program, 'acs', '--help'], {
    encoding: 'utf8',
  });
  if (status !== 0 || stdout === '') throw new Error(`the build cannot print its help: ${stderr}`);
  return { columns: COLUMNS, text: stdout };
}
