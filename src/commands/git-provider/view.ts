import type { GitProvider } from '../../domain/git-provider.ts';
import type { View } from '../../output/view.ts';

export const gitProviderView: View<GitProvider> = {
  noun: 'git provider',
  id: ({ git_provider }) => git_provider,
  fields: [
    { name: 'git_provider', get: ({ git_provider }) => git_provider, weight: 0 },
    { name: 'host', get: ({ host }) => host, weight: 2 },
  ],
  table: ['git_provider', 'host'],
  tsv: ['git_provider', 'host'],
};
