import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** O_CLOEXEC on Linux. The files that node opens have it; those that a shell has given to the service do not. */
const CLOSE_ON_EXEC = 0o2000000;

/** Closes what the program that started the service had open: programs inside would inherit it. Only on Linux. */
export function closeInheritedFiles(): void {
  let descriptors: number[];
  try {
    descriptors = readdirSync('/proc/self/fdinfo').map(Number);
  } catch {
    return;
  }
  for (const descriptor of descriptors.filter((each) => each > 2)) {
    try {
      const [, flags = ''] =
        /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${String(descriptor)}`, 'latin1')) ?? [];
      if ((parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(descriptor);
    } catch {
      // It was that of the listing.
    }
  }
}
