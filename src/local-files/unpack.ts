/**
 * A tar archive of a sandbox as a folder of this machine. The archive is not trusted: no name and no link of it leads out
 * of the folder. All of it is written to a folder beside its place, or in the folder that it is merged into, before
 * anything is put in its place.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, mkdtemp, open, rename, rm, stat, chmod, symlink } from 'node:fs/promises';
import path from 'node:path';
import { extract, type Extract, type Header } from 'tar-stream';
import type { Place } from '../domain/place.ts';
import { AppError } from '../errors.ts';
import { LEADS_OUT, staysInside } from './links.ts';
import { merge, missingIn, type Tree } from './merge.ts';
import { fileError } from './problem.ts';

export interface Unpacked {
  files: number;
  bytes: number;
  leftOut: string[];
}

export class Unpacking {
  readonly #target: Place;
  readonly #archive: Extract = extract();
  /** From the beginning: an entry that is read before the iterator exists would be lost. */
  readonly #entries = this.#archive[Symbol.asyncIterator]();
  readonly #tree: Tree = new Map();
  readonly #links: { name: string; target: string }[] = [];
  /** Folders whose owner must not write to them or read them: they get these modes last. */
  readonly #closed: { name: string; mode: number }[] = [];
  readonly #result: Unpacked = { files: 0, bytes: 0, leftOut: [] };
  #stage: string | null = null;
  #work: Promise<void> | null = null;

  /** @param target a folder, or nothing yet; in a folder that can be written to */
  constructor(target: Place) {
    this.#target = target;
  }

  /** Takes the next part of the archive. Throws `server` for an archive that is not one, or that leads out. */
  async write(part: Uint8Array): Promise<void> {
    this.#work ??= this.#begin();
    if (this.#archive.write(part)) return;
    await Promise.race([new Promise<void>((resolve) => this.#archive.once('drain', () => resolve())), this.#work]);
  }

  /** Puts everything in its place. Throws `conflict` where a file would replace a folder or a folder a file. */
  async commit(): Promise<Unpacked> {
    this.#work ??= this.#begin();
    this.#archive.end(null);
    await this.#work;
    const stage = this.#stageFolder();
    const { path: target, kind } = this.#target;
    try {
      for (const { name, target: to } of this.#links) await symlink(to, path.join(stage, name));
      const missing = kind === 'none' ? null : await missingIn(target, this.#tree);
      if (missing === null) await rename(stage, target);
      else await merge(this.#tree, missing, stage, target);
      for (const { name, mode } of this.#closed.reverse()) {
        if (missing?.has(name) === false) continue;
        const folder = path.join(target, name);
        await chmod(folder, (await stat(folder)).mode & mode);
      }
    } catch (error) {
      throw fileError('write', target, error);
    }
    await this.discard();
    return this.#result;
  }

  /** Removes what has not been put in its place. */
  async discard(): Promise<void> {
    this.#archive.destroy();
    await this.#work?.catch(() => undefined);
    if (this.#stage !== null) await rm(this.#stage, { recursive: true, force: true });
  }

  #begin(): Promise<void> {
    const work = this.#unpack();
    // Its error is thrown by the next write or by commit.
    work.catch(() => undefined);
    return work;
  }

  async #unpack(): Promise<void> {
    const { path: target, kind } = this.#target;
    try {
      this.#stage = await mkdtemp(path.join(kind === 'folder' ? target : path.dirname(target), '.acs-cp-'));
      await mkdir(this.#stageFolder());
    } catch (error) {
      throw fileError('write', target, error);
    }
    await this.#readEntries();
  }

  #stageFolder(): string {
    return path.join(this.#stage ?? '', 'new');
  }

  async #readEntries(): Promise<void> {
    try {
      for await (const entry of { [Symbol.asyncIterator]: () => this.#entries }) {
        await this.#add(entry.header, entry as AsyncIterable<Uint8Array>);
        entry.resume();
      }
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === undefined && !(error instanceof AppError)
        ? new AppError('server', `the archive of the sandbox cannot be read: ${(error as Error).message}`)
        : fileError('write', this.#target.path, error);
    }
  }

  async #add(header: Header, content: AsyncIterable<Uint8Array>): Promise<void> {
    const name = safeName(header.name);
    if (name.includes('\uFFFD')) {
      this.#result.leftOut.push(`${name}: its name is not UTF-8`);
      return;
    }
    this.#checkParents(name);
    const full = path.join(this.#stageFolder(), name);
    switch (header.type) {
      case 'directory':
        return await this.#addFolder(name, header.mode);
      case 'file':
      case 'contiguous-file':
        await writeNew(full, header.mode, content);
        break;
      case 'link':
        await this.#copy(header.linkname, full);
        break;
      case 'symlink':
        if (!staysInside(header.linkname, name.split('/').length - 1)) {
          this.#result.leftOut.push(`${name}: ${LEADS_OUT}`);
          return;
        }
        this.#links.push({ name, target: header.linkname });
        break;
      default:
        this.#result.leftOut.push(`${name}: neither a file, a folder nor a link`);
        return;
    }
    this.#tree.set(name, header.type === 'symlink' ? 'link' : 'file');
    this.#result.files += 1;
    this.#result.bytes += header.size;
  }

  async #addFolder(name: string, mode: number): Promise<void> {
    const folder = path.join(this.#stageFolder(), name);
    if (name === '') await chmod(folder, (await stat(folder)).mode & (mode | 0o700));
    else await mkdir(folder, { mode: (mode & 0o777) | 0o700 });
    this.#tree.set(name, 'folder');
    if ((mode & 0o700) !== 0o700) this.#closed.push({ name, mode: mode & 0o777 });
  }

  /** The other name of a file that was packed before. */
  async #copy(linkname: string, to: string): Promise<void> {
    const from = safeName(linkname);
    if (this.#tree.get(from) !== 'file') throw leadsOut(linkname);
    await copyFile(path.join(this.#stageFolder(), from), to, constants.COPYFILE_EXCL);
  }

  /** Nothing is written through a link: what an entry is in was unpacked as a folder. */
  #checkParents(name: string): void {
    const folder = path.posix.dirname(name);
    if (folder !== '.' && this.#tree.get(folder) !== 'folder') throw leadsOut(name);
    if (name !== '' && this.#tree.has(name)) throw leadsOut(name);
  }
}

async function writeNew(file: string, mode: number, content: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'wx', mode & 0o777);
  try {
    for await (const part of content) await handle.appendFile(part);
  } finally {
    await handle.close();
  }
}

/** Without `./` and slashes at its end; empty for the folder itself. */
function safeName(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || name.includes('\0') || parts.includes('..')) throw leadsOut(name);
  return parts.join('/');
}

function leadsOut(name: string): AppError {
  const shown = JSON.stringify(name.slice(0, 200));
  return new AppError('server', `the archive of the sandbox has a path that is not allowed: ${shown}`, {
    hint: 'nothing was written',
  });
}
