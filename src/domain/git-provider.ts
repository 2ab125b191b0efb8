export const GIT_PROVIDERS = [
  'github',
  'gitlab',
  'bitbucket',
  'bitbucket_data_center',
  'forgejo',
  'azure_devops',
  'enterprise_sso',
] as const;

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
