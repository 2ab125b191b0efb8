/** Which isolation works on this machine. */
import { execFile } from 'node:child_process';
import { bubblewrapTrial } from './bubblewrap.ts';

/** Null when bubblewrap works here; else why not, in one line. Takes some milliseconds. */
export function whyNoBubblewrap(): Promise<string | null> {
  return new Promise((resolve) => {
    execFile('bwrap', bubblewrapTrial(), { timeout: 10_000, encoding: 'utf8' }, (error, _stdout, stderr) => {
      if (error === null) resolve(null);
      else if (error.code === 'ENOENT') resolve('bubblewrap (bwrap) is not installed');
      else resolve(`bubblewrap does not work here: ${firstLine(stderr) || error.message}`);
    });
  });
}

export function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]?.slice(0, 300) ?? '';
}
