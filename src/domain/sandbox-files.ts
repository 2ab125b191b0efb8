import { AppError } from '../base/errors.ts';

/** Links are followed. */
export interface PathInfo {
  /** Absolute, without links where the file exists. */
  path: string;
  /** `other`: a device, a pipe or a socket. */
  kind: 'file' | 'folder' | 'other' | 'none';
  bytes: number;
  /** Permission bits, at most 0o777. */
  mode: number;
  isReadable: boolean;
  /** A folder: names can be added. Else: the folder that it is in can be written to. */
  isWritable: boolean;
  hasFolder: boolean;
}

export interface SandboxContent {
  /** `folder`: the parts are a tar archive of what is in it. */
  kind: 'file' | 'folder';
  /** Permission bits of a new file; null: those that the server gives it. */
  mode: number | null;
  /** The sum of all parts; null: not known before. */
  bytes: number | null;
  parts: () => AsyncIterable<Uint8Array>;
}

export interface SandboxFiles {
  /** `path`: relative to the workspace folder, or absolute. */
  stat(path: string): Promise<PathInfo>;
  /** A folder comes as a tar archive whose names begin with `./`. */
  download(from: PathInfo, into: (part: Uint8Array) => Promise<void>): Promise<void>;
  /** Writes under a name `.acs-cp-…` first. Throws `conflict` where file and folder collide. */
  upload(target: PathInfo, content: SandboxContent): Promise<void>;
  /** A temporary path in the sandbox that has to be removed, also after a success; null: none. */
  readonly temporary: string | null;
  remove(temporary: string): Promise<void>;
}

/** Null for a folder that is named `.`, `..` or by nothing. */
export function nameOf(path: string): string | null {
  const last = path.replace(/\/+$/, '').split('/').at(-1) ?? '';
  return ['', '.', '..'].includes(last) ? null : last;
}

/** Throws `conflict` for a file named as a folder, what is neither, and what cannot be read. */
export function checkSource(
  { path, kind, isReadable }: PathInfo,
  given: string,
): 'file' | 'folder' {
  if (kind === 'other' || kind === 'none')
    throw new AppError('conflict', `${path} is neither a file nor a folder`);
  if (kind === 'file' && given.endsWith('/'))
    throw new AppError('conflict', `${path} is a file, not a folder`);
  if (!isReadable) throw new AppError('conflict', `${path} cannot be read: permission denied`);
  return kind;
}

/** Throws `conflict` where a file and a folder would collide, and where nothing can be written. */
export async function targetOf(
  source: { kind: 'file' | 'folder'; name: string | null },
  given: string,
  stat: (path: string) => PathInfo | Promise<PathInfo>,
  missing: (message: string) => AppError,
): Promise<PathInfo> {
  const there = await stat(given);
  if (there.kind !== 'folder') {
    const isFolderNamed = given.endsWith('/');
    if (isFolderNamed && there.kind !== 'none')
      throw new AppError('conflict', `${there.path} is not a folder`);
    // A folder that is copied becomes the folder that does not exist.
    if (isFolderNamed && source.kind === 'file')
      throw missing(`the folder ${there.path} does not exist`);
    return checkedTarget(there, source.kind, missing);
  }
  if (source.name === null && source.kind === 'file')
    throw new AppError('usage', `${there.path} is a folder, and a stream has no name`, {
      hint: 'name the file',
    });
  const folder = there.path.replace(/\/+$/, '');
  const target = source.name === null ? there : await stat(`${folder}/${source.name}`);
  return checkedTarget(target, source.kind, missing);
}

function checkedTarget(
  target: PathInfo,
  sourceKind: 'file' | 'folder',
  missing: (message: string) => AppError,
): PathInfo {
  const { path, kind } = target;
  if (!target.hasFolder) throw missing(`cannot write ${path}: its folder does not exist`);
  if (kind === 'other')
    throw new AppError('conflict', `${path} is not a regular file; it is not replaced`);
  if (kind !== 'none' && kind !== sourceKind) throw clash(path, kind === 'folder');
  if (!target.isWritable) throw new AppError('conflict', `cannot write ${path}: permission denied`);
  return target;
}

export function clash(path: string, isFolder: boolean): AppError {
  const reason = isFolder
    ? 'is a folder; a file does not replace it'
    : 'is not a folder; a folder does not replace it';
  return new AppError('conflict', `${path} ${reason}`);
}
