/** What the server lists at git providers. */
import { taskId, type Branch, type Repository, type SuggestedTask } from '../../domain/git-provider.ts';
import type { View } from '../../output/view.ts';

export const repositoryView: View<Repository> = {
  noun: 'repository',
  id: ({ name }) => name,
  fields: [
    { name: 'name', get: ({ name }) => name, weight: 3 },
    { name: 'git_provider', get: ({ git_provider }) => git_provider, weight: 0 },
    { name: 'public', get: (repository) => repository.public, weight: 0 },
    { name: 'default_branch', get: ({ default_branch }) => default_branch, weight: 1 },
    { name: 'stars', get: ({ stars }) => stars, as: 'number' },
    { name: 'pushed_at', get: ({ pushed_at }) => pushed_at, as: 'time', weight: 0 },
  ],
  table: ['name', 'git_provider', 'public', 'default_branch', 'pushed_at'],
  tsv: ['name', 'git_provider', 'public', 'default_branch', 'stars', 'pushed_at'],
};

export const branchView: View<Branch> = {
  noun: 'branch',
  id: ({ name }) => name,
  fields: [
    { name: 'name', get: ({ name }) => name, weight: 3 },
    { name: 'commit', get: ({ commit }) => commit, as: 'id', weight: 1 },
    { name: 'protected', get: (branch) => branch.protected, weight: 0 },
    { name: 'pushed_at', get: ({ pushed_at }) => pushed_at, as: 'time', weight: 0 },
  ],
  table: ['name', 'commit', 'protected', 'pushed_at'],
  tsv: ['name', 'commit', 'protected', 'pushed_at'],
};

export const taskView: View<SuggestedTask> = {
  noun: 'suggested task',
  id: taskId,
  fields: [
    { name: 'id', get: taskId, weight: 2 },
    { name: 'git_provider', get: ({ git_provider }) => git_provider, weight: 0 },
    { name: 'task_type', get: ({ task_type }) => task_type, weight: 0 },
    { name: 'repository', get: ({ repo }) => repo },
    { name: 'number', get: ({ issue_number }) => issue_number, as: 'number' },
    { name: 'title', get: ({ title }) => title, weight: 3 },
  ],
  table: ['id', 'git_provider', 'task_type', 'title'],
  tsv: ['id', 'git_provider', 'task_type', 'repository', 'number', 'title'],
};
