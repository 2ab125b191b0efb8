import { execFile, type ChildProcess } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { sendSignal, statFields } from './process.ts';

/**
 * Ends the processes below `child` as well, but those that left the tree before. A process group
 * would take the terminal away from a password manager that prompts there.
 */
export async function endTree(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return; // it could not be started
  child.kill('SIGSTOP'); // it starts nothing more while its children are looked for
  const parents = await parentsByPid();
  const tree = new Set([child.pid]);
  for (const parent of tree)
    for (const [pid, parentOfPid] of parents) if (parentOfPid === parent) tree.add(pid);
  for (const pid of [...tree].slice(1)) sendSignal(pid, 'SIGKILL');
  child.kill('SIGKILL');
}

/** Reads /proc where there is one: `ps` is missing on small systems. */
async function parentsByPid(): Promise<[pid: number, parent: number | undefined][]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  if (pids.length > 0) return pids.map((pid) => [pid, Number(statFields(pid)?.[1])]);
  const list = promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='], { timeout: 2_000 });
  const { stdout } = await list.catch(() => ({ stdout: '' }));
  return stdout.split('\n').map((line) => {
    const [pid = 0, parent] = line.trim().split(/\s+/).map(Number);
    return [pid, parent];
  });
}
