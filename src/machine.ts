/** What `acs doctor` may ask of this machine; wire.ts connects it. */
export interface Machine {
  /** As `process.platform`. */
  platform: string;
  /** The version of Node that runs acs, and that of acs. */
  nodeVersion: string;
  acsVersion: string;
  home: string;
  /** Directory of the profile store. */
  configDir: string;
  /** The user who runs acs; null where users have no number. */
  userId: number | null;
  /** Null: git is not installed. */
  gitVersion(): Promise<string | null>;
}
