/** Why a file cannot be read or written, in words, and what to do. */
export interface FileProblem {
  reason: string;
  hint: string;
}

const PROBLEMS: Readonly<Record<string, FileProblem>> = {
  ENOENT: { reason: 'it does not exist', hint: 'check the path' },
  ENOTDIR: { reason: 'a part of its path is a file, not a folder', hint: 'check the path' },
  EISDIR: { reason: 'it is a folder', hint: 'give the path of a file' },
  EACCES: { reason: 'permission denied', hint: 'check the permissions of the file and of the folders that it is in' },
  EPERM: { reason: 'the system does not permit it', hint: 'check the permissions of the file' },
  ELOOP: { reason: 'its path is a loop of links', hint: 'give the path of the file itself' },
  ENAMETOOLONG: { reason: 'its path is too long', hint: 'give the path of a file, not its content' },
  ENOSPC: { reason: 'no space left on the device', hint: 'free some space, or choose another place' },
  EMFILE: { reason: 'too many files are open', hint: 'raise the limit of open files: ulimit -n' },
};

/** @param error of Node's file system */
export function fileProblem(error: unknown): FileProblem {
  const { code = 'unknown error' } = (error ?? {}) as { code?: string };
  return PROBLEMS[code] ?? { reason: code, hint: 'check that the path names a file that you can read' };
}
