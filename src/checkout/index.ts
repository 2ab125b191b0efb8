/** What acs knows of the git checkout it runs in. */
export interface Checkout {
  /** Top folder. */
  root: string;
  /** Current branch; null with a detached HEAD. */
  branch: string | null;
  head: string | null;
  /** Remote `origin`; null without one. The URL without credentials. */
  origin: { url: string; host: string | null; repository: string | null; git_provider: string | null } | null;
  /** Commits that are not on the upstream; null when it cannot be told. */
  unpushed: number | null;
  /** Whether tracked or untracked files differ from HEAD. */
  dirty: boolean;
}
