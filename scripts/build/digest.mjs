// What a build was made from, as one value.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * SHA-256 over the names and contents of the files, in hexadecimal. A file that is gone counts as
 * such.
 * @param {string} root
 * @param {readonly string[]} files relative to root
 * @returns {string}
 */
export function digest(root, files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(contents(path.join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

function contents(file) {
  try {
    return readFileSync(file);
  } catch (error) {
    if (error.code === 'ENOENT') return 'gone';
    throw error;
  }
}
