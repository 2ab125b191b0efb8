/** Paths of recorded steps, whose workspace may have had another place. */
import path from 'node:path';

const ROOTS = ['/workspace/project', '/workspace'];
const HEREDOC = /(?<!<)<<-?\s*["']?([A-Za-z_]\w*)/;
const PATH = /(?<![\w./~-])\/workspace(?![\w.-])(?:\/[\w.@%+-]+)*/g;

export function movedPath(recorded: string, workingDir: string): string {
  if (!path.isAbsolute(recorded) || isWithin(recorded, workingDir)) return recorded;
  const root = ROOTS.find((folder) => isWithin(recorded, folder));
  if (root === undefined) return recorded;
  const rest = path.relative(root, recorded);
  const name = path.basename(workingDir);
  return path.join(workingDir, isWithin(rest, name) ? rest.slice(name.length) : rest);
}

/** The text of a heredoc stays: it may be the content of a file. */
export function movedCommand(recorded: string, workingDir: string): string {
  let end: string | undefined;
  const lines = recorded.split('\n').map((line) => {
    if (end !== undefined) {
      if (line.trim() === end) end = undefined;
      return line;
    }
    end = HEREDOC.exec(line)?.[1];
    return line.replace(PATH, (found) => movedPath(found, workingDir));
  });
  return lines.join('\n');
}

function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(`${folder.replace(/\/$/, '')}/`);
}
