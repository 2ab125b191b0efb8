/** Applies a patch in a stage, and lists what it changed there. */
import { AppError } from '../../errors.ts';
import { type FileMove, readable } from './install.ts';
import type { Stage } from './stage.ts';

export interface StagedChange extends FileMove {
  /** Only the commit of a submodule changes. */
  isSubmodule: boolean;
}

export interface Staged {
  changes: StagedChange[];
  /** Paths with conflict markers. */
  conflicts: string[];
}

/**
 * Applies a patch in a stage whose index holds `base`.
 * @param base a tree or commit
 * @param options.onto how errors name it: `HEAD`
 * @throws AppError `conflict` when the patch does not apply; `server` for a patch that leaves the checkout
 */
export async function applyPatch(
  stage: Stage,
  patch: Uint8Array,
  { base, onto, threeWay, cached }: { base: string; onto: string; threeWay: boolean; cached: boolean },
): Promise<Staged> {
  if (patch.length === 0) return { changes: [], conflicts: [] }; // git refuses a patch of nothing
  const flags = [cached ? '--cached' : '--index', '--whitespace=nowarn', ...(threeWay ? ['--3way'] : [])];
  const { code, stderr } = await stage.git(['apply', ...flags], patch);
  const unmerged = (await stage.must(['diff', '--cached', '--name-only', '-z', '--diff-filter=U'])).split('\0');
  const conflicts = unmerged.filter((name) => name !== '').map(readable);
  if (code !== 0 && conflicts.length === 0) throw refusal(stderr, onto, threeWay);
  const raw = await stage.must(['diff-index', '--cached', '--raw', '-z', '--no-renames', base]);
  return { changes: readRaw(raw), conflicts };
}

/** Records of `git diff-index --raw -z --no-renames`: `:<mode> <mode> <id> <id> <letter>`, then the path. */
export function readRaw(text: string): StagedChange[] {
  const parts = text.split('\0');
  const changes = new Map<string, StagedChange>();
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [before = '', after = '', , , letter = ''] = (parts[index] ?? '').slice(1).split(' ');
    const name = parts[index + 1] ?? '';
    const isSubmodule = before === '160000' || after === '160000';
    // A path with a conflict has a second record for each of its sides.
    const known = changes.get(name);
    changes.set(name, {
      path: name,
      removes: (known?.removes ?? false) || (before !== '000000' && before !== '160000'),
      adds: (known?.adds ?? false) || (letter !== 'D' && after !== '160000'),
      isSubmodule: isSubmodule || (known?.isSubmodule ?? false),
    });
  }
  return [...changes.values()];
}

function refusal(stderr: string, onto: string, threeWay: boolean): AppError {
  const errors = stderr.split('\n').filter((line) => /^(error|fatal): /.test(line));
  const reason = (errors[0] ?? stderr).replace(/^\w+: /, '');
  if (/invalid path|beyond a symbolic link/.test(stderr)) {
    return new AppError('server', `the changes name a path that leaves the checkout: ${reason}`, {
      hint: 'nothing was changed',
    });
  }
  if (/No space left|unable to (write|create)|Disk quota|File too large/i.test(stderr)) {
    return new AppError('config', `git could not write the changed files: ${reason}`, { hint: 'nothing was changed' });
  }
  return new AppError('conflict', `the changes do not apply to ${onto}: ${reason}`, {
    hint: threeWay
      ? 'nothing was changed; write the changed files to a folder: -o <dir>'
      : 'nothing was changed; merge them: --3way, commit them on a branch: --branch <name>, or write files: -o <dir>',
    ...(errors.length > 1 ? { data: { errors: errors.slice(0, 50) } } : {}),
  });
}

export interface Retrieved {
  /** Paths that were written or deleted. */
  files: string[];
  /** Paths with conflict markers. */
  conflicts: string[];
  /** Submodules whose commit changed: their files are not touched. */
  submodules: string[];
}

export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more files` : shown;
}

export function summary(changes: readonly StagedChange[], conflicts: string[]): Retrieved {
  const names = (of: (change: StagedChange) => boolean) => changes.filter(of).map(({ path: name }) => readable(name));
  return {
    files: names(({ isSubmodule }) => !isSubmodule),
    conflicts,
    submodules: names(({ isSubmodule }) => isSubmodule),
  };
}
