/** Git providers of a server, and what the server lists there for the user. */

export const GIT_PROVIDERS = [
  'github',
  'gitlab',
  'bitbucket',
  'bitbucket_data_center',
  'forgejo',
  'azure_devops',
  'enterprise_sso',
] as const;

/** A provider that the server has a token for. */
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

/** An issue or a pull request that a server suggests to work on. Interface 3.1: a start needs all five members. */
export interface SuggestedTask {
  git_provider: string;
  task_type: string;
  repo: string;
  issue_number: number;
  title: string;
}

/** How a task is named on the command line: `owner/name#12`. */
export function taskId({ repo, issue_number }: Pick<SuggestedTask, 'repo' | 'issue_number'>): string {
  return `${repo}#${issue_number}`;
}

/** What makes two tasks the same: a number may be an issue, a pull request, or one of each at different providers. */
export function taskKey({ git_provider, task_type, repo, issue_number }: SuggestedTask): string {
  return [git_provider, task_type, repo, issue_number].join(' ');
}
