/** Where a copy goes, by the rules of `cp -r`, the same for the files of a sandbox and those of this machine. */
import { AppError } from '../errors.ts';

/** What a path names. Links are followed. */
export interface Place {
  /** Absolute; of a folder, and of a file behind a link, where it is itself. */
  path: string;
  /** `other`: a device, a pipe, a socket, or a link that leads to nothing. */
  kind: 'file' | 'folder' | 'other' | 'none';
  /** Of a file. */
  bytes: number;
  /** Its permission bits, at most 0o777; null: not known. */
  mode: number | null;
  /** Whether it can be read; of a folder: its names. */
  isReadable: boolean;
  /** Whether it can be written; of a folder: names can be added. */
  isWritable: boolean;
  /** Of the folder that it is in. */
  parent: { isFolder: boolean; isWritable: boolean };
}

/** What is copied. */
interface Copied {
  kind: 'file' | 'folder';
  /** Its name in a folder that it is copied into; null: what is in the folder is copied, without the folder itself. */
  name: string | null;
}

/** The name that a copy of the path has in a folder; null for a folder that is named `.`, `..` or by nothing. */
export function nameOf(path: string): string | null {
  const last = path.replace(/\/+$/, '').split('/').at(-1) ?? '';
  return ['', '.', '..'].includes(last) ? null : last;
}

/** Throws `conflict` for a file that is named as a folder, what is neither, and what cannot be read. */
export function checkSource({ path, kind, isReadable }: Place, given: string): 'file' | 'folder' {
  if (kind === 'other' || kind === 'none') throw new AppError('conflict', `${path} is neither a file nor a folder`);
  if (kind === 'file' && given.endsWith('/')) throw new AppError('conflict', `${path} is a file, not a folder`);
  if (!isReadable) throw new AppError('conflict', `${path} cannot be read: permission denied`);
  return kind;
}

/**
 * The place that a copy gets: in a folder that is there under its own name, else under the name that was given.
 * @param missing makes the error for a folder that is not there
 * @throws `conflict` where a file would replace a folder or a folder a file, and where nothing can be written
 */
export async function targetOf(
  { kind, name }: Copied,
  given: string,
  look: (path: string) => Promise<Place>,
  missing: (message: string) => AppError,
): Promise<Place> {
  const there = await look(given);
  if (there.kind !== 'folder' && given.endsWith('/') && (there.kind !== 'none' || kind === 'file')) {
    if (there.kind === 'none') throw missing(`the folder ${there.path} does not exist`);
    throw new AppError('conflict', `${there.path} is not a folder`);
  }
  if (there.kind === 'folder' && kind === 'file' && name === null) {
    throw new AppError('usage', `${there.path} is a folder, and what is copied has no name`, { hint: 'name the file' });
  }
  const isInto = there.kind === 'folder' && name !== null;
  const target = isInto ? await look(`${there.path.replace(/\/+$/, '')}/${name}`) : there;
  checkTarget(target, kind, missing);
  return target;
}

function checkTarget(target: Place, kind: Copied['kind'], missing: (message: string) => AppError): void {
  const { path, parent } = target;
  if (!parent.isFolder) throw missing(`cannot write ${path}: its folder does not exist`);
  if (target.kind === 'folder' && kind === 'file') {
    throw new AppError('conflict', `${path} is a folder; a file does not replace it`);
  }
  if (target.kind !== 'none' && target.kind !== 'folder' && kind === 'folder') {
    throw new AppError('conflict', `${path} is not a folder; a folder does not replace it`);
  }
  if (target.kind === 'other') throw new AppError('conflict', `${path} is not a regular file; it is not replaced`);
  const isWritable = target.kind === 'folder' ? target.isWritable : parent.isWritable;
  if (!isWritable) throw new AppError('conflict', `cannot write ${path}: permission denied`);
}
