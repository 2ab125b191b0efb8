export { GIT_PROVIDERS } from '../protocol/git-providers.ts';

export interface GitProvider {
  git_provider: string;
  /** Null: the public host of the provider. */
  host: string | null;
}

export interface Repository {
  /** `owner/name`. */
  name: string;
  git_provider: string;
  public: boolean;
  default_branch: string | null;
  stars: number | null;
  pushed_at: string | null;
}

export interface Branch {
  name: string;
  commit: string | null;
  protected: boolean;
  pushed_at: string | null;
}
