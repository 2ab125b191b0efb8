/**
 * Ends what a killed server of the suite leaves running: its agent servers start tmux servers,
 * which no group holds.
 */
import { readFile, readdir } from 'node:fs/promises';
import process from 'node:process';

/**
 * Kills every process whose environment names a path below `folder`, an absolute path, until a
 * search finds none: a process may start another between the search and its end. Gives the command
 * line of each. Where there is no /proc, nothing is found.
 */
export async function endProcessesOf(folder) {
  const ended = new Map();
  for (;;) {
    const found = await processesOf(folder);
    if (found.length === 0) return [...ended.values()];
    for (const { pid, command } of found) {
      ended.set(pid, command);
      kill(pid);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function processesOf(folder) {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = [];
  for (const pid of pids.map(Number)) {
    if (pid === process.pid || !(await textOf(pid, 'environ')).includes(`=${folder}/`)) continue;
    found.push({ pid, command: (await textOf(pid, 'cmdline')).replaceAll('\0', ' ').trim() });
  }
  return found;
}

/** Empty for a process that has ended, or that belongs to another user. */
async function textOf(pid, file) {
  return readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
