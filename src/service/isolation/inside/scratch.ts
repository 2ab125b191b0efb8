/** A private folder for the state of running commands. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export class Scratch {
  readonly #prefix: string;
  #folder: string | null = null;

  /** Removes the folders that a killed helper of the same sandbox has left. */
  constructor(sandboxId: string) {
    this.#prefix = prefixOf(sandboxId);
    removeScratch(sandboxId);
  }

  /** The path of a file; the folder is made for the first one. */
  file(name: string): string {
    this.#folder ??= mkdtempSync(path.join(tmpdir(), this.#prefix));
    return path.join(this.#folder, name);
  }

  remove(): void {
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Removes every private folder of a sandbox: what runs inside may have been killed before it could. */
export function removeScratch(sandboxId: string): void {
  for (const name of namesIn(tmpdir())) {
    if (!name.startsWith(prefixOf(sandboxId))) continue;
    rmSync(path.join(tmpdir(), name), { recursive: true, force: true });
  }
}

/** How the names of a sandbox's private folders begin. */
export function prefixOf(sandboxId: string): string {
  return `acs-shell-${sandboxId.replace(/[^\w-]/g, '_')}-`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
