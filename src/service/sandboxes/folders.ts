import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { basesOf } from '../base/worker-protocol.ts';

/** A sandbox has a workspace, the commits that its clones began with, and event logs. */
export class SandboxFolders {
  readonly #in: { workspacesDir: string; eventsDir: string };

  constructor(folders: { workspacesDir: string; eventsDir: string }) {
    this.#in = folders;
  }

  workspace(id: string): string {
    return path.join(this.#in.workspacesDir, id);
  }

  events(id: string): string {
    return path.join(this.#in.eventsDir, id);
  }

  make(id: string): void {
    for (const dir of [...this.#removable(id), this.events(id)])
      mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** Undoes `make` where nothing has run yet. */
  unmake(id: string): void {
    for (const dir of this.#removable(id)) rmSync(dir, { recursive: true, force: true });
  }

  async remove(id: string): Promise<void> {
    await Promise.all(this.#removable(id).map(removeTree));
  }

  /** Workspaces of other sandboxes than these, for example after a restore of an older store. */
  unknown(ids: string[]): string[] {
    const known = new Set(ids);
    const names = readdirSync(this.#in.workspacesDir);
    // Folders with another form of name are not the service's.
    return names
      .filter((name) => /^[0-9A-Za-z]{22}$/.test(name) && !known.has(name))
      .map((id) => this.workspace(id));
  }

  #removable(id: string): string[] {
    return [this.workspace(id), basesOf(this.workspace(id))];
  }
}

/** Follows no link. No process may work in the folder. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // Folders without write permission, names that are not UTF-8, paths that are too long.
    const run = promisify(execFile);
    const options = { maxBuffer: Infinity };
    await run('chmod', ['-R', 'u+rwX', '--', folder], options).catch(() => undefined);
    await run('rm', ['-rf', '--', folder], options);
  }
}
