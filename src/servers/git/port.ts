/** The part of the port that is about git providers. Tokens go in and never come out. */
import type { Branch, GitProvider, Repository, SuggestedTask } from '../../domain/git-provider.ts';
import type { Page } from '../../domain/pages.ts';

export interface GitPort {
  /** Throws `conflict` where the server has tokens and does not report whose. */
  providers(): Promise<GitProvider[]>;
  /**
   * Stores a token, and keeps those of other providers. Throws `auth` when the provider refuses it.
   * @param loss `refuse` throws `conflict` where tokens would be dropped that the server does not report
   */
  connect(token: NewProviderToken, loss: 'refuse' | 'allow'): Promise<GitProvider & { before: 'absent' | 'present' }>;
  /** Deletes the token of one provider, and keeps the others. Throws `not-found`. @param loss as of connect */
  disconnect(name: string, loss: 'refuse' | 'allow'): Promise<void>;
  repositories(query: RepositoryQuery, page: string | null, pageSize?: number): Promise<Page<Repository>>;
  branches(query: BranchQuery, page: string | null, pageSize?: number): Promise<Page<Branch>>;
  /** Of all providers. */
  tasks(page: string | null, pageSize?: number): Promise<Page<SuggestedTask>>;
}

export interface NewProviderToken extends GitProvider {
  /** Host null: that of the token it replaces. */
  token: string;
}

export interface RepositoryQuery {
  git_provider: string;
  /** Without it the repositories of the user. */
  search?: string;
}

export interface BranchQuery {
  git_provider: string;
  repository: string;
  search?: string;
}
