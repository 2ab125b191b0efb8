/** Files of a sandbox, as they are copied from it and to it. */
import type { Place } from './place.ts';

/** What is written to a sandbox. */
export interface SandboxContent {
  /** `folder`: the parts are a tar archive of what is in it. */
  kind: 'file' | 'folder';
  /** Permission bits of a file, at most 0o777; null: those of a new file. */
  mode: number | null;
  /** Of all parts; null: not known before. */
  bytes: number | null;
  /** Called for each try. */
  parts: () => AsyncIterable<Uint8Array>;
}

export interface SandboxFiles {
  /** @param path relative to the workspace folder, or absolute */
  look(path: string): Promise<Place>;
  /**
   * Reads a file, or a folder as a tar archive of what is in it: names begin with `./`.
   * @param into takes the bytes, one part after the other
   */
  download(place: Place, into: (part: Uint8Array) => Promise<void>): Promise<void>;
  /**
   * Writes a file, or merges a folder into one that may be there. Until all bytes have arrived they are beside the
   * target, or in the folder that is there, under a name that begins with `.acs-cp-`.
   * Throws `conflict` where a file would replace a folder or a folder a file; then nothing is changed.
   */
  upload(target: Place, content: SandboxContent): Promise<void>;
  /** What an unfinished copy may have left in the sandbox; null: nothing. */
  readonly remains: string | null;
  removeRemains(remains: string): Promise<void>;
}
