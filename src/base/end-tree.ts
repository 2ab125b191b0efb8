/**
 * Not by a process group: it would take the terminal away from a password manager that prompts
 * there.
 */
import { execFile, type ChildProcess } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

/** A process that left the tree before is not ended. */
export async function endTree(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return; // it could not be started
  child.kill('SIGSTOP'); // it starts nothing more while its children are looked for
  const children = byParent(await processTable());
  const below = [...(children.get(child.pid) ?? [])];
  for (const pid of below) below.push(...(children.get(pid) ?? []));
  // The shell has `kill` built in; a program of that name is missing on small systems.
  if (below.length > 0) await run('sh', ['-c', 'kill -KILL "$@"', 'sh', ...below.map(String)]);
  child.kill('SIGKILL');
}

type Pair = readonly [pid: number, parent: number];

/** From /proc where there is one: `ps` is missing on small systems. */
async function processTable(): Promise<Pair[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const parentOf = async (pid: number): Promise<Pair> => {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
    // The second field after the name, which stands in brackets and may hold anything.
    return [pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0)];
  };
  if (pids.length > 0) return await Promise.all(pids.map(parentOf));
  const lines = (await run('ps', ['-A', '-o', 'pid=,ppid='])).split('\n');
  return lines.map((line) => {
    const [pid = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    return [pid, parent];
  });
}

function byParent(table: readonly Pair[]): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const [pid, parent] of table) {
    if (pid > 0 && parent > 0) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  return children;
}

async function run(program: string, args: readonly string[]): Promise<string> {
  return await new Promise((resolve) => {
    execFile(program, args, { timeout: 2_000 }, (error, stdout) => resolve(error ? '' : stdout));
  });
}
